"""A seed as text, on its way from the process that read it to the store: parsed there one by one."""

from dataclasses import dataclass

from pipelines.core.json_text import JsonObject, dumps, loads_own
from pipelines.core.seed import CONVERSATION, Seed


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedText:
    """As much of a `Seed` as storing it takes."""

    turn_mode: str
    simulator_mode: str
    text: bytes = b""

    @property
    def is_conversation(self) -> bool:
        return self.turn_mode == CONVERSATION

    def as_json(self) -> JsonObject:
        body = loads_own(self.text)
        assert isinstance(body, dict)
        return body


def written_seed(seed: Seed) -> bytes:
    """What `seed_text` reads."""
    return f"{seed.turn_mode} {seed.simulator_mode}\n".encode() + dumps(seed.as_json())


def seed_text(written: bytes) -> SeedText:
    head, _, text = written.partition(b"\n")
    turn_mode, _, simulator_mode = head.decode().partition(" ")
    return SeedText(turn_mode=turn_mode, simulator_mode=simulator_mode, text=text)
