"""The code of an agent's folder as an upload: its own files, and the SDK where the code asks for it.

The tasks stay behind: they hold what counts as right, which the agent must not see.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pipelines
from pipelines.cli.project import Project
from pipelines.core.code_source import MAX_FILES
from pipelines.core.json_text import JsonObject

LEFT_OUT = frozenset({"__pycache__", "node_modules", "venv", "build", "dist"})
SDK = "pipelines"
#: What an uploaded agent needs of it: not the parts for tests and for checking other people's wrappers.
SDK_PARTS = ("wire", "odyssey")
SDK_LEFT_OUT = frozenset({"testing.py", "conformance", "__pycache__"})


class CannotUpload(Exception):
    """The folder is no upload, and what to change about it."""


def code_of(project: Project) -> dict[str, Any]:
    """`{"code": …}` for the registration; an agent.json that names its source itself stays as it is.

    Raises CannotUpload.
    """
    if "code" in project.definition:
        return {}
    files = {path.relative_to(project.directory).as_posix(): path for path in _own_files(project)}
    if not any(name.startswith(f"{SDK}/") for name in files) and any(map(_asks_for_sdk, files.values())):
        files |= sdk_files(adapters=any(b"adapters" in path.read_bytes() for path in files.values()))
    if len(files) > MAX_FILES:
        sdk = len([name for name in files if name.startswith(f"{SDK}/")])
        raise CannotUpload(
            f"there are {len(files)} files to upload ({sdk} of them the SDK), at most {MAX_FILES} may be: "
            "move what is no code away, or name a git repository that has the SDK in it in agent.json "
            '("code": {"source": "git", "url": "https://…"})'
        )
    return {"code": {"source": "files", "files": {name: _text(path) for name, path in files.items()}}}


def uploaded_names(project: Project) -> list[str]:
    code: JsonObject | Any = code_of(project).get("code") or {}
    files = code.get("files")
    return sorted(files) if isinstance(files, dict) else []


def _own_files(project: Project) -> Iterator[Path]:
    known = {path.resolve() for path in (project.agent, project.dataset) if path is not None}
    pending = [project.directory]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.name.startswith(".") or path.name in LEFT_OUT:
                continue
            if path.is_dir() and not path.is_symlink():
                pending.append(path)
            elif path.is_file() and path.resolve() not in known and not _is_about_it(path, project.directory):
                yield path


def _is_about_it(path: Path, top: Path) -> bool:
    """Files about the agent rather than of it; a CSV beside agent.json is taken to hold tasks."""
    is_tasks = path.suffix == ".csv" and path.parent == top
    return path.name.startswith("test_") or path.name in ("conftest.py", "README.md") or is_tasks


def _asks_for_sdk(path: Path) -> bool:
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
    """The SDK as files to put beside somebody's code, with or without its adapters for frameworks."""
    left_out = SDK_LEFT_OUT if adapters else SDK_LEFT_OUT | {"adapters"}
    root = Path(pipelines.__file__).parent
    found = {f"{SDK}/__init__.py": root / "__init__.py"}
    for part in SDK_PARTS:
        for path in sorted((root / part).rglob("*.py")):
            inside = path.relative_to(root)
            if not left_out & set(inside.parts):
                found[f"{SDK}/{inside.as_posix()}"] = path
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CannotUpload(
            f"{path.name}: only text can be uploaded; leave it out, or name a git repository in agent.json"
        ) from None
    except OSError as error:
        raise CannotUpload(f"{path.name}: {error.strerror or error}") from None
