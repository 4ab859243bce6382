"""The code of an agent's folder as an upload: its files, and the SDK if the code imports it.

Tasks are never uploaded: they contain the oracles, which the agent must not see.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pipelines
from pipelines.cli.project import TASKS_FILES, Project
from pipelines.core.code.code_source import MAX_FILE_BYTES, MAX_FILES, MAX_FILES_BYTES
from pipelines.core.code.code_tree import CodeFile, pack_tree
from pipelines.core.code.code_zip import MAX_FILES as MAX_ZIP_FILES
from pipelines.core.code.code_zip import MAX_UNPACKED_BYTES, MAX_ZIP_BYTES, MEBIBYTE
from pipelines.core.text.json_text import JsonObject

LEFT_OUT = frozenset({"__pycache__", "node_modules", "venv", "build", "dist"})
SDK = "pipelines"
#: What an uploaded agent needs of it: not the parts for tests and for checking other people's wrappers.
SDK_PARTS = ("wire", "odyssey")
SDK_LEFT_OUT = frozenset({"testing.py", "conformance", "__pycache__"})
_TOO_LARGE_HINT = "move what is no code away, or name a git repository in agent.json"


class CannotUpload(Exception):
    """The folder cannot be uploaded; the message says what to change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Code:
    """The files to upload, by their path in the tree."""

    files: Mapping[str, bytes]

    def as_json(self) -> JsonObject | None:
        """The `code` of a registration; None if the code is too large for one, or not all of it is text."""
        is_small = len(self.files) <= MAX_FILES and sum(map(len, self.files.values())) <= MAX_FILES_BYTES
        if not is_small or any(len(content) > MAX_FILE_BYTES for content in self.files.values()):
            return None
        try:
            texts: JsonObject = {name: content.decode("utf-8") for name, content in self.files.items()}
        except UnicodeDecodeError:
            return None
        return {"source": "files", "files": texts}

    def as_zip(self) -> bytes:
        """Raises CannotUpload."""
        raw = pack_tree(CodeFile(name, content) for name, content in self.files.items())
        if len(raw) > MAX_ZIP_BYTES:
            raise CannotUpload(
                f"packed, the files are over {MAX_ZIP_BYTES // MEBIBYTE} MB: {_TOO_LARGE_HINT}"
            )
        return raw


def collect_code(project: Project) -> Code | None:
    """The code in the folder; None if agent.json names its source. Raises CannotUpload."""
    if "code" in project.definition:
        return None
    files = {path.relative_to(project.directory).as_posix(): path for path in _own_files(project)}
    if len(files) > MAX_ZIP_FILES:
        raise CannotUpload(
            f"there are {len(files):,} files, and at most {MAX_ZIP_FILES:,} are allowed: {_TOO_LARGE_HINT}"
        )
    if sum(path.stat().st_size for path in files.values()) > MAX_UNPACKED_BYTES:
        raise CannotUpload(f"the files are over {MAX_UNPACKED_BYTES // MEBIBYTE} MB: {_TOO_LARGE_HINT}")
    if not any(name.startswith(f"{SDK}/") for name in files) and any(map(_uses_sdk, files.values())):
        files |= sdk_files(adapters=any(b"adapters" in path.read_bytes() for path in files.values()))
    return Code(files={name: _read_content(path) for name, path in files.items()})


def _own_files(project: Project) -> Iterator[Path]:
    known = {path.resolve() for path in (project.agent, project.dataset) if path is not None}
    pending = [project.directory]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.name.startswith(".") or path.name in LEFT_OUT:
                continue
            if path.is_dir() and not path.is_symlink():
                pending.append(path)
            elif path.is_file() and path.resolve() not in known and not _is_left_out(path, project.directory):
                yield path


def _is_left_out(path: Path, top: Path) -> bool:
    """Tests, README and tasks are not part of the agent; a table beside agent.json counts as tasks."""
    is_tasks = path.parent == top and (path.suffix in (".csv", ".tsv") or path.name in TASKS_FILES)
    return path.name.startswith("test_") or path.name in ("conftest.py", "README.md") or is_tasks


def _uses_sdk(path: Path) -> bool:
    if path.suffix != ".py":
        return False
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False  # the server says what is wrong with it
    return any(_imports_sdk(node) for node in ast.walk(tree))


def _imports_sdk(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == SDK for alias in node.names)
    return isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == SDK


def sdk_files(*, adapters: bool = True) -> dict[str, Path]:
    """The files of the SDK, with or without its adapters for frameworks, to add to an upload."""
    left_out = SDK_LEFT_OUT if adapters else SDK_LEFT_OUT | {"adapters"}
    root = Path(pipelines.__file__).parent
    found = {f"{SDK}/__init__.py": root / "__init__.py"}
    for part in SDK_PARTS:
        for path in sorted((root / part).rglob("*.py")):
            inside = path.relative_to(root)
            if not left_out & set(inside.parts):
                found[f"{SDK}/{inside.as_posix()}"] = path
    return found


def _read_content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CannotUpload(f"{path.name}: {error.strerror or error}") from None
