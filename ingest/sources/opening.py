"""Reading a file through its compression, told by its first bytes and not by its name: gzip, bzip2 and xz."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

_MAGIC = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))
_SUFFIXES = (".gz", ".bz2", ".xz")


_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError, ValueError)


class Damaged(OSError):
    """What is compressed ends early or does not fit its checksum."""

    def __init__(self, kind: str, error: BaseException) -> None:
        super().__init__(errno.EIO, f"the {kind} data is damaged or cut short ({error})")


class Opened:
    """A file open for reading, decompressed as it is read. Use as a context manager."""

    def __init__(self, path: Path | BinaryIO) -> None:
        """``path``: the file, or one that is open already (a member of an archive) and has ``peek``. Raises OSError."""
        self._file = cast(BufferedReader, path.open("rb") if isinstance(path, Path) else path)
        with self._explained("archive's"):
            self.kind = compression(bytes(self._file.peek(8)[:8]))
        self._stream = _decompressed(self._file, self.kind)
        self._damage: Damaged | None = None
        self._ahead = b""

    def peek(self, size: int) -> bytes:
        """The next ``size`` bytes, which ``read`` will give too; fewer where there are no more or they break off.

        Raises OSError when there are none.
        """
        data = bytearray(self._ahead)
        self._ahead = b""
        try:
            while len(data) < size and (block := self.read(size - len(data))):
                data += block
        except OSError:  # the next read runs into it again
            if not data:
                raise
        self._ahead = bytes(data)
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; b"" at the end. Raises Damaged, once all that comes before the damage was given; OSError."""
        if self._ahead:
            block, self._ahead = self._ahead[:size], self._ahead[size:]
            return block
        if not self.kind:
            with self._explained("archive's"):
                return self._stream.read(size)
        if self._damage:
            raise self._damage
        parts: list[bytes] = []
        while size > 0:
            try:
                with self._explained(self.kind):
                    block = self._stream.read1(size)
            except Damaged as error:
                self._damage = error
                if not parts:
                    raise
                break
            if not block:
                break
            parts.append(block)
            size -= len(block)
        return b"".join(parts)

    def seek(self, offset: int) -> None:
        """Go to ``offset`` of the decompressed bytes, or the end; what is compressed is read again up to there. Raises as ``read``."""
        self._damage, self._ahead = None, b""
        with self._explained(self.kind or "file's"):
            self._stream.seek(offset)

    @contextmanager
    def _explained(self, kind: str) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise Damaged(kind, error) from error
        except OSError as error:
            if error.errno is None:  # bz2's way to say that the data is wrong
                raise Damaged(kind, error) from error
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


def _decompressed(file: BufferedReader, kind: str | None) -> BufferedReader:
    if kind == "gzip":
        return cast(BufferedReader, gzip.GzipFile(fileobj=file))
    if kind == "bzip2":
        return cast(BufferedReader, bz2.BZ2File(file))
    if kind == "xz":
        return cast(BufferedReader, lzma.LZMAFile(file))
    return file


def head(path: Path, size: int) -> bytes:
    """The first ``size`` bytes of a file, decompressed; fewer where it is shorter or breaks off. Raises OSError."""
    with Opened(path) as opened:
        return opened.peek(size)


def read_all(path: Path, limit: int) -> bytes:
    """All of a file, decompressed. Raises OSError, also when there are more than ``limit`` bytes."""
    with Opened(path) as opened:
        return rest(opened, limit)


def rest(opened: Opened, limit: int) -> bytes:
    """All that follows. Raises OSError, also when that is more than ``limit`` bytes."""
    parts, length = [], 0
    while block := opened.read(1 << 20):
        length += len(block)
        if length > limit:
            raise OSError(errno.EFBIG, f"larger than {limit >> 20} MB, which no mail is")
        parts.append(block)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def stem(name: str) -> str:
    """A file's name without the suffix of its compression."""
    return next((name[: -len(s)] for s in _SUFFIXES if name.lower().endswith(s) and len(name) > len(s)), name)
