"""Reading a file through its compression, told by its first bytes and not by its name: gzip, bzip2 and xz."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

_MAGIC = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))
_SUFFIXES = (".gz", ".bz2", ".xz")


class Damaged(OSError):
    """What is compressed ends early or does not fit its checksum."""

    def __init__(self, kind: str, error: BaseException) -> None:
        super().__init__(errno.EIO, f"the {kind} data is damaged or cut short ({error})")


class Opened:
    """A file open for reading, decompressed as it is read. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self._file = path.open("rb")
        self.kind = compression(self._file.peek(8)[:8])
        self._stream = _decompressed(self._file, self.kind)

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; b"" at the end. Raises Damaged, OSError."""
        with self._explained():
            return self._stream.read(size)

    def seek(self, offset: int) -> None:
        """Go to ``offset`` of the decompressed bytes, or the end; what is compressed is read again up to there. Raises as ``read``."""
        with self._explained():
            self._stream.seek(offset)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, ValueError) as error:
            raise Damaged(self.kind or "file's", error) from error
        except OSError as error:
            if error.errno is None:  # bz2's way to say that the data is wrong
                raise Damaged(self.kind or "file's", error) from error
            raise

    @property
    def position(self) -> int:
        """How much of the file itself, in its own bytes, has been read."""
        return self._file.tell()

    def __enter__(self) -> Opened:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. More than once is fine."""
        if self._stream is not self._file:
            self._stream.close()
        self._file.close()


def compression(start: bytes) -> str | None:
    """Which compression a file that begins with ``start`` has, or None."""
    return next((kind for magic, kind in _MAGIC if start.startswith(magic)), None)


def _decompressed(file: BinaryIO, kind: str | None) -> BinaryIO:
    if kind == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if kind == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(file))
    if kind == "xz":
        return cast(BinaryIO, lzma.LZMAFile(file))
    return file


def head(path: Path, size: int) -> bytes:
    """The first ``size`` bytes of a file, decompressed; fewer where it is shorter or breaks off. Raises OSError."""
    start = b""
    with Opened(path) as opened:
        try:
            while len(start) < size and (block := opened.read(size - len(start))):
                start += block
        except Damaged:
            if not start:
                raise
    return start


def read_all(path: Path, limit: int) -> bytes:
    """All of a file, decompressed. Raises OSError, also when there are more than ``limit`` bytes."""
    parts, length = [], 0
    with Opened(path) as opened:
        while block := opened.read(1 << 20):
            length += len(block)
            if length > limit:
                raise OSError(errno.EFBIG, f"larger than {limit >> 20} MB, which no mail is")
            parts.append(block)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def stem(name: str) -> str:
    """A file's name without the suffix of its compression."""
    return next((name[: -len(s)] for s in _SUFFIXES if name.lower().endswith(s) and len(name) > len(s)), name)
