"""Collects the source of functions: their modules and the modules that those import, as files of one tree.

Whole files are taken, so helpers, constants, decorators and imports come along as they are. Followed are
imports of modules that lie in the same project as the function: beside it, or in its package. Installed
packages are not shipped but named in `requirements`; those that are not named there are told in a warning.
"""

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

_PLACES = ("site-packages", "dist-packages")
_REGISTERS = "create_code"  # whoever imports a module that calls this would register the endpoint again
_PATH = re.compile(r"(?:[A-Za-z_]\w*/)*[A-Za-z_]\w*\.py", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class CannotShip(ValueError):
    """Functions that cannot be shipped, each with what to do."""

    def __init__(self, problems: Sequence[str]) -> None:
        #: One sentence for each function or file, with what to do about it.
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


@dataclass(frozen=True, kw_only=True)
class Collected:
    files: dict[str, str]  # texts by path, with forward slashes
    functions: list[str]  # as shop/prices.py:get_price
    warnings: list[str]


def collect(functions: Sequence[Callable[..., Any]], requirements: Sequence[str] = ()) -> Collected:
    """All files to ship for these functions. Raises CannotShip with all problems."""
    collector = _Collector(requirements=requirements)
    names: dict[str, str] = {}
    for function in functions:
        place = collector.place(function)
        if place is None:
            continue
        name = function.__name__
        if names.setdefault(name, place) != place:
            collector.problems.append(f"{name}: two functions have this name; rename one")
    if not functions:
        collector.problems.append("no functions were given")
    if not collector.problems:
        collector.follow_imports()
    if collector.problems:
        raise CannotShip(list(dict.fromkeys(collector.problems)))
    return Collected(
        files=dict(sorted(collector.files.items())),
        functions=[f"{place}:{name}" for name, place in names.items()],
        warnings=collector.warnings(),
    )


@dataclass(kw_only=True)
class _Collector:
    requirements: Sequence[str]
    files: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    _roots: dict[str, Path] = field(default_factory=dict)  # where each file was found
    _waiting: list[tuple[Path, str]] = field(default_factory=list)  # a root, and a file's path below it
    _packages: dict[str, str] = field(
        default_factory=dict
    )  # an import that is not ours -> a file that has it

    def place(self, function: Any) -> str | None:
        """Add the function's file; returns its path in the tree, or None if it cannot be shipped."""
        complaint = problem_with(function)
        if complaint is not None:
            self.problems.append(complaint)
            return None
        module = sys.modules[function.__module__]
        root, path = _import_root(module)
        if _PATH.fullmatch(path) is None:
            self.problems.append(
                f"{function.__qualname__} is in {path}: name files and folders as Python modules are named"
                " (letters, digits, _)"
            )
            return None
        self._add(root, path)
        return path

    def follow_imports(self) -> None:
        while self._waiting:
            root, path = self._waiting.pop()
            try:
                tree = ast.parse(self.files[path], path)
            except (SyntaxError, ValueError) as error:
                self.problems.append(f"{path} cannot be read as Python: {error}")
                continue
            if _registers_itself(tree):
                self.problems.append(
                    f"{path} calls {_REGISTERS} when it is imported: put that under"
                    ' `if __name__ == "__main__":`, or move the functions to a file of their own'
                )
            for name, is_optional in _imports(tree, path):
                self._follow(root, path, name, is_optional=is_optional)

    def _follow(self, root: Path, path: str, name: str, *, is_optional: bool) -> None:
        """`name` is dotted; its last parts may be attributes of a module."""
        parts = name.split(".")
        if parts[0] in sys.stdlib_module_names and _find_file(root, parts[:1]) is None:
            return
        if _find_file(root, parts[:1]) is None:
            if not is_optional:
                self._packages.setdefault(parts[0], path)
            return
        for end in range(1, len(parts) + 1):
            found = _find_file(root, parts[:end])
            if found is None:
                return
            if found:
                self._add(root, found)

    def _add(self, root: Path, path: str) -> None:
        if self._roots.setdefault(path, root) != root:
            self.problems.append(
                f"{path} is in {self._roots[path]} and in {root}: ship functions of one project at a time"
            )
        if path in self.files:
            return
        source = root / path
        try:
            self.files[path] = source.read_text("utf-8-sig")
        except UnicodeDecodeError:
            self.problems.append(f"{path} is not UTF-8 text; save it as UTF-8")
            return
        except OSError as error:
            self.problems.append(f"{path} cannot be read: {error.strerror}")
            return
        self._waiting.append((root, path))
        for parent in list(Path(path).parents)[:-1]:  # a package is imported before what is in it
            init = parent / "__init__.py"
            if (root / init).is_file():
                self._add(root, init.as_posix())

    def warnings(self) -> list[str]:
        """Warnings for imports that neither the files nor `requirements` provide."""
        named = {_normalize(match[0]) for text in self.requirements if (match := _NAME.match(text.strip()))}
        unknown = {
            package: path for package, path in self._packages.items() if _normalize(package) not in named
        }
        if not unknown:
            return []
        from importlib import metadata  # reads what is installed, which takes a while

        brought_by = metadata.packages_distributions()
        return [
            _warning(package, path, brought_by.get(package, []))
            for package, path in sorted(unknown.items())
            if not named & set(map(_normalize, brought_by.get(package, [])))
        ]


def problem_with(function: Any) -> str | None:
    """Why a function cannot be shipped, and what to do; None if it can."""
    name = getattr(function, "__qualname__", None) or repr(function)
    move = "write it with def at the top level of a module"
    own = "write a function of your own that uses it, with def at the top level of a module"
    if isinstance(function, functools.partial):
        return f"{function!r} is a partial: {move}, with the arguments in its body"
    if inspect.ismethod(function):
        owner = _describe_type(function.__self__)
        return f"{name} is a method bound to {owner}: {move}, which makes what it needs itself"
    if inspect.isclass(function):
        return f"{name} is a class: {own}"
    if inspect.isbuiltin(function) or not (inspect.isfunction(function) or hasattr(function, "__wrapped__")):
        if callable(function):
            return f"{name} is not a function written in Python: {own}"
        return f"{name} cannot be called: give the functions themselves"
    if function.__name__ == "<lambda>":
        return f"{name} is a lambda: {move}"
    if "<locals>" in name and (known := _name_in_module(function)) is not None:
        return f"{known} was made by a decorator, which calls it {name}: use functools.wraps in the decorator"
    if "<locals>" in name:
        free = getattr(getattr(function, "__code__", None), "co_freevars", ())
        uses = f" and uses its {', '.join(free)}" if free else ""
        return f"{name} is defined inside another function{uses}: {move}"
    return _problem_with_module(function, name)


def _name_in_module(function: Any) -> str | None:
    found = vars(sys.modules.get(function.__module__, ModuleType("none"))).items()
    return next((name for name, value in list(found) if value is function), None)


def _problem_with_module(function: Any, name: str) -> str | None:
    module = sys.modules.get(function.__module__ or "", ModuleType("none"))
    title: str = function.__name__
    file = getattr(module, "__file__", None)
    if not file:
        return (
            f"{name} was not defined in a file (but in a prompt, a notebook or exec): save it in a .py file"
        )
    if not str(file).endswith(".py"):
        return f"{name} is in {Path(file).name}, which is not Python source: write a function that calls it"
    if "." in name:
        return f"{name} is a function of a class: write it with def at the top level of {Path(file).name}"
    if vars(module).get(title) is not function:
        return f"{name} is not what its module has under this name: pass the function as it is imported"
    if _is_installed(module):
        package = module.__name__.partition(".")[0]
        return f"{name} is part of {package}, which is installed: write a function of your own that calls it"
    if not title.isascii():
        return f"{name}: a tool's name may contain only ASCII letters; rename it"
    return None


def _is_installed(module: ModuleType) -> bool:
    path = Path(str(module.__file__)).resolve()
    if module.__name__.partition(".")[0] in sys.stdlib_module_names and module.__name__ != "__main__":
        return path.is_relative_to(Path(inspect.__file__).resolve().parent)
    return any(part in _PLACES for part in path.parts)


def _import_root(module: ModuleType) -> tuple[Path, str]:
    """The folder that the module is imported from, and its path below it."""
    file = Path(str(module.__file__)).resolve()
    name = module.__name__
    if name == "__main__":
        spec = getattr(module, "__spec__", None)  # there is one for `python -m`
        name = spec.name if spec is not None else file.stem
    depth = name.count(".") + (file.name == "__init__.py")
    root = file.parents[depth]
    return root, file.relative_to(root).as_posix()


def _find_file(root: Path, parts: Sequence[str]) -> str | None:
    """The file of a module under the root; "" for a folder without __init__.py; None if there is neither."""
    place = root.joinpath(*parts)
    for candidate in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if candidate.is_file():
            return candidate.relative_to(root).as_posix()
    return "" if place.is_dir() and any(place.glob("*.py")) else None


def _imports(tree: ast.Module, path: str) -> Iterator[tuple[str, bool]]:
    """Every name that is imported anywhere in a file, in full, and whether the file can do without it."""
    package = list(Path(path).parent.parts)
    optional = _optional(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node in optional
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*base, *((node.module or "").split(".") if node.module else [])])
            for alias in node.names:
                yield f"{whole}.{alias.name}".strip("."), node in optional


def _optional(tree: ast.Module) -> set[ast.AST]:
    """Imports for type checkers, and those in a `try` that catches their failure."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if is_typing or isinstance(node, ast.Try):
            body = node.body  # type: ignore[attr-defined]
            found |= {inner for statement in body for inner in ast.walk(statement)}
    return found


def _registers_itself(tree: ast.Module) -> bool:
    """Whether importing the file would call `create_code`."""
    waiting: list[ast.AST] = [statement for statement in tree.body if not _is_guard(statement)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            called = node.func
            if _REGISTERS in (getattr(called, "id", None), getattr(called, "attr", None)):
                return True
        waiting += ast.iter_child_nodes(node)
    return False


def _is_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__main__" in ast.dump(statement.test)


def _warning(package: str, path: str, brought_by: Sequence[str]) -> str:
    text = f"{path} imports {package}, which is neither shipped nor in requirements: "
    if brought_by:
        return f"{text}add {sorted(brought_by)[0]!r}, unless another requirement installs it"
    return f"{text}move it into the project of the functions, or add the package that provides it"


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _describe_type(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    return kind.__name__ if kind is value else f"a {kind.__name__}"
