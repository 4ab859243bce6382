"""The body of an upload apart from its rows: what it says of itself, read before the rows are."""

from pipelines.core.text.authored import Fields, is_id
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused

MAX_NAME = 255
NO_ROWS_HINT = "send a CSV as the form field 'file', or JSON with 'rows': [{\"user\": \"…\"}]"


def head_of(body: Json, taken: tuple[str, ...]) -> JsonObject:
    """`{name, agent_id, reuse}`, each False (`reuse`: 0) where it is no such thing; Refused for no upload."""
    if not isinstance(body, dict):
        raise Refused([Problem(path="", message="must be a JSON object")], "the body")
    refuse_unknown(body, taken, "the dataset")
    if body.get("rows") is None:
        raise no_rows()
    name, agent_id, reuse = body.get("name"), body.get("agent_id"), body.get("reuse")
    return {
        "name": name if is_name(name) else False,
        "agent_id": agent_id if agent_id is None or is_id(agent_id) else False,
        "reuse": reuse
        if reuse is None or isinstance(reuse, bool)
        else 0,  # no boolean: refused with the rest
    }


def is_name(name: Json) -> bool:
    return isinstance(name, str) and bool(name.strip()) and len(name) <= MAX_NAME


def no_rows() -> Refused:
    return Refused([Problem(path="/rows", message="there are no rows", hint=NO_ROWS_HINT)], "the dataset")


def refuse_unknown(body: JsonObject, known: tuple[str, ...], what: str) -> None:
    problems: list[Problem] = []
    Fields(body, "", problems).refuse_unknown(known)
    if problems:
        raise Refused(problems, what)
