"""The rubric: the author's own lines for a judge model or a person, which no check can decide."""

from dataclasses import dataclass
from typing import Any

from pipelines.core.text.authored import Fields, as_list, kind
from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.text.stored import known_fields
from pipelines.wire.records import Record

MOST_LINES = 30  # each is a question to the judge, and all of them are asked at once
LONGEST_LINE = 2_000  # characters
LONGEST_NAME = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class RubricLine(Record):
    """Something that must be true of a run, in its author's words."""

    id: str
    text: str

    @classmethod
    def from_stored(cls, entry: Any) -> "RubricLine":
        return cls(**known_fields(cls, entry))


def read_rubric(axes: Fields) -> tuple[RubricLine, ...]:
    """Strings or `{id, text}`; a string is named by its place."""
    axis = "rubric"
    if not axes.has(axis):
        return ()
    entries = as_list(axes.get(axis), axes.at(axis), axes.problems, f"`{axis}`") or ()
    if len(entries) > MOST_LINES:
        axes.refuse(axis, f"`rubric` has {len(entries):,} lines; at most {MOST_LINES} are allowed")
        return ()
    read: dict[str, RubricLine] = {}
    for index, entry in enumerate(entries):
        place = axes.at(axis) + pointer([index])
        line = _read_line(entry, index, place, axes.problems)
        if line is not None and line.id in read:
            axes.problems.append(Problem(path=place, message=f"two lines have the id `{line.id}`"))
        if line is not None:
            read[line.id] = line
    return tuple(read.values())


def _read_line(entry: Json, index: int, path: str, problems: list[Problem]) -> RubricLine | None:
    if isinstance(entry, str):
        entry = {"id": f"line_{index + 1}", "text": entry}
    if not isinstance(entry, dict):
        message = f"a line of the rubric is a string or {{id, text}}, not {kind(entry)}"
        problems.append(Problem(path=path, message=message, hint='"Names the day of the refund."'))
        return None
    parts = Fields(entry, path, problems)
    parts.refuse_unknown(("id", "text"))
    parts.require("id")
    parts.require("text")
    id, text = parts.text("id", longest=LONGEST_NAME), parts.text("text", longest=LONGEST_LINE)
    return RubricLine(id=id, text=text) if id is not None and text is not None else None
