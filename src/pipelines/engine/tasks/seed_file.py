"""The seeds of a large upload between their check and their store: as texts in a file, read one by one."""

from collections.abc import Sequence
from typing import overload

from pipelines.core.tasks.seed_text import SeedText, parse_seed_text
from pipelines.processes.parts_in_file import PartsInFile


class SeedsFile(Sequence[SeedText]):
    """What the job `upload_rows` gave: a part for each seed, and one more."""

    def __init__(self, parts: PartsInFile) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts) - 1

    @overload
    def __getitem__(self, index: int) -> SeedText: ...
    @overload
    def __getitem__(self, index: slice) -> list[SeedText]: ...
    def __getitem__(self, index: int | slice) -> SeedText | list[SeedText]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [parse_seed_text(self._parts[place]) for place in places]
        return parse_seed_text(self._parts[places])
