"""A row as a model wrote it, made a draft: its calls are tried, and its oracle is what they came to.

A model says what it expects; the oracle is made of what the backend did, as for the embedded author's rows.
One that a model writes may be too weak to fail anybody, and nothing could tell.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.failure_rules import FailureRule, read_failure_rules
from pipelines.core.worlds.ground import Answer, Ground, called
from pipelines.core.worlds.rows.calls import Candidate
from pipelines.core.worlds.rows.oracle import (
    SOME_CALL,
    UNCHANGED,
    call_oracle,
    change_oracle,
    leaves,
    net_updates,
)
from pipelines.core.worlds.rows.prove_row import REFUSAL, is_said, prove_row, said_in
from pipelines.core.worlds.rows.tool_in_world import tool_in_world
from pipelines.core.worlds.rows.trials import Trial, refused_trial
from pipelines.core.worlds.shapes import DraftRow, Outcome, ProvedRow, ReferenceCall, RejectedRow
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.wire.names import Source

LATER = timedelta(minutes=97, seconds=13)


def proved_draft(
    body: Any, ground: Ground, *, bucket: str, now: str, earlier_texts: Collection[str]
) -> ProvedRow | RejectedRow:
    """Proved as any row is; and what the model expected must have come of its calls."""
    draft = read_draft(body, ground, bucket=bucket, now=now)
    if isinstance(draft, RejectedRow):
        return draft
    here: dict[str, Any] = {"now": now, "earlier_texts": earlier_texts, "ground": ground}
    row = prove_row(ground.toolset, ground.state, draft, **here)
    expected = expected_by_model(body)
    if isinstance(row, RejectedRow) or expected is None:
        return row
    # It may name only some of what changes: the oracle, which names all of it, is ours.
    as_said = replace(draft, expected_state=expected | {"allow": ["*"]}, expected_calls=None)
    held = prove_row(ground.toolset, ground.state, as_said, **here)
    is_wrong = isinstance(held, RejectedRow) and held.reason_code in ("oracle_not_met", "invalid_oracle")
    return replace(held, draft=draft) if is_wrong else row


def read_draft(body: Any, ground: Ground, *, bucket: str, now: str) -> DraftRow | RejectedRow:
    """`body` fits the schema that rows were asked by."""
    problems: list[Problem] = []
    names = [tool.name for tool in ground.toolset.tools]
    rules = read_failure_rules(
        body.get("failure_rules"), tools=names, path="/failure_rules", problems=problems
    )
    calls = tuple(
        ReferenceCall(tool=one["tool"], arguments=one["arguments"]) for one in body["reference_calls"]
    )
    text = str(body["user_instruction"]).strip()
    bare = DraftRow(user_instruction=text, bucket=bucket, reference_calls=calls, failure_rules=rules)
    if problems:
        reason = "; ".join(problem.said() for problem in problems[:3])
        return RejectedRow(draft=bare, reason_code="invalid_oracle", reason=reason)
    unknown = next((call.tool for call in calls if call.tool not in names), None)
    if not calls or unknown is not None:
        reason = f"there is no tool {unknown!r:.80}" if calls else "there are no reference calls"
        return RejectedRow(draft=bare, reason_code="call_failed", reason=reason)
    is_refusal = body["expected_outcome"] == REFUSAL
    return _with_oracle(bare, ground, now, is_refusal=is_refusal)


def expected_by_model(body: Any) -> JsonObject | None:
    """What it says the records will hold; None where it says nothing."""
    expected_state = body.get("expected_state")
    return (
        expected_state
        if isinstance(expected_state, dict) and expected_state and expected_state != UNCHANGED
        else None
    )


def _with_oracle(bare: DraftRow, ground: Ground, now: str, *, is_refusal: bool) -> DraftRow | RejectedRow:
    calls, rules = bare.reference_calls, bare.failure_rules
    run = ground.opened(now=now, rules=rules)
    calls_made = [called(run, call.tool, call.arguments) for call in calls]
    last = _trial(ground, calls[-1], calls_made[-1]) if is_refusal else None
    updates = net_updates(run.ledger)
    state, must = UNCHANGED, None
    if is_refusal:
        must = SOME_CALL
    elif updates:
        again = _again(calls, rules, ground, now)
        arguments = [leaf for call in calls for leaf in leaves(call.arguments)]
        found = change_oracle(updates, again, arguments, ground.world)
        if found is None:
            reason = "what the calls change is not the same each time, so nothing of it can be expected"
            return RejectedRow(draft=bare, reason_code="invalid_oracle", reason=reason)
        state = found
    else:
        # Where none succeeds, proving it says why not.
        must = call_oracle(
            [*_asked_for(bare, calls_made)]
            or [_answered(*one) for one in zip(calls, calls_made, strict=True)]
        )
    return DraftRow(
        user_instruction=bare.user_instruction,
        failure_rules=rules,
        expected_outcome=REFUSAL if is_refusal else "completion",
        expected_state=state,
        expected_calls=must,
        reference_calls=calls,
        behavior=ground.toolset.behavior,
        bucket=bare.bucket,
        tool=calls[-1].tool,
        outcome=_outcome(calls_made, last, is_changed=bool(updates)),
        about=tuple(dict.fromkeys(_about(calls, ground))),
        sentences=(last.sentence,) if last is not None and last.sentence is not None else (),
    )


def _again(
    calls: Sequence[ReferenceCall], rules: Sequence[FailureRule], ground: Ground, now: str
) -> list[Any]:
    later = (datetime.fromisoformat(now) + LATER).isoformat()
    run = ground.opened(now=later, rules=rules, name="another trial")
    for call in calls:
        called(run, call.tool, call.arguments)
    return net_updates(run.ledger)


def _trial(ground: Ground, call: ReferenceCall, answer: Answer) -> Trial | None:
    """The refused call, told apart by why: a sentence of the behaviour text, a state, nothing there."""
    own = tool_in_world(ground, call.tool).target
    given = call.arguments.get(own.name) if own is not None else None
    kind = tool_in_world(ground, call.tool).own
    is_there = kind is None or str(given) in types_in(ground.state).get(kind.name, {})
    variant = "plain" if is_there else "unknown"
    return refused_trial(ground, Candidate(call.tool, call.arguments, None, variant), answer)


def _outcome(made: Sequence[Answer], last: Trial | None, *, is_changed: bool) -> Outcome:
    if last is not None:
        return last.outcome
    if any(answer.source == Source.INJECTED for answer in made):
        return "recovered"
    return "changed" if is_changed else "answered" if made[-1].succeeded else "refused"


def _asked_for(draft: DraftRow, made: Sequence[Answer]) -> Iterator[Trial]:
    """Calls whose reply is what the user wants: those that only find an id for a later call are an agent's
    own business."""
    calls = draft.reference_calls
    for at, (call, answer) in enumerate(zip(calls, made, strict=True)):
        if not answer.succeeded or answer.source == Source.INJECTED:
            continue
        reply_values = set(map(str, said_in(answer.response)))
        later = [leaf for one in calls[at + 1 :] for leaf in leaves(one.arguments)]
        if not any(str(leaf) in reply_values and not is_said(leaf, draft.user_instruction) for leaf in later):
            yield _answered(call, answer)


def _answered(call: ReferenceCall, answer: Answer) -> Trial:
    return Trial(candidate=Candidate(call.tool, call.arguments, None), answer=answer, outcome="answered")


def _about(calls: Sequence[ReferenceCall], ground: Ground) -> Iterator[str]:
    """The records that the calls name, and those that these refer to: users speak of both."""
    kinds = types_in(ground.state)
    for leaf in (leaf for call in calls for leaf in leaves(call.arguments) if isinstance(leaf, str)):
        for kind, of_kind in kinds.items():
            if leaf in of_kind:
                yield f"{kind}/{leaf}"
                yield from _linked(of_kind[leaf], kinds)


def _linked(record: JsonObject, kinds: dict[str, dict[str, JsonObject]]) -> Iterator[str]:
    values: list[Json] = [value for value in record.values() if isinstance(value, str)]
    for kind, of_kind in kinds.items():
        yield from (f"{kind}/{value}" for value in values if value in of_kind)
