"""The address of a database: read from a URL, and named without its password."""

from sqlalchemy import URL, exc, make_url

from turnkeeper.domain.errors import StoreUnavailable

DRIVER = "postgresql+psycopg"
DIALECTS = ("postgres", "postgresql", DRIVER)
FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
SECRET_OPTIONS = ("sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
"""What libpq takes beside the password that nobody else may know."""


def address(url: str) -> URL:
    """Return the address that a URL gives; `postgres:` and `postgresql:` are the same to us.

    Raises:
        StoreUnavailable: It is no URL of a Postgres database.
    """
    read = _read(url)
    # Not where the error is handled: its text may hold a part of the password.
    if read is None:
        raise StoreUnavailable(_unreadable("it cannot be read"))
    if read.drivername not in DIALECTS:
        raise StoreUnavailable(_unreadable("it does not begin with postgresql:"))
    # An @ in a password ends it too early, and the rest of it would count as the host.
    if "@" in (read.host or "") or "@" in (read.database or ""):
        raise StoreUnavailable(_unreadable("it has an @ too many: write %40 in a password"))
    return _with_password_in_place(read).set(drivername=DRIVER)


def without_secret_options(url: URL) -> tuple[URL, dict[str, str]]:
    """Return the address without what would be shown wherever it is, and that, by its name."""
    secret = {
        name: value
        for name, value in url.query.items()
        if name in SECRET_OPTIONS and isinstance(value, str)
    }
    return url.difference_update_query(secret), secret


def place(url: URL) -> str:
    """Return what to call this database in a message."""
    host = url.host or url.query.get("host") or "the default host"
    port = f":{url.port}" if url.port else ""
    return f"the database {url.database or 'of the user'} at {host}{port}"


def _read(url: str) -> URL | None:
    try:
        return make_url(url)
    except (exc.ArgumentError, ValueError):
        return None


def _with_password_in_place(url: URL) -> URL:
    for name in ("password", *SECRET_OPTIONS):
        if not isinstance(url.query.get(name, ""), str):
            raise StoreUnavailable(_unreadable(f"it gives {name} twice"))
    password = url.query.get("password")
    if not isinstance(password, str):
        return url
    # Among the options it would be shown wherever the engine is.
    return url.set(password=password).difference_update_query(("password",))


def _unreadable(why: str) -> str:
    return f"TURNKEEPER_DATABASE_URL is no URL of a Postgres database ({why}); write {FORM}"
