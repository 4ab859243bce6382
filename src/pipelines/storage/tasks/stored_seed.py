"""What tasks and runs have alike: a seed, kept as it was stored and read when somebody asks for it."""

from dataclasses import dataclass

from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.wire.records import Hidden


@dataclass(frozen=True, kw_only=True)  # no slots: the seed is read when first asked for, and kept
class WithSeed:
    seed_text: Hidden[str]  # as it was stored: it is shown so, copied so, and names what the run draws
    world_hash: Hidden[str | None]  # of the initial_state, which is stored apart; None where there is none

    @lazy_property
    def seed(self) -> Seed:
        """Without its initial_state."""
        return Seed.from_stored(self.odyssey_seed())

    def odyssey_seed(self) -> JsonObject:
        """What is shown of it, and hashed: to be read as `seed`."""
        stored = loads_own(self.seed_text)
        assert isinstance(stored, dict)
        return stored

    def simulated_start(self) -> str | None:
        """What time it is in its world, if it says so; known also of a seed that cannot be read as one."""
        now = self.odyssey_seed().get("now")
        return now if isinstance(now, str) else None

    def turns(self) -> int:
        """How many turns its conversation may have; known also of a seed that cannot be read as one."""
        turns = self.odyssey_seed().get("max_turns")
        return turns if isinstance(turns, int) else 1
