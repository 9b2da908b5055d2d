"""Sends one call once."""

import json
import logging
from collections.abc import Mapping

from turnkeeper.application.ports.runner import Cancelled, Stop
from turnkeeper.domain.redact import redact
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.version import VERSION
from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.reply import Reply, Sent
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpErrorKind, HttpRequest
from turnkeeper.infrastructure.name_lookup import NameLookup
from turnkeeper.infrastructure.threads import ThreadStop

BASE_URL = "https://discord.com/api/v10"
USER_AGENT = f"DiscordBot (https://pypi.org/project/turnkeeper/, {VERSION})"
READ_TIMEOUT_S = 15.0
_SHORTEST_S = 0.05
_REPLY_BYTES = 4_194_304
_JSON = (("Content-Type", "application/json"),)


class Transport:
    """Sends calls over one pool of connections, with the bot's token only where it belongs.

    Args:
        token: The bot's.
        base_url: Where Discord is, with the version of its interface.
        read_timeout_s: The longest wait for a reply.
        names: How Discord's name is looked up.
    """

    def __init__(
        self,
        token: Secret,
        *,
        base_url: str = BASE_URL,
        verify: bool | str = True,
        proxies: Mapping[str, str] | None = None,
        read_timeout_s: float = READ_TIMEOUT_S,
        names: NameLookup = NameLookup(),
    ) -> None:
        self._token = token
        self._base_url = base_url.rstrip("/")
        self._read_timeout_s = read_timeout_s
        self._http = HttpClient(user_agent=USER_AGENT, verify=verify, proxies=proxies, names=names)
        _hide_addresses()

    def send(self, call: Call, *, within_s: float, stop: Stop | None) -> Reply:
        """Send it and read the reply.

        Raises:
            HttpError: No whole reply came.
            Cancelled: It was asked to stop.
        """
        timeout_s = max(_SHORTEST_S, min(self._read_timeout_s, within_s))
        try:
            with self._http.open_stream(
                call.verb, self._request(call), stop=stop or ThreadStop(), read_timeout_s=timeout_s
            ) as reply:
                body = reply.whole_body(_REPLY_BYTES, timeout_s)
                return Reply.read(reply.status, reply.headers, body, self._sent(call))
        except HttpError as error:
            if error.kind is HttpErrorKind.CANCELLED:
                raise Cancelled(f"stopped during {call.name}") from error
            raise

    def close(self) -> None:
        """Close the connections that rest."""
        self._http.close()

    def _sent(self, call: Call) -> Sent:
        token = call.token
        secrets = (self._token.reveal(), *(() if token is None else (token,)))
        return Sent(secrets=secrets, texts=call.texts)

    def _request(self, call: Call) -> HttpRequest:
        secret = (("Authorization", f"Bot {self._token.reveal()}"),) if call.by_bot else ()
        return HttpRequest(
            url=f"{self._base_url}{call.path}",
            headers=() if call.body is None else _JSON,
            secret_headers=secret,
            body=b"" if call.body is None else json.dumps(call.body).encode(),
        )


class _WithoutTokens(logging.Filter):
    """Takes the tokens out of the addresses that are logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), ()
        return True


_WITHOUT_TOKENS = _WithoutTokens()


def _hide_addresses() -> None:
    """urllib3 logs each address at DEBUG, and a webhook's holds its token."""
    logging.getLogger("urllib3.connectionpool").addFilter(_WITHOUT_TOKENS)
