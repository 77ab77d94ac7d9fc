"""What is dear to work out of a corpus, kept in a workshop's folder under a hash of its content.

It is made anew where it is missing or broken; where it cannot be written, each time.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from kragx.data import Doc
from kragx.data.tokenizers import CharTokenizer, UnicodeTokenizer

FOLDER = "index"
_VERSION = 1  # of what is kept; another makes it anew


def place(folder: Path, docs: Mapping[str, Doc]) -> Path:
    """Where a folder keeps what is made of these documents."""
    versions = (_VERSION, UnicodeTokenizer.version, CharTokenizer.version)
    digest = hashlib.sha256(repr(versions).encode())
    for doc_id, doc in docs.items():
        for text in (doc_id, doc.text or ""):
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return folder / FOLDER / digest.hexdigest()[:32]


def keep(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file or folder written whole; what was kept of another corpus goes.

    Args:
        path: its name, below `place`.
        write: writes it under another name.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in path.parent.parent.iterdir():
            if other != path.parent and re.fullmatch("[0-9a-f]{32}", other.name):
                _remove(other)
        write(part)
        _remove(path)
        part.rename(path)
    except OSError:
        _remove(part)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
