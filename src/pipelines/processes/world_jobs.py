"""Jobs about generated worlds and their rows: processor time that nobody else should wait for.

What several of them read begins with the world as it was, on the first line; JSON as we write it has no line
ends of its own.
"""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pipelines.core.text.json_text import Json, JsonObject, dumps, loads, loads_own
from pipelines.core.text.problems import Problem, Refused

if TYPE_CHECKING:
    from pipelines.core.agents.agent_definition import AgentDefinition
    from pipelines.core.worlds.shapes import DraftRow, ProvedRow, RejectedRow, Toolset

MOST_ADVISORIES = 200  # told; the others are counted
MOST_NOTES = 100


def make_world(data: bytes, *, agent: JsonObject, size: str, rng_seed: int, now: str) -> Iterator[bytes]:
    """A world, what is to be told of it, and how it differs from the one that `data` has."""
    from pipelines.core.worlds.make_world import make_world

    toolset = toolset_of(agent)
    world = make_world(toolset, size=_size(size), rng_seed=rng_seed, now=now)
    yield from world_parts(toolset, state_of(data), world.state, now, notes=world.notes)


def refine_world(
    data: bytes, *, agent: JsonObject, size: str, rng_seed: int, now: str, prompt: str
) -> Iterator[bytes]:
    """The world that `data` has, changed as the prompt says."""
    from pipelines.core.worlds.changes.refine import refine

    toolset, before = toolset_of(agent), state_of(data)
    refined = refine(toolset, before, prompt, rng_seed=rng_seed, now=now, size=_size(size))
    # Once more from its text: what came of it may share its parts with the world before.
    yield from world_parts(toolset, state_of(data), refined.state, now, said=refined.changes_text)


def check_pasted_world(data: bytes, *, agent: JsonObject, now: str, is_body: bool) -> Iterator[bytes]:
    """A world that somebody wrote, checked whole. First which revision they had looked at, if they say so.

    `is_body`: it stands in a request, `{state, revision?}`.
    """
    from pipelines.core.tasks.seed_session import read_revision
    from pipelines.core.text.authored import Fields

    first, _, rest = data.partition(b"\n")
    pasted = loads(rest)
    revision: Json = None
    if is_body:
        problems: list[Problem] = []
        if not isinstance(pasted, dict):
            raise Refused([Problem(path="", message="must be a JSON object")], "the body")
        fields = Fields(pasted, "", problems)
        fields.refuse_unknown(("state", "revision"))
        fields.require("state", "the world: {entity_type: {id: attributes}}")
        if problems:
            raise Refused(problems, "the body")
        revision, pasted = read_revision(pasted.get("revision")), pasted["state"]
    toolset = toolset_of(agent)
    state = checked_world(toolset, pasted)
    yield dumps(revision)
    yield from world_parts(toolset, state_of(first), state, now)


def checked_world(toolset: "Toolset", state: Json) -> JsonObject:
    """A world that was not made here; Refused with all that is wrong with it."""
    from pipelines.core.worlds.review.check_pasted import check_pasted

    _refuse_large(state)
    problems = check_pasted(toolset, state)
    if problems:
        raise Refused(problems, "the world")
    assert isinstance(state, dict)
    return state


def compare_worlds(data: bytes) -> Iterator[bytes]:
    """How the world of the second line differs from that of the first."""
    from pipelines.core.ledger.world_difference import world_difference

    first, _, second = data.partition(b"\n")
    yield dumps(world_difference(state_of(first), state_of(second)).as_json())


def world_tables(data: bytes, *, only: str | None, first: int, most: int) -> Iterator[bytes]:
    """A world as tables, some entities of each type: what a page shows of it."""
    from pipelines.core.ledger.world_tables import world_tables

    yield dumps(world_tables(state_of(data), only=only, first=first, most=most))


def make_rows(
    data: bytes,
    *,
    agent: JsonObject,
    bucket: JsonObject,
    rng_seed: int,
    now: str,
    axes: list[str],
    drafted: int,
    wanted: int,
    most_drafts: int,
    earlier_texts: list[str],
    budget_s: float,
) -> Iterator[bytes]:
    """Drafts of a bucket over the frozen world, from number `drafted` on, each proved or rejected.

    As many as `wanted` are proved, or as the time allows; drafts are the same each time, so whoever asks
    again goes on where this one ended. Last, how far it came.
    """
    from itertools import islice

    from pipelines.core.worlds.ground import ground_of
    from pipelines.core.worlds.rows.draft_rows import bucket_notes, draft_rows
    from pipelines.core.worlds.rows.prove_row import prove_row
    from pipelines.core.worlds.shapes import Bucket, ProvedRow

    toolset, state = toolset_of(agent), state_of(data)
    ground = ground_of(toolset, state)
    bucket_body: Any = bucket
    whole = Bucket(name=bucket_body["name"], theme=bucket_body["theme"], rows=bucket_body["rows"])
    drafts = draft_rows(toolset, state, whole, rng_seed=rng_seed, now=now, axes=axes, ground=ground)
    texts = list(earlier_texts)
    number = proved = 0
    until = 0.0
    is_exhausted = True
    for number, draft in enumerate(islice(drafts, most_drafts), 1):
        if number <= drafted:
            continue
        # Those that are passed over were counted by whoever stored them: the time is for new ones.
        until = until or time.process_time() + budget_s
        row = prove_row(toolset, state, draft, now=now, earlier_texts=texts, ground=ground)
        row_report = row_json(row, toolset, now)
        yield dumps(row_report | {"draft": number})
        if isinstance(row, ProvedRow) and row_report["status"] == "kept":
            texts.append(draft.user_instruction)
            proved += 1
        if proved == wanted or time.process_time() > until:
            is_exhausted = False
            break
    notes = bucket_notes(toolset, state, whole, now=now, axes=axes, ground=ground)
    end: JsonObject = {"drafted": max(number, drafted), "is_exhausted": is_exhausted}
    yield dumps(end | {"notes": [*notes[:MOST_NOTES]]})


def row_coverage(data: bytes, *, agent: JsonObject) -> Iterator[bytes]:
    """What rows are about, counted; each line is the proof of one."""
    from pipelines.core.worlds.rows.coverage import coverage
    from pipelines.core.worlds.shapes import DraftRow

    proofs: Iterator[Any] = (loads_own(line) for line in data.splitlines() if line)
    drafts = (DraftRow.from_stored(proof["draft"]) for proof in proofs)
    yield dumps(coverage(drafts, toolset_of(agent)).as_json())


def toolset_of(agent: JsonObject) -> "Toolset":
    """`agent` has the text of its definition, and the session's own words."""
    from pipelines.core.simulation.rules.axis import active_rules
    from pipelines.core.worlds.shapes import Toolset

    given: Any = agent
    definition = _definition(given["definition"])
    return Toolset(
        tools=definition.tools,
        ledger_schema=definition.ledger_schema,
        behavior=given["behavior"],
        instructions=given["instructions"],
        rules=active_rules(definition.rules, ()),
    )


def _definition(text: str) -> "AgentDefinition":
    from pipelines.core.agents.agent_definition import AgentDefinition

    stored = loads_own(text)
    assert isinstance(stored, dict)
    return AgentDefinition.from_stored(stored)


def state_of(text: bytes) -> JsonObject:
    state = loads_own(text) if text else {}
    assert isinstance(state, dict)
    return state


def _size(size: str) -> Any:
    return size


def _refuse_large(state: Json) -> None:
    from pipelines.core.tasks.seed_limits import size_problems

    too_large = size_problems({"initial_state": state}, "")
    if too_large:
        raise Refused(list(too_large.values()), "the world")


def world_parts(
    toolset: "Toolset",
    before: JsonObject,
    after: JsonObject,
    now: str,
    *,
    notes: tuple[str, ...] = (),
    said: str | None = None,
) -> Iterator[bytes]:
    from pipelines.core.ledger.world_difference import world_difference
    from pipelines.core.ledger.world_tables import type_counts
    from pipelines.core.worlds.ground import ground_of
    from pipelines.core.worlds.review.advisories import advisories
    from pipelines.core.worlds.rows.trials import tools_without_rows

    _refuse_large(after)
    ground = ground_of(toolset, after)
    found = advisories(toolset, after, now=now, ground=ground)
    notes = (*notes, *tools_without_rows(ground))
    yield dumps(after)
    parts: JsonObject = {
        "said": said,
        "notes": [*notes[:MOST_NOTES]],
        "advisories": [advisory.as_json() for advisory in found[:MOST_ADVISORIES]],
        "advisories_left_out": max(0, len(found) - MOST_ADVISORIES),
    }
    yield dumps(parts | type_counts(after))
    yield dumps(world_difference(before, after).as_json())


def row_json(row: "ProvedRow | RejectedRow", toolset: "Toolset", now: str) -> JsonObject:
    from pipelines.core.worlds.shapes import ProvedRow

    request: JsonObject = {"user_instruction": row.draft.user_instruction}
    if not isinstance(row, ProvedRow):
        return request | {"status": "rejected", "reason_code": row.reason_code, "reason": row.reason}
    try:
        seed = _seed_of(row.draft, toolset, now)
    except Refused as refused:  # a draft that no upload would take: ours, and told as such
        reason = "; ".join(problem.said() for problem in refused.problems[:3])
        return request | {"status": "rejected", "reason_code": "invalid_seed", "reason": reason}
    calls: list[Json] = [call.as_json() for call in row.calls]
    proof: JsonObject = {"said": row.proof, "calls": calls, "draft": row.draft.as_json()}
    return request | {"status": "kept", "seed": seed, "proof": proof}


def _seed_of(draft: "DraftRow", toolset: "Toolset", now: str) -> JsonObject:
    """The task's seed without its world: read as an upload is, so that what is stored is one."""
    from pipelines.core.tasks.seed import parse_seed

    row: JsonObject = {
        "user_instruction": draft.user_instruction,
        "behavior_instructions": draft.behavior or toolset.behavior,
        "failure_rules": [rule.as_json() for rule in draft.failure_rules],
        "expected_outcome": draft.expected_outcome,
        "expected_state": draft.expected_state,
        "expected_calls": draft.expected_calls,
        "now": now,
        "tags": [draft.bucket] if draft.bucket else [],
    }
    return parse_seed(row, tools=toolset.tools, ledger_schema=toolset.ledger_schema).as_json()


WORLD_JOBS = (
    *(make_world, refine_world, check_pasted_world, compare_worlds, world_tables),
    *(make_rows, row_coverage),
)
