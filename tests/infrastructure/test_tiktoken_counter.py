import gzip
import hashlib
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from texts import TEXTS

from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.tiktoken_counter import ENCODINGS, tiktoken_counter

COUNT = """
import sys
sys.path[:0] = {path!r}
from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.tiktoken_counter import tiktoken_counter
try:
    print(tiktoken_counter("o200k_base")(sys.stdin.buffer.read().decode()))
except SettingsError as error:
    print(error)
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache in which there is one encoding."""
    pytest.importorskip("tiktoken")
    pytest.importorskip("bpe_openai")
    url, _ = ENCODINGS["o200k_base"]
    name = hashlib.sha1(url.encode()).hexdigest()
    packed = files("bpe_openai").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    (tmp_path / name).write_bytes(gzip.decompress(packed))
    return tmp_path


def counted(text: str, cache: Path) -> str:
    """What a process says that has this cache, and no way to the network."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT.format(path=sys.path)],
        env={"TIKTOKEN_CACHE_DIR": str(cache), "https_proxy": "http://127.0.0.1:1"},
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def test_it_counts_as_another_tokenizer_of_the_encoding_does(cache: Path) -> None:
    text = "\n".join(unseen for _, unseen in TEXTS.values())
    encoding = pytest.importorskip("bpe_openai").get_encoding("o200k_base")

    assert counted(text, cache) == str(len(encoding.encode(text)))


def test_without_the_file_it_says_so_and_downloads_nothing(tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")

    said = counted("text", tmp_path)

    assert said.startswith("the file of o200k_base is not in tiktoken's cache")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_as_good_as_none_and_stays(cache: Path) -> None:
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-1])

    said = counted("text", cache)

    assert said.startswith("the file of o200k_base is not in tiktoken's cache, or is damaged")
    assert list(cache.iterdir()) == [file]


def test_an_encoding_that_is_not_known_is_refused() -> None:
    with pytest.raises(SettingsError, match="'p50k' is not known; known are cl100k_base"):
        tiktoken_counter("p50k")
