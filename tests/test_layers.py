"""The tables of docs/architecture.md say what each room may import; these tests check it."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from support.kinds import KINDS
from support.repository import DOCS, ROOT, TESTS

SOURCE = ROOT / "src"
PACKAGE = SOURCE / "pipelines"
PAGE = (DOCS / "architecture.md").read_text()

#: Narrower than the table: these rooms need the named room in these modules alone.
ONLY_IN = {("odyssey", "core"): {"odyssey/testing.py"}, ("processes", "web"): {"processes/jobs.py"}}
MOST_MODULES = 25  # in one folder: more are not looked through, they are searched
MOST_TEST_LINES = 600  # in one file
LONGER = {
    "engine/coding/cheating_agent.py",  # an agent under test is one file
    *("core/simulation/test_reading.py", "core/simulation/random_plans.py"),  # to be split by subject
    "core/simulation/rules/test_apply_rules.py",  # likewise
}
#: Folders of tests that mirror no room: whole stories, measurements, what tests share, what is not in src.
NO_ROOM = {"acceptance", "bench", "blind", "cheats", "docs", "examples", "support", "trades"}


def room_table(heading: str) -> list[list[str]]:
    """The cells of the rows under a heading, without the backticks and the slash of the room's name."""
    section = PAGE.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line
    ]
    return [[cells[0].strip("`/"), *cells[1:]] for cells in rows if cells[0].startswith("`")]


MAY_IMPORT = {room: set(re.findall(r"\w+", may_import)) for room, _, may_import in room_table("## The rooms")}
INNER_ROOMS = {
    outer: [row[0] for row in room_table(f"### {outer}")]
    for outer in ("core", "engine", "storage", "server", "cli")
}


class Import(NamedTuple):
    importer: str  # dotted, as `pipelines.core.text.json_text`
    imported: str
    file: Path


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements below `node`; those that only a type checker runs are left out."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, part, ()):
            if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
                yield child
                yield from statements(child)


def imported_names(source: str, package: list[str]) -> Iterator[str]:
    """Every dotted name that a module imports, wherever in the file the import stands."""
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".") if node.module else []
            base = package[: len(package) - node.level + 1] + parts if node.level else parts
            yield from (".".join([*base, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def imports() -> list[Import]:
    found = []
    for file in PACKAGE.rglob("*.py"):
        if (PACKAGE / "cli" / "scaffolds") in file.parents:
            continue
        parts = file.relative_to(SOURCE).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        for name in imported_names(file.read_text(), list(parts[:-1])):
            if name.startswith("pipelines."):
                found.append(Import(module, name, file))
    return found


def child_of(folder: str, name: str) -> str | None:
    """Which room or module right inside `folder` a dotted name belongs to."""
    if not name.startswith(f"{folder}."):
        return None
    child = name.removeprefix(f"{folder}.").split(".")[0]
    place = SOURCE.joinpath(*folder.split("."))
    return child if (place / child).is_dir() or (place / f"{child}.py").is_file() else None


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_room_imports_only_what_its_row_allows(room: str) -> None:
    strangers = set()
    for one in imports():
        imported = child_of("pipelines", one.imported)
        if child_of("pipelines", one.importer) != room or imported in (None, room):
            continue
        modules = ONLY_IN.get((room, imported))
        file = one.file.relative_to(PACKAGE).as_posix()
        if imported not in MAY_IMPORT[room] or (modules is not None and file not in modules):
            strangers.add(f"{file} imports {imported}")
    assert not strangers


@pytest.mark.parametrize("outer", INNER_ROOMS)
def test_inner_room_imports_only_rooms_above_it(outer: str) -> None:
    rooms = INNER_ROOMS[outer]
    wrong = set()
    for one in imports():
        importer = child_of(f"pipelines.{outer}", one.importer)
        imported = child_of(f"pipelines.{outer}", one.imported)
        if importer in rooms and imported in rooms and rooms.index(imported) > rooms.index(importer):
            wrong.add(f"{one.file.relative_to(PACKAGE)} imports {one.imported}")
    assert not wrong


@pytest.mark.parametrize(
    "folder",
    sorted(
        ".".join(("pipelines", *path.parent.relative_to(PACKAGE).parts))
        for path in PACKAGE.rglob("__init__.py")
    ),
)
def test_no_folder_is_part_of_an_import_cycle(folder: str) -> None:
    """Among all that stands in one folder, a room and what it needs never need each other."""
    needs: dict[str, set[str]] = defaultdict(set)
    for one in imports():
        importer, imported = child_of(folder, one.importer), child_of(folder, one.imported)
        if importer and imported and importer != imported:
            needs[importer].add(imported)
    place = SOURCE.joinpath(*folder.split("."))
    for room in [name for name in needs if (place / name).is_dir()]:
        reached, waiting = set(), list(needs[room])
        while waiting:
            if (name := waiting.pop()) not in reached:
                reached.add(name)
                waiting.extend(needs[name])
        assert room not in reached, f"{folder}.{room} needs itself by way of {sorted(reached & set(needs))}"


def test_every_room_is_in_the_tables() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(MAY_IMPORT)
    for outer, rooms in INNER_ROOMS.items():
        assert sorted(path.parent.name for path in (PACKAGE / outer).glob("*/__init__.py")) == sorted(
            rooms
        ), outer


def test_nothing_but_its_init_stands_loose_in_core() -> None:
    assert [path.name for path in (PACKAGE / "core").glob("*.py")] == ["__init__.py"]


def test_no_folder_is_too_full_to_look_through() -> None:
    counts = Counter(path.parent for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert not {str(folder.relative_to(PACKAGE)): n for folder, n in counts.items() if n > MOST_MODULES}


def test_every_room_says_what_it_does() -> None:
    silent = [
        path for path in PACKAGE.rglob("__init__.py") if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent


def test_every_way_in_that_a_room_names_is_there() -> None:
    """ "Enter through `agent_reply`": a module or a room of that folder."""
    wrong = []
    for path in PACKAGE.rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        for sentence in re.findall(r"\bEnter (?:through|at|by) .*?(?=\.(?:\s|$))", text, re.DOTALL):
            for name in re.findall(r"`(\w+)", sentence):
                if not (path.parent / name).is_dir() and not (path.parent / f"{name}.py").is_file():
                    wrong.append(f"{path.parent.relative_to(PACKAGE)}: {name}")
    assert not wrong


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
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert not [name for name, count in names.items() if count > 1]


def test_tests_stand_in_the_rooms_that_they_test() -> None:
    folders = {
        path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py") if "harbor" not in path.parts
    }
    rooms = {folder for folder in folders if folder.parts and folder.parts[0] not in NO_ROOM}
    assert not {str(room) for room in rooms if not (PACKAGE / room / "__init__.py").is_file()}
    split = INNER_ROOMS.keys() - {"cli"}  # the tests of commands build on each other's helpers
    assert not {path.name for outer in split for path in (TESTS / outer).glob("test_*.py")}
    assert {path.name for path in TESTS.glob("*.py")} == {"conftest.py", "test_layers.py", "test_records.py"}


def test_no_test_file_is_too_long_to_read() -> None:
    counts = {path: len(path.read_text().splitlines()) for path in TESTS.rglob("*.py")}
    assert {str(path.relative_to(TESTS)) for path, n in counts.items() if n > MOST_TEST_LINES} <= LONGER


def test_every_test_is_of_one_kind(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        assert len({mark.name for mark in item.iter_markers()} & set(KINDS)) == 1, item.nodeid
