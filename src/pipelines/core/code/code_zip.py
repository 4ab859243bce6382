"""Reading an uploaded zip archive without trusting a word of it. Pure: bytes in, facts or problems out.

What it declares is checked before anything is unpacked; then each file is unpacked to its declared size and
not a byte further, which shows the archives that declare less than they hold.
"""

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipelines.core.code.code_tree import name_problems, tree_hash
from pipelines.core.text.problems import Problem, Refused

MEBIBYTE = 1024 * 1024
MAX_ZIP_BYTES = 100 * MEBIBYTE
MAX_UNPACKED_BYTES = 500 * MEBIBYTE
MAX_FILES = 10_000
MAX_DIRECTORY_BYTES = 4 * MEBIBYTE  # the list of contents; some 400 bytes for each file are plenty
# Source packs 3 to 10 times; what packs a hundred times, and a lot of it, is there to fill a disk.
MAX_RATIO, RATIO_MATTERS_BYTES = 100, 32 * MEBIBYTE

_END = struct.Struct("<4s4H2LH")  # end of central directory, without its comment
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_CHUNK = MEBIBYTE
_WHAT = "the code"


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeArchive:
    """An archive that was read to its end: nothing in it leads out, nothing is larger than it says."""

    hash: str  # of the tree, not of the archive
    raw: bytes = field(repr=False)
    paths: tuple[str, ...]
    unpacked_bytes: int

    def read(self, path: str, most: int) -> bytes | None:
        """A file of it, cut just past `most` bytes: what is larger is refused by whoever asked."""
        if path not in self.paths:
            return None
        with zipfile.ZipFile(io.BytesIO(self.raw)) as archive, archive.open(path) as file:
            return file.read(most + 1)


def read_archive(raw: bytes) -> CodeArchive:
    """The archive, or Refused with everything that is wrong with it."""
    _refuse_early(raw)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir() or _is_odd(entry)]
            problems = _entry_problems(entries, len(raw))
            if problems:
                raise Refused(problems, _WHAT)
            digests = _digests(archive, entries)
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        struct.error,
        UnicodeError,
        ValueError,
        IndexError,
    ) as error:
        message = f"is damaged: {_error_text(error)}"
        raise Refused([Problem(path="", message=message, hint="pack it again")], _WHAT) from None
    return CodeArchive(
        hash=tree_hash(digests),
        raw=raw,
        paths=tuple(digests),
        unpacked_bytes=sum(entry.file_size for entry in entries),
    )


def unpack_archive(raw: bytes) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each file of an archive that was checked when it was stored, in parts."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                yield entry.filename, _parts(archive, entry)


def _refuse_early(raw: bytes) -> None:
    """What must be known before the list of contents is read: a hostile list alone can fill the memory."""
    problem = None
    if len(raw) > MAX_ZIP_BYTES:
        problem = Problem(path="", message=f"is over {MAX_ZIP_BYTES // MEBIBYTE} MB")
    else:
        directory_bytes = _directory_bytes(raw)
        if directory_bytes is None:
            problem = Problem(path="", message="is not a zip archive", hint="send the bytes of a .zip file")
        elif directory_bytes > MAX_DIRECTORY_BYTES:
            problem = Problem(path="", message=f"has more than {MAX_FILES:,} files, or very long names")
    if problem is not None:
        raise Refused([problem], _WHAT)


def _directory_bytes(raw: bytes) -> int | None:
    """How large the list of contents says it is, found as zipfile finds it; None where there is none."""
    start = len(raw) - _END.size
    if start < 0:
        return None
    if raw[start : start + 4] != b"PK\5\6" or raw[-2:] != b"\0\0":
        start = raw.rfind(b"PK\5\6", max(0, len(raw) - _END.size - 0xFFFF))
        if start < 0 or start + _END.size > len(raw):
            return None
    if raw[max(0, start - 20) : start].startswith(b"PK\6\7"):
        return None  # zip64: for archives forty times as large as may be sent
    return int(_END.unpack_from(raw, start)[5])


def _entry_problems(entries: list[zipfile.ZipInfo], zip_bytes: int) -> list[Problem]:
    if not entries:
        return [Problem(path="", message="has no files")]
    problems = name_problems([entry.orig_filename for entry in entries], lambda path: path[:200])
    for entry in entries:
        complaint = _entry_complaint(entry)
        if complaint is not None:
            problems.append(Problem(path=entry.filename[:200], message=complaint))
    if len(entries) > MAX_FILES:
        problems.append(
            Problem(path="", message=f"has {len(entries):,} files; at most {MAX_FILES:,} are allowed")
        )
    return problems + _size_problems(entries, zip_bytes)


def _size_problems(entries: list[zipfile.ZipInfo], zip_bytes: int) -> list[Problem]:
    whole = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if whole > MAX_UNPACKED_BYTES:
        most = MAX_UNPACKED_BYTES // MEBIBYTE
        return [
            Problem(path="", message=f"unpacks to {whole // MEBIBYTE:,} MB; at most {most} MB are allowed")
        ]
    if packed > zip_bytes:
        return [Problem(path="", message="is damaged: its files overlap")]
    if whole > RATIO_MATTERS_BYTES and whole > MAX_RATIO * zip_bytes:
        message = f"unpacks to {whole // max(1, zip_bytes)} times its size, which source code never does"
        return [Problem(path="", message=message)]
    return []


def _entry_complaint(entry: zipfile.ZipInfo) -> str | None:
    if _is_odd(entry):
        return "is a symbolic link or a special file; include the file itself"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted; pack it without a password"
    if entry.compress_type not in _METHODS:
        return "uses an unsupported compression; use deflate, which every zip program supports"
    return None


def _is_odd(entry: zipfile.ZipInfo) -> bool:
    """Neither a file nor a folder by its Unix mode, where it has one."""
    kind = entry.external_attr >> 28  # the file type, high in the high half
    return kind not in (0, 0o04, 0o10)


def _digests(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> dict[str, str]:
    problems: list[Problem] = []
    digests: dict[str, str] = {}
    for entry in entries:
        digest, size = hashlib.sha256(), 0
        try:
            for part in _parts(archive, entry):
                digest.update(part)
                size += len(part)
            if size != entry.file_size:
                raise zipfile.BadZipFile("its size does not match its header")
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            problems.append(Problem(path=entry.filename[:200], message=f"is damaged: {_error_text(error)}"))
        digests[entry.filename] = digest.hexdigest()
    if problems:
        raise Refused(problems, _WHAT)
    return digests


def _parts(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(entry) as file:
        while part := file.read(_CHUNK):
            yield part


def _error_text(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__
