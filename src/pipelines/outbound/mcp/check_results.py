"""Whether a large result is as MCP has it, found out a few members at a time.

The package's own check of a whole result holds the interpreter until it is done: seconds, where each of a
hundred thousand blocks is wrong in thirteen ways. A part of a list is checked in a millisecond, and the first
part that is wrong ends it. Lists below the members are checked by their first entries.
"""

from mcp_types import methods
from pydantic import ValidationError

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.mcp_answers import quote

AT_ONCE = 50  # members; each may be wrong in some twenty ways
MOST_ENTRIES = 50  # of a list in a member
DEEPEST = 6
LISTED = {"tools/call": "content", "tools/list": "tools"}


class NotAsMcp(Exception):
    """The message is the rest of a sentence about the server."""


def check_result(result: JsonObject, method: str, version: str) -> None:
    """Raises NotAsMcp. Not for the event loop."""
    listed = LISTED[method]
    members = result.get(listed)
    rest = {name: _cut(value, 1) for name, value in result.items() if name != listed}
    if not isinstance(members, list):
        _check(rest | ({} if members is None else {listed: _cut(members, 1)}), method, version, 0)
        return
    for begins in range(0, max(1, len(members)), AT_ONCE):
        part = [_cut(member, 1) for member in members[begins : begins + AT_ONCE]]
        _check(rest | {listed: part}, method, version, begins)


def _check(part: JsonObject, method: str, version: str, begins: int) -> None:
    try:
        methods.validate_server_result(method, version, part)
    except ValidationError as error:
        raise NotAsMcp(told_of(error, begins)) from None


def told_of(error: ValidationError, begins: int = 0) -> str:
    """What is wrong first, in a part that `begins` so far into its list."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = list(first["loc"])
    if len(place) > 1 and isinstance(place[1], int):
        place[1] += begins
    place_text = f"at {'.'.join(map(str, place)) or 'its top'}: {first['msg']}"
    return f"answered with a result that is not valid MCP, {quote(place_text)}"


def _cut(value: Json, depth: int) -> Json:
    if depth > DEEPEST:
        return value
    if isinstance(value, list):
        return [_cut(entry, depth + 1) for entry in value[:MOST_ENTRIES]]
    if isinstance(value, dict):
        return {name: _cut(entry, depth + 1) for name, entry in value.items()}
    return value
