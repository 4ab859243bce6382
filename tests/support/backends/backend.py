"""A backend as the recorder sees it: its state as records, its tools as methods, and calls of a user."""

import random
from typing import Any, ClassVar

Row = dict[str, Any]


class Refusal(Exception):
    """The backend refuses a call; `body` is what it answers."""

    def __init__(self, body: Any) -> None:
        super().__init__(str(body))
        self.body = body


def tool(name: str, description: str, /, **arguments: Any) -> Row:
    """A tool; an argument is its JSON type, with `?` where it may be left out."""
    properties = {key: {"type": kind.rstrip("?")} for key, kind in arguments.items()}
    required = [key for key, kind in arguments.items() if not kind.endswith("?")]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "input_schema": schema}


class Backend:
    """Subclasses give `tools`, fill `state` and have one method for each tool."""

    tools: ClassVar[list[Row]]

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.state: dict[str, dict[str, Row]] = {}

    def likely_call(self) -> tuple[str, Row]:
        """A call that somebody who works here might make now; some are mistaken."""
        raise NotImplementedError

    def some(self, kind: str) -> str:
        """An id of that type, seldom one that is not there."""
        ids = list(self.state[kind])
        if not ids or self.chance.random() < 0.08:
            return f"{ids[0][:2] if ids else 'x'}999"
        return self.chance.choice(ids)

    def found(self, kind: str, id: str, message: str) -> Row:
        if id not in self.state[kind]:
            raise Refusal({"error": message})
        return self.state[kind][id]
