"""Takes secrets out of foreign text before anybody stores, logs or shows it.

Source: the key shapes that providers document, and what their error messages echo.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

from turnkeeper.domain.pattern import lazily

MASK = "[redacted]"
MIN_SECRET_LENGTH = 4  # a shorter one is no secret, and would take ordinary words out of the text
CUT_MARK = "…"

_KEY_PREFIXES = (
    "sk-", "sk_", "gsk_", "AIza", "AQ.", "pst-", "hf_", "xai-", "nvapi-", "pplx-", "csk-", "r8_",
    "fw_", "tgp_", "ghp_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA",
    "aW50ZXJhY3Rpb246",  # "interaction:", which the token of one of Discord's begins with
)  # fmt: skip
_ACCOUNT_PREFIXES = ("org-", "org_", "proj_", "user_", "user-", "acct_")
_MIN_REST_LENGTH = 8
_JWT_START = "eyJ"
_STARS = "***"


def _ending(prefixes: Iterable[str]) -> str:
    """What finds, of each of these, the last three characters; from the last, as few have it."""
    ends: dict[str, set[str]] = {}
    for prefix in prefixes:
        ends.setdefault(prefix[-1], set()).add(prefix[-3:])
    return "|".join(
        f"{re.escape(last)}(?<={'|'.join(map(re.escape, sorted(found)))})"
        for last, found in sorted(ends.items())
    )


# Something of which every word that is a secret has some; most texts have none of it.
_OF_SECRETS = lazily(
    rf"{_ending((*_KEY_PREFIXES, *_ACCOUNT_PREFIXES))}|{re.escape(_STARS)}|\.[\w*-]*\.", re.ASCII
)
# Something of which every text in ASCII with a labelled secret has some, in lower case.
_OF_LABELLED = lazily(
    r"authorization|api|cookie|token|\?|&|://|/webhooks/|/interactions/"
    r"|bearer[ \t]|basic[ \t]|bot[ \t]"
)

# What follows each of these is a secret whatever it looks like. All these expressions read their
# text once from left to right, so that hostile text costs no more than its length.
_LABELLED = (
    lazily(
        r"(?P<kept>\b(?:(?:proxy-)?authorization|(?:x-|x-goog-)?api-key|(?:set-)?cookie)"
        r"[\"']?[ \t]*[:=][ \t]*[\"']?)(?=[!-~])(?P<value>[^\r\n\"',}]+)",
        re.IGNORECASE,
    ),
    lazily(
        r"(?P<kept>\bapi[ _]?key(?: provided)?[\"']?[ \t]*[:=][ \t]*[\"']?)(?=[!-~])"
        r"(?P<value>[^\s\"',]+)",
        re.IGNORECASE,
    ),
    lazily(
        r"(?P<kept>[?&](?:\w{0,20}key|\w{0,20}token|\w{0,20}secret|sig|signature|password)=)(?=[!-~])"
        r"(?P<value>[^\s&\"'<>#]+)",
        re.IGNORECASE,
    ),
    # As Discord writes those of webhooks and of interactions.
    lazily(
        r"(?P<kept>token\\?[\"'][ \t]{0,9}[:=][ \t]{0,9}\\?[\"'])(?=[!-~])(?P<value>[^\"'\r\n\\]+)",
        re.IGNORECASE,
    ),
    lazily(r"(?P<kept>://)(?P<value>[^\s/@]+)(?=@)"),
    lazily(r"(?P<kept>/(?:webhooks|interactions)/\d{5,25}/)(?P<value>[\w-]+)", re.IGNORECASE),
)
_SCHEME = lazily(
    r"(?P<kept>\b(?:bearer|basic|bot)[ \t]+)(?P<value>[\w.~+/=-]{8,})", re.IGNORECASE | re.ASCII
)
_WORD = lazily(r"[\w.*-]+", re.ASCII)
_SPELLED_ALIKE = lazily(r"[\w.~-]*", re.ASCII)


def redact(text: str, secrets: Iterable[str] = (), *, limit: int | None = None) -> str:
    """Return the text without secrets; a second time changes nothing.

    Takes time in proportion to the text.

    Args:
        secrets: Those in use, taken out wherever they stand, also as a URL or JSON spells them.
        limit: The most characters that are returned; what is longer ends in "…". At least 1.
    """
    if secrets:
        text = _without(secrets, text)
    if not text.isascii() or _OF_LABELLED.search(text.lower()):
        for label in _LABELLED:
            text = label.sub(_value_masked, text)
        text = _SCHEME.sub(_credential_masked, text)
    if _OF_SECRETS.search(text):
        text = _WORD.sub(_word_masked, text)
    return text if limit is None or len(text) <= limit else _cut(text, limit)


def _without(secrets: Iterable[str], text: str) -> str:
    forms = {form for one in secrets for form in _forms_of(one.strip()) if form in text}
    return _masked(text, sorted(forms, key=lambda form: (-len(form), form))) if forms else text


def _forms_of(secret: str) -> tuple[str, ...]:
    """As it is, as a URL spells it, and as JSON does."""
    if len(secret) < MIN_SECRET_LENGTH:
        return ()
    if _SPELLED_ALIKE.fullmatch(secret):
        return (secret,)
    return secret, quote(secret, safe=""), json.dumps(secret)[1:-1]


def _masked(text: str, longest_first: Iterable[str]) -> str:
    """The text without these forms of secrets, found without an expression, which Python keeps."""
    # The mask comes first, so that a secret which is a part of it leaves it whole.
    places = {form: text.find(form) for form in (MASK, *longest_first)}
    pieces: list[str] = []
    end = 0
    while places:
        form = min(places, key=places.__getitem__)
        start = places[form]
        if start < 0:
            del places[form]
        elif start < end:
            places[form] = text.find(form, end)
        else:
            pieces += text[end:start], MASK
            end = start + len(form)
    return "".join((*pieces, text[end:]))


def _value_masked(found: re.Match[str]) -> str:
    was_cut = found["value"] == MASK + CUT_MARK
    return found[0] if was_cut else f"{found['kept']}{MASK}"


def _credential_masked(found: re.Match[str]) -> str:
    """Spare plain words, as in "bearer authentication"."""
    value: str = found["value"].rstrip(".")
    if value.isalpha() and value.islower():
        return found[0]
    return f"{found['kept']}{MASK}{found['value'][len(value) :]}"


def _word_masked(found: re.Match[str]) -> str:
    word = found[0].rstrip(".-")
    return f"{MASK}{found[0][len(word) :]}" if _is_secret(word) else found[0]


def _is_secret(word: str) -> bool:
    if _STARS in word:  # a key that the provider has masked itself
        return True
    word = word.lstrip(".*-_")
    if word.startswith(_KEY_PREFIXES):
        return _is_key(word)
    return _is_account(word) or _is_token(word)


def _is_key(word: str) -> bool:
    prefix = next(prefix for prefix in _KEY_PREFIXES if word.startswith(prefix))
    return len(word) - len(prefix) >= _MIN_REST_LENGTH


def _is_account(word: str) -> bool:
    """Whether it is an id, and not a word such as org-chart."""
    if not word.startswith(_ACCOUNT_PREFIXES):
        return False
    rest = word[4:]
    return len(rest) >= _MIN_REST_LENGTH and any(
        letter.isdigit() or letter.isupper() for letter in rest
    )


def _is_token(word: str) -> bool:
    """Whether it begins with the three parts of a Discord bot token or of a JWT."""
    parts = word.split(".", 3)
    if len(parts) < 3:
        return False
    first, middle, last = map(len, parts[:3])
    is_jwt = word.startswith(_JWT_START) and middle >= 4 and last >= 4
    return is_jwt or (first >= 17 and 5 <= middle <= 8 and last >= 20)


def _cut(text: str, limit: int) -> str:
    end = limit - len(CUT_MARK)
    # A mask is kept whole or left out.
    start = text.rfind(MASK[0], max(0, end - len(MASK) + 1), end)
    if start >= 0 and text.startswith(MASK, start):
        end = start
    return text[:end] + CUT_MARK
