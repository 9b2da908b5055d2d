import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.errors import VaultError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Sealed, Secret
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.infrastructure.vault import AesGcmVault

KEY = Secret("sk-planted-0123456789")
OWNER = Owner.server("12")
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1)


def masters(*versions: int, current: int) -> MasterSecrets:
    known = tuple((n, Secret(f"master secret number {n}")) for n in versions)
    return MasterSecrets(current=current, by_version=known)


@pytest.fixture(scope="module")
def rotated() -> AesGcmVault:
    """A vault that seals with version 2 and still knows version 1."""
    return AesGcmVault(masters(1, 2, current=2))


@pytest.fixture(scope="module")
def old() -> AesGcmVault:
    """A vault that knows version 1 only."""
    return AesGcmVault(masters(1, current=1))


@given(TEXTS.map(Secret))
def test_what_was_sealed_opens_again(vault: AesGcmVault, secret: Secret) -> None:
    sealed = vault.seal(secret, owner=OWNER, provider="openai", row="7")

    assert vault.open(sealed, owner=OWNER, provider="openai", row="7") == secret


def test_the_sealed_form_does_not_hold_the_secret(vault: AesGcmVault) -> None:
    sealed = vault.seal(KEY, owner=OWNER, provider="openai", row="7")

    assert KEY.reveal().encode() not in sealed.data


def test_a_secret_sealed_twice_looks_different(vault: AesGcmVault) -> None:
    one = vault.seal(KEY, owner=OWNER, provider="openai", row="7")
    other = vault.seal(KEY, owner=OWNER, provider="openai", row="7")

    assert one != other


@pytest.mark.parametrize(
    ("owner", "provider", "row"),
    [
        pytest.param(Owner.server("13"), "openai", "7", id="another server"),
        pytest.param(Owner.user("12"), "openai", "7", id="a user with the server's id"),
        pytest.param(OWNER, "gemini", "7", id="another provider"),
        pytest.param(OWNER, "openai", "8", id="another row"),
        pytest.param(OWNER, "openai7", "", id="the same letters, divided otherwise"),
        pytest.param(Owner.server("12openai"), "", "7", id="the same letters, in the owner"),
    ],
)
def test_a_swapped_row_does_not_open(
    vault: AesGcmVault, owner: Owner, provider: str, row: str
) -> None:
    sealed = vault.seal(KEY, owner=OWNER, provider="openai", row="7")

    with pytest.raises(VaultError, match="the row was changed or moved"):
        vault.open(sealed, owner=owner, provider=provider, row=row)


@given(st.data())
def test_changed_data_does_not_open(vault: AesGcmVault, data: st.DataObject) -> None:
    sealed = vault.seal(KEY, owner=OWNER, provider="openai", row="7")
    bit = data.draw(st.integers(0, 8 * len(sealed.data) - 1))
    changed = bytearray(sealed.data)
    changed[bit // 8] ^= 1 << bit % 8

    with pytest.raises(VaultError, match="does not open"):
        vault.open(Sealed(version=1, data=bytes(changed)), owner=OWNER, provider="openai", row="7")


@pytest.mark.parametrize("length", [0, 7, 8, 12, 27])
def test_data_cut_short_does_not_open(vault: AesGcmVault, length: int) -> None:
    sealed = vault.seal(KEY, owner=OWNER, provider="openai", row="7")
    cut = Sealed(version=1, data=sealed.data[:length])

    with pytest.raises(VaultError, match="does not open"):
        vault.open(cut, owner=OWNER, provider="openai", row="7")


def test_an_older_version_still_opens(old: AesGcmVault, rotated: AesGcmVault) -> None:
    sealed = old.seal(KEY, owner=OWNER, provider="openai", row="7")

    assert rotated.open(sealed, owner=OWNER, provider="openai", row="7") == KEY


def test_the_current_version_seals(rotated: AesGcmVault) -> None:
    sealed = rotated.seal(KEY, owner=OWNER, provider="openai", row="7")

    assert sealed.version == rotated.current_version == 2


def test_a_version_is_not_taken_for_another(rotated: AesGcmVault) -> None:
    sealed = rotated.seal(KEY, owner=OWNER, provider="openai", row="7")
    relabelled = Sealed(version=1, data=sealed.data)

    with pytest.raises(VaultError, match="does not open with version 1"):
        rotated.open(relabelled, owner=OWNER, provider="openai", row="7")


def test_an_unknown_version_is_named_with_the_known_ones(
    old: AesGcmVault, rotated: AesGcmVault
) -> None:
    sealed = rotated.seal(KEY, owner=OWNER, provider="openai", row="7")

    with pytest.raises(VaultError) as refusal:
        old.open(sealed, owner=OWNER, provider="openai", row="7")

    assert str(refusal.value) == (
        "master secret version 2 is not known, known are: 1; set TURNKEEPER_SECRET_V2"
    )


def test_another_master_secret_of_the_same_version_does_not_open(old: AesGcmVault) -> None:
    other = AesGcmVault(MasterSecrets(current=1, by_version=((1, Secret("another")),)))
    sealed = old.seal(KEY, owner=OWNER, provider="openai", row="7")

    with pytest.raises(VaultError, match="TURNKEEPER_SECRET_V1 is not the secret"):
        other.open(sealed, owner=OWNER, provider="openai", row="7")


def test_equal_secrets_have_equal_fingerprints(old: AesGcmVault) -> None:
    again = AesGcmVault(masters(1, current=1))

    assert old.fingerprint(KEY) == again.fingerprint(Secret(KEY.reveal()))


def test_different_secrets_have_different_fingerprints(vault: AesGcmVault) -> None:
    assert vault.fingerprint(KEY) != vault.fingerprint(Secret("sk-another"))


def test_a_duplicate_from_before_a_rotation_is_found(
    old: AesGcmVault, rotated: AesGcmVault
) -> None:
    assert rotated.fingerprints(KEY) == (rotated.fingerprint(KEY), old.fingerprint(KEY))
