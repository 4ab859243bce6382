"""Files of scenarios: YAML or JSON that names a repository's folder and a folder of hidden tests.

Besides the fields of the API, a file may have `workspace_seed: {type: folder, path: shop}` and
`test_folder: hidden`: the files of those folders are read here and sent.
"""

import os
from pathlib import Path

from pipelines.cli.files import or_stop, read_bytes, read_text, stop
from pipelines.core.coding.imported import TreeFile, seed_of
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.core.text.yaml_text import read_yaml

LARGEST_FILE = 8 * 1024 * 1024
#: Of a folder, what is no part of the project.
LEFT_OUT = frozenset({".git", "__pycache__", ".venv", "node_modules", ".pytest_cache"})
MOST_FILES = 50_000
MOST_BYTES = 64 * 1024 * 1024


def read_scenarios(path: Path) -> list[JsonObject]:
    """The bodies of POST /api/coding-scenarios for the scenarios of a file."""
    body = read_any(path)
    listed = body.get("scenarios") if isinstance(body, dict) and "scenarios" in body else body
    entries = listed if isinstance(listed, list) else [listed]
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        stop(f"{path}: expected one scenario, or a list of scenarios.")
    return [_read_folders(entry, path.parent) for entry in entries if isinstance(entry, dict)]


def read_any(path: Path) -> Json:
    """YAML or JSON, by the file's ending, else by its first character."""
    text = read_text(path)
    if path.suffix == ".json" or (path.suffix not in (".yaml", ".yml") and text.lstrip()[:1] in ("{", "[")):
        try:
            return loads(text)
        except InvalidJson as error:
            stop(f"{path} {error.predicate}")
    return or_stop(path, read_yaml, text, what="scenario", most_bytes=LARGEST_FILE).value


def _read_folders(body: JsonObject, base: Path) -> JsonObject:
    scenario = dict(body)
    seed = scenario.get("workspace_seed")
    if isinstance(seed, dict) and seed.get("type") == "folder":
        scenario["workspace_seed"] = seed_of(
            read_tree(base / _folder_name(seed.get("path"), "workspace_seed.path"))
        )
    if "test_folder" in scenario:
        tests = _read_test_files(base / _folder_name(scenario.pop("test_folder"), "test_folder"))
        known = scenario.get("test_files")
        scenario["test_files"] = tests | (known if isinstance(known, dict) else {})
    return scenario


def _folder_name(value: Json, what: str) -> str:
    if not isinstance(value, str) or not value:
        stop(f"`{what}` must name a folder, relative to the file.")
    return value


def read_tree(folder: Path) -> dict[str, TreeFile]:
    """Every file below the folder, by its relative path."""
    if not folder.is_dir():
        stop(f"{folder} is no folder.")
    found: dict[str, TreeFile] = {}
    size = 0
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        for name in sorted(names):
            path = Path(top) / name
            data = read_bytes(path)
            size += len(data)
            if len(found) >= MOST_FILES or size > MOST_BYTES:
                stop(f"{folder} is too large to be sent: name a git repository instead.")
            is_executable = os.access(path, os.X_OK)
            found[path.relative_to(folder).as_posix()] = TreeFile(data=data, is_executable=is_executable)
    return found


def _read_test_files(folder: Path) -> JsonObject:
    found: JsonObject = {}
    for path, file in read_tree(folder).items():
        text = file.text()
        if text is None:
            stop(f"{folder / path} is not a text file: hidden test files must be text.")
        found[path] = text
    return found
