"""Which fields of a read plan's reply are invented: each of them is named in the notes of every reply."""

import ast
from collections.abc import Iterator

from pipelines.core.json_text import Json
from pipelines.core.python_tree import expression_tree


def invented_in(body: Json) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_found(body)))


def _found(body: Json) -> Iterator[str]:
    if isinstance(body, str):
        yield from _names(body)
    elif isinstance(body, (list, dict)):
        for part in body if isinstance(body, list) else body.values():
            yield from _found(part)


def _names(written: str) -> Iterator[str]:
    """Of `invented({'type': 'string'}, 'city', args)`, city."""
    if "invented(" not in written:
        return
    try:
        tree = expression_tree(written)
    except (SyntaxError, ValueError, RecursionError):  # a message of an error
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "invented":
            name = node.args[1] if len(node.args) > 1 else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value
