"""Behaviour texts against sentences by strangers: read and right, read and wrong, or reported.

`python tests/blind/sentence_scores.py` prints the figures. A sentence is reported when the simulator names
it, at upload or in the plan of a tool, as not enforced; a call that goes worse for it than without it makes
it wrong all the same. The sets measure translators; the published language is for those who write for it.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.simulation.sentences import shown_sentences
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.text.json_text import Json
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema

HERE = Path(__file__).parent
FOURTEENTH, FIFTEENTH = HERE / "sentences_fourteenth", HERE / "sentences_fifteenth"
REWRITTEN = HERE / "rewritten_sentences.json"
AS_WITHOUT = "without the sentence too: "  # a fault of the tool's own plan


class Scored(NamedTuple):
    trade: str
    sentence: dict[str, Any]
    outcome: str  # right, wrong or reported
    why: str


def scored(folder: Path) -> Iterator[Scored]:
    for path in sorted(folder.glob("*.json")):
        body = json.loads(path.read_text())
        tools = parse_tools_schema(body["tools"])
        world = World.from_initial_state(body["world"])
        plain = [*_failing(body, build_simulator(tools, world=world), world)]
        for sentence, already in zip(body["sentences"], plain, strict=True):
            outcome, why = _outcome(sentence, tools, world, body["now"], already)
            yield Scored(path.stem, sentence, outcome, why)


def scored_sentence(
    body: dict[str, Any], sentence: dict[str, Any], rules: Sequence[Json] | None = None
) -> Scored:
    """One sentence of a set; with rules, as their translation of it is in force."""
    tools, world = parse_tools_schema(body["tools"]), World.from_initial_state(body["world"])
    (already,) = _failing(body | {"sentences": [sentence]}, build_simulator(tools, world=world), world)
    outcome, why = _outcome(sentence, tools, world, body["now"], already, rules)
    return Scored(body["trade"], sentence, outcome, why)


def _failing(body: dict[str, Any], simulator: PlannedSimulator, world: World) -> Iterator[frozenset[int]]:
    """For each sentence, the cases that fail although no sentence is in force."""
    for sentence in body["sentences"]:
        cases = enumerate(sentence.get("cases", ()))
        yield frozenset(at for at, case in cases if _fault(case, simulator, world, body["now"]))


def _outcome(
    sentence: dict[str, Any],
    tools: tuple[Tool, ...],
    world: World,
    now: str,
    already: frozenset[int],
    rules: Sequence[Json] | None = None,
) -> tuple[str, str]:
    simulator = build_simulator(tools, world=world, behavior=sentence["text"])
    if rules is not None:
        simulator = simulator.translated_as(sentence["text"], rules)
    reported = _report(simulator)
    if not sentence["enforceable"]:
        return ("right", reported) if reported else ("wrong", "it is enforced, which nothing can")
    faults = {
        at: fault
        for at, case in enumerate(sentence["cases"])
        if (fault := _fault(case, simulator, world, now))
    }
    if not faults:
        return ("reported", reported) if reported else ("right", "")
    if not reported:
        told = next((fault for at, fault in faults.items() if at not in already), None)
        return "wrong", told or f"{AS_WITHOUT}{next(iter(faults.values()))}"
    new = [fault for at, fault in faults.items() if at not in already]
    return ("wrong", f"reported, and yet: {new[0]}") if new else ("reported", reported)


def _report(simulator: PlannedSimulator) -> str:
    """What the simulator itself says it does not enforce."""
    told = [*simulator.not_understood, *simulator.uniform]
    for plan in simulator.plans.values():
        told += [note for note in plan.notes if "not enforced" in note]
    return told[0] if told else ""


def rewritten(attempt: int) -> Iterator[Scored]:
    """Sixty sentences of both sets that are not read, as people wrote them anew who had only the reference
    page: their first try, or the last of up to three."""
    for one in json.loads(REWRITTEN.read_text()):
        body = json.loads((HERE / f"sentences_{one['set']}" / f"{one['trade']}.json").read_text())
        tools, world = parse_tools_schema(body["tools"]), World.from_initial_state(body["world"])
        sentence = next(each for each in body["sentences"] if each["id"] == one["id"])
        plain = build_simulator(tools, world=world)
        cases = enumerate(sentence["cases"])
        already = frozenset(at for at, case in cases if _fault(case, plain, world, body["now"]))
        told = sentence | {"text": one["tries"][attempt]}
        outcome, why = _outcome(told, tools, world, body["now"], already)
        yield Scored(one["trade"], told, outcome, why)


# -- suggestions


class Suggested(NamedTuple):
    trade: str
    sentence: dict[str, Any]
    suggestions: list[tuple[str, str, str]]  # each as it would be pasted, what it leaves out, and an outcome

    @property
    def is_helped(self) -> bool:
        return any(outcome == "right" for _, _, outcome in self.suggestions)


def suggested(folder: Path) -> Iterator[Suggested]:
    """For each sentence that is not read and could be enforced, what is suggested in its place: right, wrong,
    or uniform in the seeded world."""
    for path in sorted(folder.glob("*.json")):
        body = json.loads(path.read_text())
        tools, world = parse_tools_schema(body["tools"]), World.from_initial_state(body["world"])
        for sentence in body["sentences"]:
            simulator = build_simulator(tools, world=world, behavior=sentence["text"])
            if not sentence["enforceable"] or not simulator.unread:
                continue
            said: list[tuple[str, str]] = []
            for shown in shown_sentences(simulator):
                stop: Any = shown["not_read"]
                said += [
                    (one["sentence"], one.get("drops", "")) for one in (stop or {}).get("suggestions", ())
                ]
            found = [
                (text, drops, _pasted(sentence, text, tools, world, body["now"])) for text, drops in said
            ]
            yield Suggested(path.stem, sentence, found)


def _pasted(sentence: dict[str, Any], text: str, tools: tuple[Tool, ...], world: World, now: str) -> str:
    simulator = build_simulator(tools, world=world, behavior=text)
    if simulator.uniform or simulator.not_understood:
        return "uniform"
    return "wrong" if any(_fault(case, simulator, world, now) for case in sentence["cases"]) else "right"


# -- one case


def _fault(case: dict[str, Any], simulator: PlannedSimulator, world: World, now: str) -> str:
    """How the last call differs from what was expected, or nothing."""
    ledger, history = Ledger(world), CallHistory.of(simulator.remembered_tools)
    reply: SimulatedReply | None = None
    for number, call in enumerate(case["calls"], 1):
        if reply is not None and reply.status >= 400:
            return f"an earlier call was refused: {reply.response}"
        try:
            reply = simulator.answer(
                call["tool"], call["arguments"], ledger, Moment("s", number, now, history)
            )
        except SimulationFailed as failed:
            return f"{call['tool']} has no answer: {failed}"
        ledger.apply(reply.updates)
        if history is not None and reply.status < 400:
            history.add(call["tool"], call["arguments"])
    assert reply is not None
    faults = (*_refusal_faults(case["expect"], reply), *_reply_faults(case, reply))
    return next(iter((*faults, *_change_faults(case, ledger))), "")


def _refusal_faults(expect: dict[str, Any], reply: SimulatedReply) -> Iterator[str]:
    if bool(expect.get("refused")) != (reply.status >= 400):
        yield f"{'not refused' if expect.get('refused') else 'refused'}: {reply.status} {reply.response}"
    elif expect.get("refused"):
        error: Any = reply.response.get("error", {}) if isinstance(reply.response, dict) else {}
        code = error.get("code") if isinstance(error, dict) else error
        if "status" in expect and expect["status"] != reply.status:
            yield f"status {reply.status} instead of {expect['status']}"
        if "code" in expect and expect["code"] != code:
            yield f"code {code} instead of {expect['code']}"


def _reply_faults(case: dict[str, Any], reply: SimulatedReply) -> Iterator[str]:
    for name, value in case.get("reply", {}).items():
        if not any(name in part and _same(part[name], value) for part in _records(reply.response)):
            yield f"{name} is not {value!r} in {str(reply.response)[:300]}"
    if not {"ids", "not_ids", "order", "count"} & set(case):
        return
    listed = [*_listed(reply.response)]
    ids = [_id_of(row) for row in listed]
    if missing := set(case.get("ids", ())) - set(ids):
        yield f"{sorted(missing)} are not listed in {ids}"
    if extra := set(case.get("not_ids", ())) & set(ids):
        yield f"{sorted(extra)} are listed"
    wanted = case.get("order", [])
    if [one for one in ids if one in wanted] != wanted:
        yield f"the order is {ids}"
    if case.get("count", len(listed)) != len(listed):
        yield f"{len(listed)} are listed"


def _change_faults(case: dict[str, Any], ledger: Ledger) -> Iterator[str]:
    for change in case.get("changes", ()):
        attrs: Mapping[str, Any] = ledger.get(change["type"], change["id"]) or {}
        value: Any = attrs
        for key in change["field"].split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if not _same(value, change["value"]):
            yield f"{change['type']} {change['id']} {change['field']} is {value!r} afterwards"


def _same(left: Any, right: Any) -> bool:
    numbers = (int, float)
    if isinstance(left, numbers) and isinstance(right, numbers) and not isinstance(left, bool):
        return abs(left - right) < 1e-9
    return bool(left == right)


def _records(response: Json) -> Iterator[dict[str, Any]]:
    """The reply itself, and the record in it."""
    if isinstance(response, dict):
        yield response
        yield from (part for part in response.values() if isinstance(part, dict))


def _listed(response: Json) -> list[Any]:
    if isinstance(response, list):
        return response
    parts = response.values() if isinstance(response, dict) else ()
    return next((part for part in parts if isinstance(part, list)), [])


def _id_of(row: Any) -> str:
    if not isinstance(row, dict):
        return str(row)
    named = (value for name, value in row.items() if name == "id" or name.endswith("_id"))
    return str(row.get("id", next(named, "")))


# -- figures


def figures(all_scored: list[Scored]) -> str:
    """`right / wrong / reported`, as counts and shares."""
    table = Counter(one.outcome for one in all_scored)
    every = len(all_scored) or 1
    return " / ".join(f"{table[name]} ({table[name] / every:.1%})" for name in ("right", "wrong", "reported"))


def suggestion_figures(all_suggested: list[Suggested]) -> str:
    table = Counter(outcome for one in all_suggested for _, _, outcome in one.suggestions)
    helped, every = sum(one.is_helped for one in all_suggested), len(all_suggested) or 1
    table["wrong and said to leave nothing out"] = sum(
        (outcome == "wrong" and not drops) for one in all_suggested for _, drops, outcome in one.suggestions
    )
    return f"{helped} of {every} sentences helped ({helped / every:.1%}); suggestions {dict(table)}"


def main() -> None:
    if "--suggestions" in sys.argv:
        for folder in (FOURTEENTH, FIFTEENTH):
            print(folder.name, suggestion_figures([*suggested(folder)]))
        return
    print("right / wrong / reported")
    for folder in (FOURTEENTH, FIFTEENTH):
        found = [*scored(folder)]
        enforceable = [one for one in found if one.sentence["enforceable"]]
        print(f"{folder.name} {len(found)}  {figures(found)}; enforceable ones {figures(enforceable)}")
    print(f"rewritten, first try {figures([*rewritten(0)])}; last try {figures([*rewritten(-1)])}")


if __name__ == "__main__":
    main()
