"""Any Python function as a tool of the run: for frameworks without an adapter of their own.

    from pipelines.odyssey.tools import proxied, tools_schema

    tools = [proxied(get_order), proxied(refund_order)]   # hand these to your framework
    schema = tools_schema(tools)                          # the tools_schema of agent.json

The howto is docs/howto/any-framework.md.
"""

import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar

from .calls import async_proxy_call, proxy_call
from .context import current_or_none
from .doc_params import read_doc
from .errors import ToolFailed
from .hint_schema import NoSchema, schema_of

F = TypeVar("F", bound=Callable[..., Any])

_NAME = "__odyssey_tool__"
_RECEIVERS = ("self", "cls")


def proxied(
    function: F,
    *,
    name: str | None = None,
    outside_a_run: Literal["refuse", "call"] = "refuse",
    failures: Literal["raise", "return"] = "raise",
) -> F:
    """A callable of the same name, signature, annotations and docstring, whose calls go to the run's proxy.

    Sync or async, as the function is; its body does not run. Where no run is active a call raises
    NoCurrentEnvelope; with `outside_a_run="call"` it calls the function itself, so that one tool serves in
    production and under test. A tool that fails raises ToolFailed; with `failures="return"` the backend's
    error is the result, for frameworks that end the run on an exception. Only arguments that were given are
    sent: dataclasses, enums, dates and pydantic models in their JSON form. Results come as JSON. Raises
    TypeError for a function that cannot be a tool.
    """
    signature = _signature(function)
    called = name or _name(function)
    input_schema(function)  # what cannot be declared is refused now, not when it is called

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return _arguments_to_send(signature.bind(*args, **kwargs))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        sent = arguments(args, kwargs)
        if outside_a_run == "call" and current_or_none() is None:
            return function(*args, **kwargs)
        try:
            return proxy_call(called, sent)
        except ToolFailed as failed:
            if failures == "return":
                return failed.response
            raise

    @functools.wraps(function)
    async def async_call(*args: Any, **kwargs: Any) -> Any:
        sent = arguments(args, kwargs)
        if outside_a_run == "call" and current_or_none() is None:
            return await function(*args, **kwargs)
        try:
            return await async_proxy_call(called, sent)
        except ToolFailed as failed:
            if failures == "return":
                return failed.response
            raise

    wrapper: Any = async_call if inspect.iscoroutinefunction(function) else call
    # Resolved: a framework may look at the annotations without the module that they were written in.
    wrapper.__signature__ = signature
    wrapper.__annotations__ = {p.name: p.annotation for p in signature.parameters.values() if _has_hint(p)}
    if signature.return_annotation is not inspect.Signature.empty:
        wrapper.__annotations__["return"] = signature.return_annotation
    wrapper.__name__ = called
    setattr(wrapper, _NAME, called)
    return typing.cast(F, wrapper)


def tools_schema(functions: Iterable[Callable[..., Any]]) -> list[dict[str, Any]]:
    """The `tools_schema` of functions, proxied or not, from their names, hints and docstrings.

    Parameters are described by `Annotated[str, "…"]` or by the docstring (Google, NumPy or reST style).
    Raises TypeError for a function that cannot be a tool, ValueError when two tools of one name differ.
    """
    found: dict[str, dict[str, Any]] = {}
    for function in functions:
        name = getattr(function, _NAME, None) or _name(function)
        description = read_doc(function.__doc__).description
        entry = {"name": name, "description": description, "input_schema": input_schema(function)}
        if found.setdefault(name, entry) != entry:
            raise ValueError(
                f"two tools are named `{name}` and differ; give one another name: proxied(fn, name=…)"
            )
    return list(found.values())


def input_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """The JSON Schema of a function's parameters. Raises TypeError with the parameter that has none."""
    described = read_doc(function.__doc__).parameters
    properties: dict[str, Any] = {}
    required: list[str] = []
    takes_more = False
    for parameter in _parameters(_signature(function)):
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(f"{_name(function)} takes *{parameter.name}; a tool's arguments have names")
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_more = True
            continue
        properties[parameter.name] = _property(function, parameter, described)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    schema = {"type": "object", "properties": properties, "required": required}
    return schema if takes_more else schema | {"additionalProperties": False}


def _property(
    function: Callable[..., Any], parameter: inspect.Parameter, described: Mapping[str, str]
) -> dict[str, Any]:
    try:
        schema = schema_of(parameter.annotation) if _has_hint(parameter) else {}
    except NoSchema as error:
        raise TypeError(f"{_name(function)}, parameter {parameter.name}: {error}") from None
    if parameter.name in described and "description" not in schema:
        schema["description"] = described[parameter.name]
    if parameter.default not in (parameter.empty, None) and not schema.get("default"):
        schema["default"] = as_json(parameter.default)
    return schema


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """With its annotations resolved, also where they are written as text."""
    if not callable(function) or inspect.isclass(function):
        raise TypeError(f"{function!r} is not a function: wrap a function or a method")
    signature = inspect.signature(function)
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{_name(function)}: a type hint uses a name that its module does not define: {error}"
        ) from None
    parameters = [
        each.replace(annotation=hints.get(each.name, each.annotation))
        for each in signature.parameters.values()
    ]
    returned = hints.get("return", signature.return_annotation)
    return signature.replace(parameters=parameters, return_annotation=returned)


def _parameters(signature: inspect.Signature) -> list[inspect.Parameter]:
    """All but the receiver of a method that is written in a class body."""
    found = list(signature.parameters.values())
    return found[1:] if found and found[0].name in _RECEIVERS and not _has_hint(found[0]) else found


def _has_hint(parameter: inspect.Parameter) -> bool:
    return parameter.annotation is not parameter.empty


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _arguments_to_send(bound: inspect.BoundArguments) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    for parameter in _parameters(bound.signature):
        if parameter.name not in bound.arguments:
            continue
        value = bound.arguments[parameter.name]
        if parameter.kind is parameter.VAR_KEYWORD:
            sent |= {key: as_json(each) for key, each in value.items()}
        else:
            sent[parameter.name] = as_json(value)
    return sent


def as_json(value: Any) -> Any:
    """A value as it is sent. What has no form in JSON stays as it is, and is refused when it is sent."""
    if isinstance(value, enum.Enum):
        return as_json(value.value)
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(as_json(key)): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [as_json(item) for item in items]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, decimal.Decimal | uuid.UUID) else value
