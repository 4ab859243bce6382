"""The report on each sentence of a behaviour text: how it is read or where reading stopped, problems of its
rules, and example calls."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.rules.examples import ANY_DAY, examples
from pipelines.core.simulation.rules.forms import as_json
from pipelines.core.simulation.rules.language.read import Reading
from pipelines.core.simulation.rules.language.report import canonical_sentences, reading_json
from pipelines.core.simulation.rules.language.suggest import Suggestion
from pipelines.core.simulation.rules.rule import Origin, Rule
from pipelines.core.simulation.rules.trial import try_rules
from pipelines.core.text.json_text import Json, JsonObject, dumps

DISMISSED = "dismissed"  # as the origin of a sentence: somebody decided that it is not to be enforced
MOST_SUGGESTED = 20  # sentences with suggestions in one answer: each takes up to a tenth of a second
MOST_SHOWN_BY_CALLS = 20  # sentences with examples in one answer
_SHOWN: JsonObject = {
    "origin": Origin.SENTENCE.value,
    "numbers": [],
    "not_read": None,
    "readings": [],
    "not_enforced": None,
    "uniform": None,
}


def shown_sentences(
    simulator: PlannedSimulator,
    *,
    may_read: Callable[[], bool] = lambda: True,
    most_suggested: int = MOST_SUGGESTED,
    most_by_calls: int = 0,
    now: str | None = None,
) -> list[JsonObject]:
    """Each sentence of the text once, in its order.

    So many of those that are not read get suggestions, so many of the others calls that show what they do,
    and none once `may_read` says no. `now` is the task's own time.
    """
    if not simulator.behavior_text:
        return []
    book = simulator.rule_book
    number, wanted_left, by_calls = 1 + len(book.typed), most_suggested, most_by_calls
    found: dict[str, JsonObject] = {}
    for reading in book.readings:
        numbers = range(number, number + len(reading.rules))
        number += len(reading.rules)
        if reading.sentence in found:
            continue
        wants = reading.stop is not None and wanted_left > 0 and may_read()
        wanted_left -= wants
        report = found[reading.sentence] = _sentence_json(reading, simulator, numbers, suggest=wants)
        if reading.rules and by_calls > 0 and may_read():
            by_calls -= 1
            examples_made = [*rule_examples(reading.rules, simulator, now=now, may_read=may_read)]
            # Plans that are made after the time is up have no rules.
            report["examples"] = [*examples_made] if may_read() else []
    return [*found.values()]


def _sentence_json(
    reading: Reading, simulator: PlannedSimulator, numbers: Iterable[int], *, suggest: bool
) -> JsonObject:
    book, sentence = simulator.rule_book, reading.sentence
    makes_a_difference = partial(_makes_a_difference, simulator)
    report = _SHOWN | reading_json(
        reading, book.reader, suggest=suggest, makes_a_difference=makes_a_difference
    )
    translation = book.translation_of(sentence)
    why = simulator.not_applied.get(sentence)
    ways = (Reading(sentence=sentence, rules=rules) for rules in reading.readings)
    return report | {
        "origin": _origin(reading, translation),
        "numbers": [*numbers],
        "readings": [_way(one, simulator) for one in ways],
        "not_enforced": why if reading.stop is None else None,
        "uniform": book.uniform.get(sentence),
    }


def _origin(reading: Reading, translation: Sequence[Json] | None) -> str:
    if translation is not None and not translation:
        return DISMISSED
    is_translated = any(rule.origin is Origin.TRANSLATED for rule in reading.rules)
    return (Origin.TRANSLATED if is_translated else Origin.SENTENCE).value


def _makes_a_difference(simulator: PlannedSimulator, rules: Sequence[Rule]) -> bool:
    found = try_rules(rules, simulator.vocabulary, simulator.world).rules
    return all(one.problem is None and one.uniform is None for one in found)


def _way(reading: Reading, simulator: PlannedSimulator) -> JsonObject:
    sentences: list[Json] = [*canonical_sentences(reading, simulator.rule_book.reader)]
    return {"read_as": sentences, "rules": [as_json(rule) for rule in reading.rules]}


def rule_examples(
    rules: Sequence[Rule],
    under: PlannedSimulator,
    *,
    now: str | None = None,
    may_read: Callable[[], bool] = lambda: True,
) -> Iterator[JsonObject]:
    """Calls that pass and calls that are refused or answered otherwise, for each rule of a sentence: by this
    rule, and not by the others of the sentence."""
    for rule in rules:
        without = under.without(rule)
        found = examples(rule, under.vocabulary, under, without, now=now or ANY_DAY, may_read=may_read)
        yield {"rule": as_json(rule), **found}


def shown_findings(simulator: PlannedSimulator) -> list[JsonObject]:
    """What is wrong with the rules themselves: those that can never hold, contradict each other, or do
    nothing beside another."""
    if not simulator.has_rules:
        return []
    book = simulator.rule_book
    return [
        {
            "kind": one.kind.value,
            "rules": [*one.rules],
            "says": book.finding_text(one),
            "sentence": book.rules[one.rules[0] - 1].sentence,
        }
        for one in book.findings
    ]


class Unenforced(NamedTuple):
    """A sentence that is not enforced, or only in part; for a typed rule, its canonical sentence."""

    sentence: str
    words: str  # one line, with the reason
    is_typed: bool = False


def unenforced(simulator: PlannedSimulator) -> list[Unenforced]:
    readings = simulator.rule_book.readings if simulator.behavior_text else ()
    of_text = {one.sentence: one for one in readings}
    found: list[Unenforced] = []
    for sentence, why in simulator.not_applied.items():
        reading = of_text.get(sentence)
        words = f"{_became(reading)}: {sentence} ({why})"
        found.append(Unenforced(sentence, words, is_typed=reading is None))
    return found


def _became(reading: Reading | None) -> str:
    if reading is None:
        return "rule not enforced"
    if reading.stop is None:
        return "read, but not enforced"
    return "read only in part" if reading.rules else "not understood, so not enforced"


def nearest(shown: JsonObject) -> str | None:
    """One line with the sentences that may be meant by one that is not read."""
    found = suggested(shown)
    return "nearest: " + " / ".join(one.quoted() for one in found) if found else None


def suggested(shown: JsonObject) -> list[Suggestion]:
    """The sentences that may be meant by one that is not read, each with what it leaves out."""
    stop: Any = shown.get("not_read") or {}
    entries = ({"sentence": one} if isinstance(one, str) else one for one in stop.get("suggestions", ()))
    found = (Suggestion(one["sentence"], one.get("drops", "")) for one in entries if "sentence" in one)
    return [*islice(found, 3)]


def calls_in_words(example: Any, longest: int) -> Iterator[tuple[str, str]]:
    """The calls that show a rule, each after what becomes of it: passes, refused or changed."""
    for key in ("passes", "refused"):
        for call in example.get(key, ()):
            word = key if key == "passes" or call["status"] >= 400 else "changed"
            yield word, call_in_words(call, longest - len(word))


def call_in_words(call: Any, longest: int) -> str:
    """`cancel_order {"order_id":"o-2"} → 409 conflict: order o-2 is shipped`; of a long one less is shown."""
    body, status = call["body"], call["status"]
    error = body.get("error") if isinstance(body, dict) and (status or 0) >= 400 else None
    parts = (
        [str(error[key]) for key in ("code", "message") if error.get(key)] if isinstance(error, dict) else []
    )
    came = _cut(" ".join(["→", str(status or "not made"), ": ".join(parts)]).rstrip(), longest * 2 // 3)
    before = "".join(f"{one['tool']}, then " for one in call.get("before", ()))
    text = f"{before}{call['tool']} {dumps(call['arguments']).decode()}"
    return f"{_cut(text, longest - len(came) - 1)} {came}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
