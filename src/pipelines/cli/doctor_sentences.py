"""Checks of behaviour texts: how each sentence is read, over every world that the tasks start from."""

from collections.abc import Iterator

from pipelines.cli.findings import Finding, doubt, fine
from pipelines.core.json_text import JsonObject, dumps
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.sentences import (
    MOST_SUGGESTED,
    shown_findings,
    shown_sentences,
    suggested,
    unenforced,
)

PLANS = "plans"
SENTENCES = "sentences"
MOST_SENTENCES = 20  # of each kind
OTHER_WORDS = "say it in other words (docs/reference/behavior.md), or write a `simulation`"


class ReadSentences:
    """What became of sentences in one world after the other."""

    def __init__(self) -> None:
        self._read: dict[str, JsonObject] = {}
        self._unenforced: dict[str, tuple[int, list[str]]] = {}  # in words: the first row, and suggestions
        self._uniform: dict[tuple[str, str], int] = {}  # sentences and how they come out: in how many worlds
        self._wrong: dict[str, None] = {}
        self._worlds = 0

    def look_at(self, row: int, simulator: PlannedSimulator) -> None:
        self._worlds += 1
        left = MOST_SUGGESTED - len(self._unenforced)
        shown = shown_sentences(simulator, most_suggested=left)
        for one in shown:
            if one["rules"]:
                self._read.setdefault(str(one["sentence"]), one)
        nearest = {str(one["sentence"]): suggested(one) for one in shown}
        for sentence, words, _ in unenforced(simulator):
            self._unenforced.setdefault(words, (row, nearest.get(sentence, [])))
        for said in simulator.uniform.items():
            self._uniform[said] = self._uniform.get(said, 0) + 1
        self._wrong |= {str(one["says"]): None for one in shown_findings(simulator)}

    def findings(self) -> Iterator[Finding]:
        for shown in [*self._read.values()][:MOST_SENTENCES]:
            yield fine(SENTENCES, _read_as(shown))
        for words, (row, nearest) in [*self._unenforced.items()][:MOST_SENTENCES]:
            change = "nearest: " + " / ".join(f"“{one}”" for one in nearest) if nearest else OTHER_WORDS
            yield doubt(PLANS, f"row {row}, {words}", change)
        everywhere = [one for one, seen_in in self._uniform.items() if seen_in == self._worlds]
        for sentence, how in everywhere[:MOST_SENTENCES]:
            change = "see in the plan how it was read, and seed a record on either side of it"
            yield doubt(PLANS, f"“{sentence}”: {how}", change)
        for says in [*self._wrong][:MOST_SENTENCES]:
            yield doubt(PLANS, says, "change or remove one of the rules")


def _read_as(shown: JsonObject) -> str:
    said, rules = shown["read_as"], shown["rules"]
    ways = " ".join(str(one) for one in said) if isinstance(said, list) else ""
    typed = "; ".join(dumps(one).decode() for one in rules) if isinstance(rules, list) else ""
    return f"“{shown['sentence']}” is read as “{ways}”: {typed}"
