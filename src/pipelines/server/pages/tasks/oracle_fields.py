"""The fields of an oracle in a form: a choice, and a field of JSON for every other axis."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from fastapi import Request

from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.core.tasks.seed import EXPECTED_OUTCOMES
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.server.pages.form_fields import read_json_text
from pipelines.web.pretty_json import pretty_json

OUTCOME = "expected_outcome"
#: The axes that hold JSON, each with the hint of its field.
DOCUMENTS = {
    "expected_state": "Values after the run, by path. Any other change fails the run.",
    "expected_calls": "Calls that the agent must make, or must not make.",
    "expected_answer": "Values that a correct answer must state, by name.",
    "tracked_constraints": "Rules that the agent must keep, each with a check that decides it.",
    "rubric": "Lines that a judge reads where no other check decides.",
}
OUTCOMES = [("", "not said"), *((each, each.replace("_", " ")) for each in EXPECTED_OUTCOMES)]
LEAST_ROWS, MOST_ROWS = 3, 20


class DocumentField(NamedTuple):
    name: str
    hint: str
    value: str
    rows: int


def document_fields(typed: Mapping[str, str], axes: Collection[str] = ORACLE_AXES) -> list[DocumentField]:
    return [
        DocumentField(name, hint, typed.get(name, ""), _rows(typed.get(name, "")))
        for name, hint in DOCUMENTS.items()
        if name in axes
    ]


def filled(axes: JsonObject) -> dict[str, str]:
    """The texts of the fields for this oracle."""
    return {axis: axis_text(value) for axis, value in axes.items() if value is not None}


def axis_text(value: Json) -> str:
    return value if isinstance(value, str) else pretty_json(value)


async def read_oracle_form(
    request: Request, typed: Mapping[str, str], axes: Collection[str] = ORACLE_AXES
) -> JsonObject:
    """The body for the API; an empty field takes its axis away. Raises Refused with every field that is not
    JSON."""
    body: JsonObject = {OUTCOME: typed.get(OUTCOME) or None}
    problems: list[Problem] = []
    for name in (name for name in DOCUMENTS if name in axes):
        try:
            text = typed.get(name, "").strip()
            body[name] = await read_json_text(request, text, f"/{name}") if text else None
        except Refused as refused:
            problems += refused.problems
    if problems:
        raise Refused(problems, "the form")
    note = typed.get("note", "").strip()
    return body | ({"note": note} if note else {})


def _rows(text: str) -> int:
    return max(LEAST_ROWS, min(MOST_ROWS, text.count("\n") + 2))
