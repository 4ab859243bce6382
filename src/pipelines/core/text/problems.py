"""What an author got wrong, collected so that one answer names everything there is to fix."""

import re
from dataclasses import dataclass
from typing import Annotated

from pipelines.wire.records import Omitted, Record

WHOLE_FILE = "file"  # the path of what is wrong with all of it
MOST_SHOWN = 1_000  # a file with more problems than this has one cause, repeated


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem(Record):
    """One thing that is wrong with what was sent."""

    path: Annotated[str, "where, as a JSON Pointer or the name of a parameter"]
    message: str  # what is wrong
    hint: Annotated[Omitted[str | None], "what to write instead"] = None
    row: Annotated[Omitted[int | None], "of an uploaded table"] = None
    column: Omitted[str | None] = None

    def said(self) -> str:
        return said_of(self.path, self.message)


#: A message that begins with one of these speaks of the place it stands under.
_VERB = re.compile(r"(must|is|are|has|holds|can|cannot|does|unpacks|answers|names|plays|applies)\b")


def said_of(path: str, message: str) -> str:
    """Place and message as one sentence: "/name must be text", "row 3: the row has 2 cells"."""
    if path == WHOLE_FILE:
        return f"the file {message}" if _VERB.match(message) else message
    if _VERB.match(message):
        return f"{path or 'it'} {message}"
    return f"{path}: {message}" if path else message


class Refused(Exception):
    """What an author wrote cannot be taken; `problems` lists what is wrong, `total` counts all of it."""

    def __init__(self, problems: list[Problem], what: str = "the input", *, total: int | None = None) -> None:
        self.total = total if total is not None else len(problems)
        super().__init__(f"{what} has {self.total} problem{'s' if self.total != 1 else ''}")
        self.what = what
        self.problems = problems[:MOST_SHOWN]
