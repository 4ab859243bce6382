"""A conversation as its simulated user sees it, and what that user answers."""

import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.persona.facts import Fact, facts_in
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject

USER, SERVICE = "you", "them"


class Line(NamedTuple):
    by: str  # USER or SERVICE
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """What was said so far: the service's last words stand at the end."""

    opening: str  # the seed's user text, verbatim
    persona: str | None
    facts: tuple[Fact, ...]
    lines: tuple[Line, ...]
    today: str  # the day in the run's world
    turns_left: int
    #: Never shown to the user, only looked for in its words.
    behavior: str | None = None

    @classmethod
    def of(cls, seed: Seed, lines: tuple[Line, ...], *, today: str, turns_left: int) -> "Talk":
        return cls(
            opening=seed.user_instruction,
            persona=seed.user_simulator_persona,
            facts=facts_in(seed.user_simulator_persona),
            lines=lines,
            today=today,
            turns_left=turns_left,
            behavior=seed.behavior_instructions,
        )

    @property
    def last_of_service(self) -> str:
        return next((line.text for line in reversed(self.lines) if line.by == SERVICE), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class UserWords:
    """What the model answers: the user's next words, and whether they are the last."""

    message: str
    stop: bool
    reason: str
    facts_used: tuple[str, ...]

    @property
    def says_something(self) -> bool:
        """ "…" says nothing; "?" and a thumb do."""
        return any(unicodedata.category(each)[0] in "LNS" or each in "?!" for each in self.message)

    @classmethod
    def from_answer(cls, data: JsonObject) -> "UserWords":
        """Of an answer that fits the schema."""
        used = data["facts_used"]
        return cls(
            message=str(data["message"]).strip(),
            stop=data["stop"] is True,
            reason=str(data["reason"]),
            facts_used=tuple(map(str, used)) if isinstance(used, list) else (),
        )
