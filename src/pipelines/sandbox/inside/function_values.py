"""Runs inside the sandbox: what a function takes and gives, between JSON and Python.

How hints and docstrings are read comes from the SDK as text (`readers`), so that discovery finds what
`tools_schema()` says on the author's own machine. Standard library only.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import types
import typing
import uuid
from typing import Any

_ISO = (datetime.datetime, datetime.date, datetime.time)
_EMPTY = inspect.Parameter.empty
_SETS = (set, frozenset, collections.abc.Set)
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def signature_of(function: Any) -> inspect.Signature:
    """With its hints resolved, also where they are written as text."""
    signature = inspect.signature(function)
    hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    parameters = [
        each.replace(annotation=hints.get(each.name, each.annotation))
        for each in signature.parameters.values()
    ]
    returned = hints.get("return", signature.return_annotation)
    return signature.replace(parameters=parameters, return_annotation=returned)


# --- what it looks like


def readers_from(texts: dict[str, str]) -> dict[str, Any]:
    """The SDK's modules, which stand alone."""
    readers = {}
    for name, text in texts.items():
        module = types.ModuleType(f"odyssey_{name}")
        exec(compile(text, f"<{name}>", "exec"), module.__dict__)
        readers[name] = module
    return readers


def described(name: str, function: Any, readers: dict[str, Any]) -> dict[str, Any]:
    """A tool, or the `problem` that keeps the function from being one."""
    if not callable(function) or inspect.isclass(function):
        return {"name": name, "problem": f"is not a function but {_a(function)}"}
    try:
        signature = signature_of(function)
    except NameError as error:
        return {"name": name, "problem": f"a type hint names what its module does not have: {error}"}
    except (TypeError, ValueError) as error:
        return {"name": name, "problem": f"its signature cannot be read: {error}"}
    doc = readers["doc_params"].read_doc(function.__doc__)
    notes: list[str] = []
    schema = input_schema(signature, doc.parameters, readers["hint_schema"], notes)
    if isinstance(schema, str):
        return {"name": name, "problem": schema}
    output = output_schema(signature.return_annotation, readers["hint_schema"], notes)
    whole = {"name": name, "description": doc.description, "input_schema": schema}
    return {**whole, "output_schema": output, "notes": notes}


def input_schema(
    signature: inspect.Signature, said: dict[str, str], hints: Any, notes: list[str]
) -> dict[str, Any] | str:
    """Of the parameters, or why there is none."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    takes_more = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue  # arguments of a tool have names
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_more = True
            continue
        try:
            found = hints.schema_of(parameter.annotation) if parameter.annotation is not _EMPTY else {}
        except hints.NoSchema as error:
            if parameter.default is _EMPTY:
                return f"parameter {parameter.name}: {error}"
            notes.append(f"parameter {parameter.name} is left at its default: {error}")
            continue
        if parameter.name in said and "description" not in found:
            found["description"] = said[parameter.name]
        if parameter.default is _EMPTY:
            required.append(parameter.name)
        elif parameter.default is not None and "default" not in found:
            _keep_default(found, parameter.default)
        properties[parameter.name] = found
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    return schema if takes_more else schema | {"additionalProperties": False}


def _keep_default(schema: dict[str, Any], value: Any) -> None:
    value = plain(value)
    if isinstance(value, (str, int, float, bool, list, dict)):
        schema["default"] = value


def output_schema(hint: Any, hints: Any, notes: list[str]) -> dict[str, Any] | None:
    if hint in (_EMPTY, Any, object):
        return None
    try:
        found: dict[str, Any] = hints.schema_of(hint)
    except hints.NoSchema as error:
        notes.append(f"no output_schema: {error}")
        return None
    return found or None


# --- a call


def bound(function: Any, arguments: dict[str, Any]) -> inspect.BoundArguments:
    """The arguments as its hints want them. Raises TypeError or ValueError, naming the argument."""
    signature = signature_of(function)
    positional: list[Any] = []
    named = dict(arguments)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.name not in named:
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.default is not _EMPTY:
                positional.append(parameter.default)  # one behind it may be given
            continue
        value = named.pop(parameter.name)
        if parameter.annotation is not _EMPTY:
            try:
                value = as_hinted(value, parameter.annotation)
            except (TypeError, ValueError, ArithmeticError) as error:
                raise ValueError(f"argument {parameter.name}: {error}") from None
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(value)
        else:
            named[parameter.name] = value
    return signature.bind(*positional, **named)


def as_hinted(value: Any, hint: Any) -> Any:
    """A value of JSON as the Python that a hint stands for; what needs no change stays as it is."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return as_hinted(value, inner[0])
    if isinstance(hint, typing.NewType):
        return as_hinted(value, hint.__supertype__)
    if origin in (typing.Union, types.UnionType):
        return _as_one_of(value, inner)
    if isinstance(value, list):
        return _items(value, origin or hint, inner)
    if isinstance(value, dict) and origin in _MAPPINGS and len(inner) == 2:
        return {key: as_hinted(item, inner[1]) for key, item in value.items()}
    return _as_class(value, hint) if isinstance(hint, type) else value


def _as_one_of(value: Any, options: tuple[Any, ...]) -> Any:
    """The first option that takes it."""
    if value is None or any(
        option in (str, int, float, bool) and type(value) is option for option in options
    ):
        return value
    for option in options:
        try:
            return as_hinted(value, option)
        except (TypeError, ValueError, ArithmeticError):
            continue
    return value


def _items(value: list[Any], kind: Any, inner: tuple[Any, ...]) -> Any:
    if kind is tuple:
        every = inner[:1] * len(value) if len(inner) == 2 and inner[1] is Ellipsis else inner
        pairs = zip(value, every, strict=False)
        return tuple(as_hinted(item, hint) for item, hint in pairs) if inner else tuple(value)
    items = [as_hinted(item, inner[0]) for item in value] if inner else value
    if kind in _SETS:
        return frozenset(items) if kind is frozenset else set(items)
    return items


def _as_class(value: Any, hint: type) -> Any:
    if isinstance(value, hint) and type(value) is hint:
        return value
    if issubclass(hint, enum.Enum):
        return hint(value)
    if hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    if isinstance(value, str) and hint in _ISO:
        return hint.fromisoformat(value)
    if isinstance(value, str) and hint in (decimal.Decimal, uuid.UUID):
        return hint(value)
    if isinstance(value, dict) and dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        return hint(**{name: as_hinted(item, hints.get(name, Any)) for name, item in value.items()})
    return value


def plain(value: Any) -> Any:
    """A result as JSON has it. What has no form there stays, and is refused when it is written."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [plain(item) for item in sorted(value, key=repr)]
    if isinstance(value, _ISO):
        return value.isoformat()
    return str(value) if isinstance(value, (decimal.Decimal, uuid.UUID)) else value


def unwritable(value: Any, where: str = "the result") -> str | None:
    """What in a result JSON has no form for, and where: the first such thing."""
    if value is None or isinstance(value, (str, bool, int)):
        return None
    if isinstance(value, float):
        return None if value - value == 0 else f"{where} is {value!r}, which JSON does not have"
    if isinstance(value, list):
        found = (unwritable(item, f"{where}[{index}]") for index, item in enumerate(value))
        return next(filter(None, found), None)
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"{where} has the key {key!r}, which is {_a(key)} and no text"
            if problem := unwritable(item, f"{where}[{key!r}]"):
                return problem
        return None
    return f"{where} is {_a(value)}"


def _a(value: Any) -> str:
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"
