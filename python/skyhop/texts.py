"""Reads text files that come from elsewhere, also compressed ones."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

_GZIP = b"\x1f\x8b"

#: Errors of reading a compressed text from a damaged file, or from one of another kind. The documentation of `gzip`
#: names only the first three.
DAMAGED = (OSError, EOFError, zlib.error, UnicodeDecodeError)


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8, with or without a byte order mark, also of one that gzip has compressed.

    Raises ValueError when it is not a regular file, not a text, or damaged; OSError when it cannot be read.
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        # Some devices have no end, and a pipe waits for whoever writes into it.
        raise ValueError(f"{path}: is not a file")
    content = file.read_bytes()
    try:
        return (gzip.decompress(content) if content.startswith(_GZIP) else content).decode("utf-8-sig")
    except DAMAGED as error:
        raise ValueError(f"{path}: not a text, or damaged: {error}") from None
