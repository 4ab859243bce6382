"""Checks the entry file of a code agent: is it Python, and does it have a `run` that the platform can call?

    def run(task_input, *, proxy_url, run_token): ...

Read, never executed: what cannot be told by reading (a `run` that is imported) is left to the first run.
"""

import ast
from collections.abc import Iterator

from pipelines.core.text.problems import Problem
from pipelines.core.text.python_tree import module_tree

MAX_ENTRY_BYTES = 1024 * 1024  # a parser's memory is a hundred times its input
HANDED = ("proxy_url", "run_token")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def entry_problems(source: bytes, filename: str, *, function: str, place: str) -> list[Problem]:
    """Everything wrong with an entry file, with the line it stands in."""
    if len(source) > MAX_ENTRY_BYTES:
        message = f"`{filename}` is over {MAX_ENTRY_BYTES // 1024} KB, which is too large for an entry file"
        return [Problem(path=place, message=message)]
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        return [Problem(path=place, message=f"`{filename}`, line {line} is not UTF-8 text")]
    try:
        complaints = _complaints(module_tree(text, filename), function)
    except SyntaxError as error:
        return [Problem(path=place, message=f"`{filename}`, line {error.lineno or 1}: {error.msg}")]
    except (ValueError, RecursionError, MemoryError) as error:
        why = "nested too deeply" if not isinstance(error, ValueError) else str(error)
        return [Problem(path=place, message=f"`{filename}` cannot be read as Python: {why}")]
    hint = f"def {function}(task_input, *, proxy_url, run_token): ..."
    return [Problem(path=place, message=f"`{filename}`{complaint}", hint=hint) for complaint in complaints]


def _complaints(module: ast.Module, function: str) -> list[str]:
    found = list(_bindings(module.body, function))
    if not found:
        return [f" has no function `{function}`"]
    last = found[-1]
    if not isinstance(last, _Function):
        return []  # assigned or imported: only running it shows what it is
    return [f", line {last.lineno}: `{function}` {complaint}" for complaint in _signature_complaints(last)]


def _bindings(body: list[ast.stmt], function: str) -> Iterator[ast.stmt]:
    """Statements of the module itself that may make the function, also those under an `if` or a `try`."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for inner in ("body", "handlers", "orelse", "finalbody"):
                for part in getattr(statement, inner, []):
                    inside = part.body if isinstance(part, ast.ExceptHandler) else [part]
                    yield from _bindings(inside, function)
        elif _names_made(statement) & {function, "*"}:
            yield statement


def _names_made(statement: ast.stmt) -> set[str]:
    if isinstance(statement, _Function | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom | ast.Import):
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return set()


def _signature_complaints(function: _Function) -> list[str]:
    """Called as run(task_input, proxy_url=…, run_token=…): what would make that a TypeError."""
    if function.decorator_list:
        return []  # a decorator may change what it takes
    given = function.args
    positional = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    required = positional[: len(positional) - len(given.defaults)]
    by_name = {argument.arg for argument in (*given.args[0 if given.posonlyargs else 1 :], *given.kwonlyargs)}
    complaints = []
    if not positional and given.vararg is None:
        complaints.append("takes no task_input")
    missing = [name for name in HANDED if name not in by_name and given.kwarg is None]
    if missing:
        complaints.append(f"does not take {' and '.join(f'`{name}`' for name in missing)} by name")
    unknown = [name for name in required[1:] if name not in HANDED or name not in by_name]
    only_named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    unknown += [word.arg for word, default in only_named if default is None and word.arg not in HANDED]
    if unknown:
        complaints.append(
            f"requires {', '.join(f'`{name}`' for name in unknown)}, which the platform does not pass"
        )
    return complaints
