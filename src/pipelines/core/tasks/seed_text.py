"""A seed encoded as text, to pass it from the process that read it to the one that stores it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from pipelines.core.tasks.seed import CONVERSATION, Seed
from pipelines.core.tasks.task_key import content_hash, oracle_hash, world_hash_of
from pipelines.core.text.json_text import JsonObject, dumps, loads_own


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedText:
    """As much of a `Seed` as storing it takes."""

    turn_mode: str
    simulator_mode: str
    content_hash: str  # of what it asks, and
    oracle_hash: str  # of what counts as right: see core.task_key
    text: bytes = b""

    @property
    def is_conversation(self) -> bool:
        return self.turn_mode == CONVERSATION

    def as_json(self) -> JsonObject:
        body = loads_own(self.text)
        assert isinstance(body, dict)
        return body


def encode_seed(seed: Seed) -> bytes:
    """What `parse_seed_text` reads."""
    body = seed.as_json()
    hashes = f"{content_hash(body, world_hash_of(body))} {oracle_hash(body)}"
    return f"{seed.turn_mode} {seed.simulator_mode} {hashes}\n".encode() + dumps(body)


def parse_seed_text(written: bytes) -> SeedText:
    head, _, text = written.partition(b"\n")
    turn_mode, simulator_mode, content, oracle = head.decode().split(" ")
    return SeedText(
        turn_mode=turn_mode,
        simulator_mode=simulator_mode,
        content_hash=content,
        oracle_hash=oracle,
        text=text,
    )


class EncodedSeeds(Sequence[Seed]):
    """Seeds that are kept as the texts they will be stored as, and read again whenever one is looked at."""

    def __init__(self, seeds: Iterable[Seed]) -> None:
        self._written = list(map(encode_seed, seeds))

    def __len__(self) -> int:
        return len(self._written)

    @overload
    def __getitem__(self, index: int) -> Seed: ...
    @overload
    def __getitem__(self, index: slice) -> list[Seed]: ...
    def __getitem__(self, index: int | slice) -> Seed | list[Seed]:
        if isinstance(index, slice):
            return [_decode_seed(written) for written in self._written[index]]
        return _decode_seed(self._written[index])

    def handed_over(self) -> Iterator[bytes]:
        """Each text for the last time."""
        self._written.reverse()
        while self._written:
            yield self._written.pop()


def _decode_seed(written: bytes) -> Seed:
    return Seed.from_stored(parse_seed_text(written).as_json())
