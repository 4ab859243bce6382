"""The folder tree is the architecture: each room imports only the rooms listed for it."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "pipelines"

MAY_IMPORT = {
    "wire": set(),
    "core": {"wire"},
    "storage": {"wire", "core"},
    "processes": {"wire", "core"},
    "outbound": {"wire", "core", "processes"},
    "sandbox": {"wire", "core"},
    "models": {"wire", "core"},
    "engine": {"wire", "core", "storage", "models", "outbound", "sandbox", "processes"},
    "web": {"wire", "core"},
    "server": {"wire", "core", "storage", "models", "outbound", "sandbox", "engine", "processes", "web"},
    "odyssey": {"wire"},
    "cli": {"wire", "core", "odyssey", "server", "web"},
    "pytest_plugin": {"wire", "core", "odyssey", "cli"},
}
#: A user's unit tests run the simulated backend in their own process; nothing else of the SDK may need it. A
#: report is a page of megabytes: a helper process writes it.
ALSO_MAY_IMPORT = {"odyssey/testing.py": {"core"}, "processes/jobs.py": {"web"}}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All below `node`, without their expressions: no import stands there, and they are most of a tree."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, part, ()):
            yield child
            yield from statements(child)


def imported_rooms(source: str, here: list[str]) -> Iterator[str]:
    """Rooms a module imports, wherever in the file the import stands."""
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".")
            base = here[: len(here) - node.level] + parts if node.level else parts
            names = [".".join([*base, alias.name]) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            room = rest.split(".")[0]
            if package == "pipelines" and (PACKAGE / room).is_dir() and room:
                yield room


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_room_imports_only_its_neighbours(room: str) -> None:
    for path in (PACKAGE / room).rglob("*.py"):
        here = ["pipelines", *path.relative_to(PACKAGE).parts]
        allowed = MAY_IMPORT[room] | ALSO_MAY_IMPORT.get(path.relative_to(PACKAGE).as_posix(), set())
        strangers = set(imported_rooms(path.read_text(), here)) - allowed - {room}
        assert not strangers, f"{path.relative_to(PACKAGE)} imports {sorted(strangers)}"


def test_every_room_is_in_the_table() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms == set(MAY_IMPORT)


def test_wire_needs_nothing_but_the_standard_library() -> None:
    allowed = {"__future__", "collections", "dataclasses", "enum", "json", "os", "re", "typing"}
    for path in (PACKAGE / "wire").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= allowed
            elif isinstance(node, ast.ImportFrom) and not node.level:  # its own modules it imports by dots
                assert (node.module or "").split(".")[0] in allowed


def test_every_test_file_has_a_name_of_its_own() -> None:
    """Pytest imports test files by their base names: two of one name break the whole run only."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert not [name for name, count in names.items() if count > 1]
