"""What a judge model is shown of a run: one JSON value of bounded size, with what was left out said in it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from pipelines.core.matchers.matching import Actual, Missing
from pipelines.core.oracles.paths import path_text
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.verdict.changes import Change, changes
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.model_judge.rubric import Criterion, CriterionKind, is_hint
from pipelines.core.verdict.model_judge.touched_records import TouchedRecord, touched_records
from pipelines.core.verdict.verdict import Finding, UnverifiedClaim, Verdict, in_order

# Characters. All of it together stays under 300,000: some 75,000 tokens, and most runs have a tenth.
LONGEST_RESPONSE = 50_000  # the final one: as much as an agent may say
LONGEST_TURNS = 40_000  # all turns before it
LONGEST_AUTHORED = 20_000  # each of the author's texts
LONGEST_TRACE = 60_000
LONGEST_VALUE = 3_000  # arguments, a reply, a payload of one row
LONGEST_CHANGED = 500  # a value before or after
MOST_CHANGES = 200
LONGEST_RECORDS = 30_000  # all of them, each side counted
MOST_FINDINGS = 100
MOST_RULES = 100
MOST_TOOLS = 100
LONGEST_SENTENCE = 600
#: Kinds of rows that are no deed of the agent and nothing that it was told.
_OMITTED_KINDS = ("thinking", "system_prompt", "model_call")


class RunExcerpt(NamedTuple):
    data: JsonObject
    rows: frozenset[int]  # the sequences that are in it
    existing: frozenset[int]
    cuts: tuple[str, ...]  # what is not, for whoever reads the verdict
    changed_by: tuple[int, ...]


def run_excerpt(
    evidence: RunEvidence, verdict: Verdict, criteria: Sequence[Criterion], user_turns: Sequence[str]
) -> RunExcerpt:
    cuts: list[str] = []
    cited = {row for finding in verdict.findings for row in finding.evidence}
    rows = [row for row in evidence.trace if row.kind not in _OMITTED_KINDS]
    kept, left_out = _select_rows(
        [_row(row, evidence) for row in rows], [row.sequence for row in rows], cited
    )
    numbers = frozenset(int(str(row["sequence"])) for row in kept)
    if left_out:
        ranges = ", ".join(f"{low} to {high}" if low != high else str(low) for low, high in left_out)
        cuts.append(f"trace rows {ranges}")
        hidden = sorted(cited - numbers)
        cuts += [f"rows that findings rest on: {', '.join(map(str, hidden))}"] if hidden else []
    changed = changes(evidence)
    records, hidden_records = _select_records(touched_records(evidence))
    data: JsonObject = {
        "task": _task(evidence),
        "rules": [cut_middle(rule, LONGEST_SENTENCE) for rule in evidence.rules[:MOST_RULES]],
        "claims": _lines(criteria, CriterionKind.CLAIM, LONGEST_VALUE),
        "constraints": _lines(criteria, CriterionKind.CONSTRAINT, LONGEST_AUTHORED),
        "rubric": _lines(criteria, CriterionKind.RUBRIC, LONGEST_AUTHORED),
        "tools": [
            {"name": tool.name, "description": cut_middle(tool.description or "", LONGEST_SENTENCE)}
            for tool in evidence.tools[:MOST_TOOLS]
        ],
        "trace": [*kept],
        "left_out": [f"row {low} to {high}" for low, high in left_out],
        "records": [*records],
        "ledger_changes": [_change(change) for change in changed[:MOST_CHANGES]],
        "conversation": list(_conversation(evidence, user_turns)),
        "final_response": cut_middle(evidence.final_response, LONGEST_RESPONSE),
        "findings": _notes(finding for finding in verdict.findings if not is_hint(finding)),
        "hints": _notes(finding for finding in verdict.findings if is_hint(finding)),
        "unverified": _notes(verdict.unverified),
    }
    if len(changed) > MOST_CHANGES:
        data["more_ledger_changes"] = len(changed) - MOST_CHANGES
        cuts.append(f"{len(changed) - MOST_CHANGES:,} ledger changes")
    if hidden_records:
        data["more_records"] = [f"{record.kind} {cut_middle(record.id, 200)}" for record in hidden_records]
        cuts.append(f"{len(hidden_records):,} records that the run touched")
    if len(evidence.rules) > MOST_RULES:
        data["more_rules"] = len(evidence.rules) - MOST_RULES
        cuts.append(f"{len(evidence.rules) - MOST_RULES:,} rules")
    existing = frozenset(row.sequence for row in evidence.trace)
    by = in_order(row.sequence for change in changed for row in change.rows)
    return RunExcerpt(data, numbers, existing, tuple(cuts), by)


def _task(evidence: RunEvidence) -> JsonObject:
    return {
        "user_instruction": cut_middle(evidence.user_instruction, LONGEST_AUTHORED),
        "behavior_instructions": cut_middle(evidence.behavior_instructions or "", LONGEST_AUTHORED) or None,
        "expected_outcome": evidence.expected_outcome or "not stated",
        "task_input": _value(evidence.task_input),
        "now": evidence.now,
    }


def _lines(criteria: Sequence[Criterion], kind: CriterionKind, longest: int) -> list[Json]:
    """The words that the numbered criteria are about."""
    found = [criterion for criterion in criteria if criterion.kind is kind]
    return [{"id": criterion.id, "text": cut_middle(criterion.text, longest)} for criterion in found]


def _row(row: EvidenceRow, evidence: RunEvidence) -> JsonObject:
    evidence.keep_going()
    body: JsonObject = {"sequence": row.sequence, "kind": row.kind}
    if row.is_call:
        body |= {"tool": row.tool, "arguments": _value(row.arguments), "response": _value(row.response)}
        body |= {"source": row.source, "http_status": row.http_status}
        body |= {"refused_with": row.error_code} if row.error_code is not None else {}
        if row.matched_rule is not None:
            body |= {"matched_rule": cut_middle(row.matched_rule, LONGEST_SENTENCE)}
        body |= {"injected_failure": True} if row.is_injected_failure else {}
        body |= {"not_the_agents_fault": True} if row.is_our_fault else {}
    else:
        body |= {"payload": _value(row.payload)}
    return body | ({"actor": row.actor_id} if row.actor_id is not None else {})


def _select_rows(
    rows: list[JsonObject], numbers: list[int], cited: set[int]
) -> tuple[list[JsonObject], list[tuple[int, int]]]:
    """As many rows as there is room for: what findings rest on first, then from both ends. What is left out
    comes as ranges of sequences."""
    sizes = [len(dumps(row)) for row in rows]
    room, chosen = LONGEST_TRACE, set[int]()
    if sum(sizes) <= room:
        return rows, []
    first = [place for place, number in enumerate(numbers) if number in cited]
    ends = [place for step in range((len(rows) + 1) // 2) for place in (step, len(rows) - 1 - step)]
    for place in [*first, *ends]:
        if place in chosen:
            continue
        if sizes[place] > room:
            if place not in first:
                break
            continue
        chosen.add(place)
        room -= sizes[place]
    hidden = [number for place, number in enumerate(numbers) if place not in chosen]
    return [rows[place] for place in sorted(chosen)], _ranges(hidden, numbers)


def _ranges(hidden: list[int], numbers: list[int]) -> list[tuple[int, int]]:
    """Runs of neighbours: what is not shown at all lies in none of them."""
    places = {number: place for place, number in enumerate(numbers)}
    found: list[tuple[int, int]] = []
    for number in hidden:
        if found and places[number] == places[found[-1][1]] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _select_records(touched: Sequence[TouchedRecord]) -> tuple[list[JsonObject], list[TouchedRecord]]:
    """As many as there is room for, and the others."""
    records: list[JsonObject] = []
    hidden: list[TouchedRecord] = []
    room_left = LONGEST_RECORDS
    for record in touched:
        body = _record(record)
        room_left -= len(dumps(body))
        if room_left >= 0 and not hidden:
            records.append(body)
        else:
            hidden.append(record)
    return records, hidden


def _record(record: TouchedRecord) -> JsonObject:
    body: JsonObject = {"type": record.kind, "id": record.id, "before": _record_side(record.before)}
    return body | ({"after": _record_side(record.after)} if record.is_changed else {})


def _record_side(attributes: JsonObject | None) -> Json:
    return "(nothing)" if attributes is None else _value(attributes)


def _change(change: Change) -> JsonObject:
    return {
        "path": path_text(change.path),
        "before": _change_side(change.before),
        "after": _change_side(change.after),
        "rows": [row.sequence for row in change.rows],
    }


def _change_side(value: Actual) -> Json:
    return "(nothing)" if isinstance(value, Missing) else _value(value, LONGEST_CHANGED)


def _conversation(evidence: RunEvidence, user_turns: Sequence[str]) -> Iterator[JsonObject]:
    """What was said before the final response; nothing for a single turn."""
    turns = max(len(user_turns), len(evidence.responses))
    if turns < 2:
        return
    longest = max(500, LONGEST_TURNS // (2 * turns))
    for turn in range(turns):
        if turn < len(user_turns):
            yield {"turn": turn + 1, "user": cut_middle(user_turns[turn], longest)}
        if turn < len(evidence.responses) - 1:
            yield {"turn": turn + 1, "agent": cut_middle(evidence.responses[turn], longest)}


def _notes(notes: Iterable[Finding | UnverifiedClaim]) -> list[Json]:
    return [_note(note) for note in islice(notes, MOST_FINDINGS)]


def _note(note: Finding | UnverifiedClaim) -> JsonObject:
    return {
        name: cut_middle(value, LONGEST_SENTENCE) if isinstance(value, str) else value
        for name, value in note.as_json().items()
    }


def _value(value: Json, longest: int = LONGEST_VALUE) -> Json:
    """As it is, or the beginning and the end of its text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else dumps(value).decode()
    return value if len(text) <= longest else {"cut": cut_middle(text, longest)}


def cut_middle(text: str, longest: int) -> str:
    """With a hole in the middle, which says how much is missing."""
    if len(text) <= longest:
        return text
    head = longest * 2 // 3
    tail = longest - head
    return f"{text[:head]} […{len(text) - longest:,} characters left out…] {text[-tail:]}"
