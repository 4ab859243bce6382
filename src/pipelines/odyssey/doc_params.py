"""Reads a docstring: the tool's description, and its parameters in Google, NumPy or reST style."""

import inspect
import re
from typing import NamedTuple

_SECTION = re.compile(
    r"(?im)^(?:args|arguments|parameters|params|returns?|yields?|raises?|examples?|notes?):?[ \t]*$"
)
_REST = re.compile(r"(?m)^:(?:param|parameter|arg|argument)[ \t]+(?:[^:\n]*[ \t])?\*{0,2}(\w+):[ \t]*")
_REST_FIELD = re.compile(r"(?m)^:\w+[^:\n]*:")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)[ \t]*(?:\([^\n]*?\))?:[ \t]*(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+)[ \t]*(?::.*)?$")
_PARAMETERS = frozenset({"args", "arguments", "parameters", "params"})


class Doc(NamedTuple):
    description: str
    parameters: dict[str, str]


def read_doc(doc: str | None) -> Doc:
    text = inspect.cleandoc(doc or "")
    rest = _rest_parameters(text)
    if rest:
        first = _REST_FIELD.search(text)
        return Doc(text[: first.start() if first else None].strip(), rest)
    heads = list(_SECTION.finditer(text))
    parameters: dict[str, str] = {}
    for at, head in enumerate(heads):
        end = heads[at + 1].start() if at + 1 < len(heads) else None
        if head[0].strip().rstrip(":").lower() in _PARAMETERS:
            parameters |= _section_parameters(text[head.end() : end])
    return Doc((text[: heads[0].start()] if heads else text).strip(), parameters)


def _rest_parameters(text: str) -> dict[str, str]:
    found = {}
    for match in _REST.finditer(text):
        end = _REST_FIELD.search(text, match.end())
        found[match[1]] = _one_line(text[match.end() : end.start() if end else None].split("\n\n")[0])
    return found


def _section_parameters(text: str) -> dict[str, str]:
    """`name (type): says`, or NumPy's `name : type` with what it says indented below."""
    lines = text.strip("\n").splitlines()
    is_numpy = bool(lines) and set(lines[0].strip()) == {"-"}
    lines = lines[1:] if is_numpy else lines
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    found: dict[str, list[str]] = {}
    name = None
    for line in lines:
        head = (_NUMPY if is_numpy else _GOOGLE).match(line[margin:])
        if head is not None and not line[margin : margin + 1].isspace():
            name = head[1]
            found[name] = [] if is_numpy else [head[2]]
        elif name is not None:
            found[name].append(line.strip())
    return {name: _one_line(" ".join(words)) for name, words in found.items() if _one_line(" ".join(words))}


def _one_line(text: str) -> str:
    return " ".join(text.split())
