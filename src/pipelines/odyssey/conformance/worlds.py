"""The worlds behind the fake proxy's tools. Each run has its own."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

#: Names that wrappers give to arguments which they put inside another object.
_AROUND = {"arguments", "args", "name", "tool", "tool_name", "id", "type", "function"}


class WorldReply(NamedTuple):
    status: int
    response: Any


class World(Protocol):
    def answer(self, tool: str, arguments: dict[str, Any]) -> WorldReply: ...

    def argument_problem(self, tool: str, arguments: dict[str, Any]) -> str | None:
        """Why the real proxy would refuse these arguments, or None."""
        ...

    def tools(self) -> list[dict[str, Any]]:
        """The tools, for agents that list them."""
        ...


WorldMaker = Callable[[], World]


class ScriptedWorld:
    """Answers by a table of tool replies; a tool that is not in it gets its arguments back, with a status.

    >>> ScriptedWorld({"get_order": {"status": "shipped"}}).answer("get_order", {"order_id": "1"}).response
    {'status': 'shipped'}
    >>> ScriptedWorld().answer("get_order", {"order_id": "1"}).response
    {'order_id': '1', 'status': 'ok'}
    """

    def __init__(self, replies: Mapping[str, Any] | None = None) -> None:
        self._replies = replies or {}

    def answer(self, tool: str, arguments: dict[str, Any]) -> WorldReply:
        if tool in self._replies:
            return WorldReply(200, self._replies[tool])
        return WorldReply(200, {**arguments, "status": "ok"})

    def argument_problem(self, tool: str, arguments: dict[str, Any]) -> str | None:
        """Without a schema only the most common mistake can be recognised."""
        inside = [name for name in ("arguments", "args") if isinstance(arguments.get(name), dict | str)]
        if inside and set(arguments) <= _AROUND:
            return f"the arguments are wrapped in `{inside[0]}`"
        return None

    def tools(self) -> list[dict[str, Any]]:
        return [{"name": name, "input_schema": {"type": "object"}} for name in self._replies]
