import pytest
from contracts.keys import at_once
from fakes import FrozenClock
from hypothesis import given
from hypothesis import strategies as st
from signed import NOW_S, Signer

from turnkeeper.domain.errors import SettingsError
from turnkeeper.interfaces.interactions.signature import WINDOW_S, SignatureCheck

BODY = b'{"type":1}'
DISCORD = Signer()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def check(clock: FrozenClock) -> SignatureCheck:
    return SignatureCheck(DISCORD.public_key, clock=clock)


def trusts(
    check: SignatureCheck, body: bytes = BODY, *, at_s: int | str = NOW_S, signer: Signer = DISCORD
) -> bool:
    headers = signer.headers(body, at_s=at_s)
    return check.trusts(headers["X-Signature-Ed25519"], str(at_s), body)


def test_what_the_application_key_signed_is_trusted(check: SignatureCheck) -> None:
    assert trusts(check)


def test_the_key_may_be_written_in_capitals(clock: FrozenClock) -> None:
    assert trusts(SignatureCheck(DISCORD.public_key.upper(), clock=clock))


def test_another_key_is_not_trusted(check: SignatureCheck) -> None:
    assert not trusts(check, signer=Signer())


def test_another_body_is_not_trusted(check: SignatureCheck) -> None:
    headers = DISCORD.headers(BODY)

    assert not check.trusts(headers["X-Signature-Ed25519"], str(NOW_S), BODY + b" ")


def test_another_time_is_not_trusted(check: SignatureCheck) -> None:
    headers = DISCORD.headers(BODY)

    assert not check.trusts(headers["X-Signature-Ed25519"], str(NOW_S + 1), BODY)


@pytest.mark.parametrize("bit", [0, 7, 255, 256, 300, 511])
def test_a_changed_signature_is_not_trusted(check: SignatureCheck, bit: int) -> None:
    raw = bytearray.fromhex(DISCORD.headers(BODY)["X-Signature-Ed25519"])
    raw[bit // 8] ^= 1 << bit % 8

    assert not check.trusts(raw.hex(), str(NOW_S), BODY)


@pytest.mark.parametrize(
    "change",
    [
        lambda good: "",
        lambda good: good[:-1],
        lambda good: good[:-2],
        lambda good: good + "00",
        lambda good: good[:-1] + "g",
        lambda good: " " + good[1:],
        lambda good: good[:64] + " " + good[64:],
        lambda good: good + "\n",
        lambda good: "0x" + good[2:],
        lambda good: "é" * 128,
        lambda good: "٣" * 128,
    ],
    ids=range(11),
)
def test_a_signature_of_another_form_is_not_trusted(check: SignatureCheck, change: object) -> None:
    assert callable(change)
    good = DISCORD.headers(BODY)["X-Signature-Ed25519"]

    assert not check.trusts(change(good), str(NOW_S), BODY)
    assert check.trusts(good, str(NOW_S), BODY)


@pytest.mark.parametrize("at", ["", "now", "-5", f" {NOW_S}", f"{NOW_S}.0", "1e9", "9" * 13, "٣"])
def test_a_time_of_another_form_is_not_trusted(check: SignatureCheck, at: str) -> None:
    assert not trusts(check, at_s=at)


@pytest.mark.parametrize(
    ("off_s", "trusted"),
    [(WINDOW_S, True), (-WINDOW_S, True), (WINDOW_S + 1, False), (-WINDOW_S - 1, False)],
)
def test_only_requests_of_these_minutes_are_trusted(
    check: SignatureCheck, off_s: int, trusted: bool
) -> None:
    assert trusts(check, at_s=NOW_S + off_s) is trusted


def test_a_request_is_trusted_once(check: SignatureCheck, clock: FrozenClock) -> None:
    assert trusts(check)

    assert not trusts(check)
    clock.advance(WINDOW_S)
    assert not trusts(check)
    clock.advance(1)
    assert not trusts(check)


def test_a_forged_request_does_not_use_up_the_true_one(check: SignatureCheck) -> None:
    headers = DISCORD.headers(BODY)
    check.trusts(headers["X-Signature-Ed25519"], str(NOW_S), b"forged")

    assert trusts(check)


def test_of_many_that_come_at_once_one_is_trusted(check: SignatureCheck) -> None:
    trusted: list[bool] = []

    at_once(16, lambda n: trusted.append(trusts(check)))

    assert trusted.count(True) == 1


def test_what_is_remembered_is_bounded_and_still_trusted_once(clock: FrozenClock) -> None:
    check = SignatureCheck(DISCORD.public_key, clock=clock, max_seen=3)
    times = [NOW_S + n for n in range(5)]

    assert [trusts(check, at_s=at) for at in times] == [True] * 5
    assert [trusts(check, at_s=at) for at in times] == [False] * 5
    assert trusts(check, at_s=NOW_S + 5)


def test_what_is_over_makes_room(clock: FrozenClock) -> None:
    check = SignatureCheck(DISCORD.public_key, clock=clock, max_seen=2)
    early, late = NOW_S, NOW_S + WINDOW_S + 1
    trusts(check, b"1", at_s=early)
    trusts(check, b"2", at_s=early)

    clock.advance(WINDOW_S + 1)
    trusts(check, b"3", at_s=late)

    # Had it pushed out an early one, later ones of an earlier time would not be trusted.
    assert trusts(check, b"4", at_s=early + 1)


@given(st.text(), st.text(), st.binary())
def test_nonsense_is_not_trusted(signature: str, timestamp: str, body: bytes) -> None:
    check = SignatureCheck(DISCORD.public_key, clock=FrozenClock())

    assert not check.trusts(signature, timestamp, body)


@pytest.mark.parametrize("key", ["", "ab", "g" * 64, "00" * 33, "a" * 63 + "\u0663"])
def test_what_is_no_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(SettingsError, match="64 hexadecimal digits") as refused:
        SignatureCheck(key, clock=FrozenClock())

    assert not key or key not in str(refused.value)


def test_a_key_may_be_pasted_with_blanks_around_it() -> None:
    check = SignatureCheck(f" {DISCORD.public_key}\n", clock=FrozenClock())

    assert trusts(check)
