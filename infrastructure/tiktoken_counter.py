"""Counts with OpenAI's own tokenizer, where it and its files are on this machine."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from turnkeeper.domain.errors import SettingsError

Encoding = tuple[str, str]  # where tiktoken has its file from, and the file's SHA-256 in hex

_HOME = "https://openaipublic.blob.core.windows.net/encodings"
ENCODINGS: Mapping[str, Encoding] = {
    "o200k_base": (
        f"{_HOME}/o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        f"{_HOME}/cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


def tiktoken_counter(encoding: str = "o200k_base") -> Callable[[str], int]:
    """Return what counts a text's tokens, for a `TokenEstimator`; nothing is ever downloaded.

    Raises:
        SettingsError: The encoding is not known, `tiktoken` is not installed, or its file is not
            in its cache, or not as it should be.
    """
    if encoding not in ENCODINGS:
        raise SettingsError(
            f"encoding {encoding!r} is not known; known are {', '.join(sorted(ENCODINGS))}"
        )
    try:
        import tiktoken
    except ImportError as error:
        raise SettingsError("tiktoken is not installed: install turnkeeper[tiktoken]") from error
    _check_file(encoding)
    made = tiktoken.get_encoding(encoding)
    return lambda text: len(made.encode_ordinary(text))


def _check_file(encoding: str) -> None:
    """Return if what tiktoken would otherwise download is there already."""
    url, sha256 = ENCODINGS[encoding]
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    try:
        data = (Path(folder) / name).read_bytes() if folder else b""
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SettingsError(
            f"the file of {encoding} is not in tiktoken's cache, or is damaged; load it once "
            f"with tiktoken.get_encoding({encoding!r}) and keep it in TIKTOKEN_CACHE_DIR"
        )
