"""Checks of behaviour texts: how each sentence is read, over every world that the tasks start from."""

from collections.abc import Iterator
from typing import Any

from pipelines.cli.doctor.findings import Finding, ok, warning
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.sentences import (
    MOST_SUGGESTED,
    calls_in_words,
    nearest,
    shown_findings,
    shown_sentences,
    unenforced,
)
from pipelines.core.text.json_text import JsonObject, dumps

PLANS = "plans"
SENTENCES = "sentences"
MOST_SENTENCES = 20  # of each kind
TEXT_COLUMNS = 80 - len("warning  sentences  : ")  # columns beside the level and the check
REPHRASE_HINT = "say it in other words (docs/reference/behavior.md), or write a `simulation`"


class ReadSentences:
    """Collects over all worlds how each sentence was read."""

    def __init__(self) -> None:
        self._read: dict[str, JsonObject] = {}
        self._unenforced: dict[str, tuple[int, str | None]] = {}  # in words: the first row, and suggestions
        self._uniform: dict[tuple[str, str], int] = {}  # sentences and how they come out: in how many worlds
        self._wrong: dict[str, None] = {}
        self._worlds = 0

    def look_at(self, row: int, simulator: PlannedSimulator, now: str | None) -> None:
        self._worlds += 1
        reports = shown_sentences(
            simulator,
            most_suggested=MOST_SUGGESTED - len(self._unenforced),
            most_by_calls=MOST_SENTENCES - len(self._read),
            now=now,
        )
        for one in reports:
            if one["rules"]:
                self._read.setdefault(str(one["sentence"]), one)
        hints = {str(one["sentence"]): nearest(one) for one in reports}
        for sentence, words, _ in unenforced(simulator):
            self._unenforced.setdefault(words, (row, hints.get(sentence)))
        for line in simulator.uniform.items():
            self._uniform[line] = self._uniform.get(line, 0) + 1
        self._wrong |= {str(one["says"]): None for one in shown_findings(simulator)}

    def findings(self) -> Iterator[Finding]:
        for report in [*self._read.values()][:MOST_SENTENCES]:
            yield ok(SENTENCES, _format_reading(report))
        for words, (row, hint) in [*self._unenforced.items()][:MOST_SENTENCES]:
            yield warning(PLANS, f"row {row}, {words}", hint or REPHRASE_HINT)
        everywhere = [one for one, seen_in in self._uniform.items() if seen_in == self._worlds]
        for sentence, how in everywhere[:MOST_SENTENCES]:
            change = "check in the plan how it was read, and seed a record on each side of it"
            yield warning(PLANS, f"“{sentence}”: {how}", change)
        for says in [*self._wrong][:MOST_SENTENCES]:
            yield warning(PLANS, says, "change or remove one of the rules")


def _format_reading(shown: JsonObject) -> str:
    body: Any = shown
    typed = "; ".join(dumps(one).decode() for one in body["rules"])
    first = f"“{body['sentence']}” is read as “{' '.join(body['read_as'])}”: {typed}"
    calls = (one for example in body.get("examples", ()) for one in calls_in_words(example, TEXT_COLUMNS))
    return "\n".join((first, *(f"{word}: {call}" for word, call in calls)))
