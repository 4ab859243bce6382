"""Who makes the world and the rows of a seed session: the one place where another author comes in.

An author proposes. Its worlds are checked and described, and its rows are proved on the frozen world, before
anything of them is stored; so what a session does is the same whoever the author is.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pipelines.core.text.json_text import JsonObject
from pipelines.engine.model_calls.ask_models import Asker
from pipelines.storage.tasks.seed_rows import NewRow, SeedBucket
from pipelines.storage.tasks.texts import Text


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionBrief:
    """What an author knows of a session."""

    org_id: int
    definition_text: str  # the agent's
    behavior: str | None
    instructions: str | None
    size: str
    axes: tuple[str, ...]
    now: str  # what time it is in the world
    asker: Asker | None = None  # who pays, where a model is the author

    def agent(self) -> JsonObject:
        """As the jobs of processes.world_jobs read it."""
        return {
            "definition": self.definition_text,
            "behavior": self.behavior,
            "instructions": self.instructions,
        }


class AuthoredWorld(NamedTuple):
    world: Text
    told_text: str  # what is to be told of it, as JSON: notes, advisories, its types
    changes_text: str  # how it differs from the one before, as JSON


class AuthoredRows(NamedTuple):
    """What became of some drafts, and how far the bucket is now."""

    rows: list[NewRow]
    drafted: int
    is_exhausted: bool  # there are no more drafts
    notes: tuple[str, ...]
    ended_because: str | None = None  # why there are no more, where that is known


class RowsRequest(NamedTuple):
    bucket: SeedBucket  # from its draft number `drafted` on
    rows: int
    most_drafts: int  # in this round
    rng_seed: int
    earlier_texts: list[str]
    rejected: list[tuple[str, str]]  # drafts of this round so far, each with the reason


class Author(Protocol):
    """Refused where it cannot do what is asked, with what to change. The same arguments give the same."""

    async def make_world(self, brief: SessionBrief, *, before: str, rng_seed: int) -> AuthoredWorld:
        """`before` is the text of the world that this one takes the place of; empty for the first."""

    async def refine(self, brief: SessionBrief, *, before: str, prompt: str, rng_seed: int) -> AuthoredWorld:
        """What was not asked about keeps its ids and values."""

    async def draft_rows(self, brief: SessionBrief, *, world: str, wanted: RowsRequest) -> AuthoredRows:
        """Some rows, each proved on the world or rejected: as many as a few seconds allow."""
