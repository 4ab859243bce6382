"""Notes on what was read differently from how a file writes it: each sentence once, with its rows."""

from itertools import groupby

MOST_RANGES = 8  # of rows named in one note


class Notes:
    def __init__(self, word: str = "row") -> None:
        self._word = word  # what a task's number counts: row, line or task
        self._rows: dict[str, list[int]] = {}

    def say(self, sentence: str, row: int | None = None) -> None:
        rows = self._rows.setdefault(sentence, [])
        if row is not None:
            rows.append(row)

    def texts(self) -> tuple[str, ...]:
        return tuple(
            f"{self._named(rows)}: {sentence}" if rows else sentence for sentence, rows in self._rows.items()
        )

    def _named(self, rows: list[int]) -> str:
        word = self._word.capitalize()
        return f"{word} {rows[0]}" if len(rows) == 1 else f"{word}s {ranges(rows)}"


def ranges(numbers: list[int]) -> str:
    """`2 to 5, 9 and 12`: ascending numbers as a person would list them."""
    spans: list[str] = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        several = [number for _, number in run]
        if len(several) > 2:
            spans.append(f"{several[0]} to {several[-1]}")
        else:
            spans += map(str, several)
    if len(spans) > MOST_RANGES:
        return f"{', '.join(spans[:MOST_RANGES])} and others"
    return f"{', '.join(spans[:-1])} and {spans[-1]}" if len(spans) > 1 else spans[0]
