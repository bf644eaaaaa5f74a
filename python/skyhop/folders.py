"""What Skyhop writes appears whole or not at all; guarantees and reasons: `docs/decisions/run-folders.md`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from skyhop import _core

#: One kind of folder does not replace another.
Kind: TypeAlias = "Literal['run', 'sweep', 'study', 'page', 'export']"


@contextmanager
def staged(target: str | os.PathLike[str], kind: Kind) -> Iterator[Path]:
    """A new folder to write into, which at the end appears at `target`, in place of an older one of the same kind.

    Begin it before a long computation: an obstacle to the folder is found at once. Whatever goes wrong
    leaves `target` as it was.

    Raises FileExistsError if `target` holds anything that is not part of a folder of this kind, OSError if it cannot be
    written.
    """
    staging = _core.Staging(target, kind)
    try:
        yield staging.folder
        staging.publish()
    except OSError as error:
        if (shown := _elsewhere(error, staging, Path(target))) is None:
            raise
        raise shown from error
    finally:
        staging.discard()


def _elsewhere(error: OSError, staging: _core.Staging, target: Path) -> OSError | None:
    """The error with the place where the user looks for the file, if it names the one where it is made, or none."""
    try:
        made = str(staging.folder)
    except RuntimeError:
        # It was on its way to its place.
        return None
    if error.filename is None and error.strerror is not None:
        # Writing to an open file does not tell its name.
        return OSError(error.errno, error.strerror, str(target))
    text = said(error)
    return type(error)(text.replace(made, str(target))) if made in text else None


def said(error: OSError) -> str:
    """An error of the file system in one sentence."""
    if error.strerror is None:
        return str(error)
    if error.filename is None:
        return error.strerror
    name = error.filename if isinstance(error.filename, str) else os.fsdecode(error.filename)
    return f"{name}: {error.strerror}"


def write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file that appears whole or not at all, in place of an older one; text as UTF-8.

    Raises FileExistsError if `path` is a folder, OSError if it cannot be written.
    """
    _core.write_file(path, content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def streamed(path: Path) -> Iterator[BinaryIO]:
    """A file to write into that appears at `path` when all is written, in place of an older one, in folders that are
    made for it.

    Raises FileExistsError if `path` is a folder, OSError if it cannot be written.
    """
    if path.is_dir():
        raise FileExistsError(f"{path} is a folder, not a file: choose another name")
    # Its `random` computes tables when it is imported, which most commands need not wait for.
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        # The user knows the file, and not what stands for it meanwhile.
        error.filename = str(path)
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # mkstemp lets nobody else read it; the user's mask decides as for any other file.
        os.chmod(name, 0o666 & ~_mask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Reading several files of a folder that another process may replace.

    Raises OSError if it did, so that nobody takes files of two runs for those of one.
    """
    before = _identity(folder)
    yield
    if _identity(folder) != before:
        raise OSError(f"{folder} was replaced while it was read: read it again")


def _identity(folder: Path) -> tuple[int, int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino, status.st_mtime_ns
