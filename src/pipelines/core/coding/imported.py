"""An imported task: a coding scenario, and the reference solution that proves it."""

import base64
import gzip
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.core.text.json_text import JsonObject

EXECUTABLE = 0o755
PLAIN = 0o644


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeFile:
    """One file of a task's folder."""

    data: bytes = field(repr=False)
    is_executable: bool = False

    def text(self) -> str | None:
        """None where it is not UTF-8, or holds a NUL."""
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        return text if "\0" not in text else None


#: A folder's files by their path in it, with forward slashes.
Tree = Mapping[str, TreeFile]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """What solves a task: a patch, or a command with files that only it sees."""

    patch: str | None = None
    command: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)  # below /solution

    def as_json(self) -> JsonObject:
        if self.patch is not None:
            return {"patch": self.patch}
        return {"command": self.command, "files": dict(self.files)}


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedTask:
    name: str
    scenario: JsonObject  # as an author would write it; the server reads it as strictly
    reference: Reference
    test_patch: str | None = None  # becomes `test_files` where the repository is
    notes: tuple[str, ...] = ()  # what is different here, and keeps nobody from importing it

    def as_json(self) -> JsonObject:
        """The body of POST /api/coding-scenarios/import."""
        body: JsonObject = {"scenario": self.scenario, "reference": self.reference.as_json()}
        return body | ({"test_patch": self.test_patch} if self.test_patch is not None else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedTask:
    """A task that cannot be imported, with all reasons."""

    name: str
    reasons: tuple[str, ...]


def seed_of(files: Mapping[str, TreeFile]) -> JsonObject:
    """A workspace seed of these files: as texts where they are that, else packed."""
    if not files:
        return {"type": "empty"}
    texts = {path: file.text() for path, file in sorted(files.items())}
    if any(text is None or files[path].is_executable for path, text in texts.items()):
        return {"type": "archive", "data": base64.b64encode(pack_files(files)).decode()}
    return {"type": "files", "files": {path: text for path, text in texts.items() if text is not None}}


def pack_files(files: Mapping[str, TreeFile]) -> bytes:
    """A tar.gz of them: the same bytes for the same files."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for path, file in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(file.data), EXECUTABLE if file.is_executable else PLAIN
            archive.addfile(entry, io.BytesIO(file.data))
    return buffer.getvalue()
