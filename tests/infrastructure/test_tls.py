from pathlib import Path
from ssl import CERT_NONE, CERT_REQUIRED

import pytest
from raw_server import WAIT_S, answering, make_certificate, reply

from turnkeeper.infrastructure.http import HttpClient, HttpRequest
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.tls import tls_context


def test_there_is_one_context_for_each_setting(tmp_path: Path) -> None:
    path = make_certificate(tmp_path).path

    assert tls_context(True) is tls_context(True)
    assert tls_context(path) is tls_context(path)
    assert len({id(tls_context(setting)) for setting in (True, False, path)}) == 3


def test_certificate_and_name_are_checked() -> None:
    context = tls_context(True)

    assert (context.verify_mode, context.check_hostname) == (CERT_REQUIRED, True)


def test_nothing_is_checked_only_where_that_was_said() -> None:
    context = tls_context(False)

    assert (context.verify_mode, context.check_hostname) == (CERT_NONE, False)


def test_a_folder_of_certificates_will_do(tmp_path: Path) -> None:
    assert tls_context(str(tmp_path)).verify_mode is CERT_REQUIRED


def test_a_path_to_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        HttpClient(user_agent="turnkeeper/test", verify=str(tmp_path / "none.pem"))


def test_an_unchecked_connection_works_with_a_warning(tmp_path: Path) -> None:
    client = HttpClient(user_agent="turnkeeper/test", verify=False)
    context = make_certificate(tmp_path).context

    with (
        answering(reply(b"unchecked"), context=context) as server,
        pytest.warns(match="Unverified HTTPS request"),
        client.post_stream(
            HttpRequest(url=server.url), stop=ThreadStop(), read_timeout_s=WAIT_S
        ) as stream,
    ):
        assert list(stream.chunks()) == [b"unchecked"]
    client.close()
