"""Jobs around what a model writes for a seed session: what it is told, and what of its answers is let in."""

from collections.abc import Iterator
from typing import Any

from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.core.text.problems import Refused
from pipelines.processes.world_jobs import checked_world, row_json, state_of, toolset_of, world_parts


def world_brief(data: bytes, *, agent: JsonObject, size: str, rng_seed: int, now: str) -> Iterator[bytes]:
    """What a model is told of a world that is to be made, or changed. `data` is not looked at."""
    from pipelines.core.worlds.by_model.prompt_data import told_types, tools_for_prompt
    from pipelines.core.worlds.by_model.world_question import WorldBrief
    from pipelines.core.worlds.shapes import ENTITIES
    from pipelines.core.worlds.types.toolset_outline import outline_of

    toolset = toolset_of(agent)
    entities: Any = ENTITIES
    try:
        types = told_types(outline_of(toolset))
    except Refused:  # tools that speak of nothing: a model may see more in them
        types = {}
    brief = WorldBrief(
        tools=tools_for_prompt(toolset.tools),
        types=types,
        behaviour=toolset.behavior,
        wishes=toolset.instructions,
        today=now,
        records=entities[size],
        variation=rng_seed,
    )
    yield dumps(brief.as_json())


def check_written_world(
    data: bytes, *, agent: JsonObject, now: str, notes: list[str], said: str | None
) -> Iterator[bytes]:
    """A world that a model wrote, on the second line, checked as one that somebody pastes."""
    first, _, second = data.partition(b"\n")
    toolset, written = toolset_of(agent), loads_own(second)
    after = checked_world(toolset, written)
    yield from world_parts(toolset, state_of(first), after, now, notes=tuple(notes), said=said)


def rows_brief(
    data: bytes,
    *,
    agent: JsonObject,
    bucket: JsonObject,
    rng_seed: int,
    now: str,
    axes: list[str],
    drafted: int,
    rows: int,
    earlier_texts: list[str],
    rejected: list[list[str]],
) -> Iterator[bytes]:
    """What a model is told of rows that are wanted over the frozen world."""
    from pipelines.core.worlds.by_model.prompt_data import shown_records, tools_for_prompt
    from pipelines.core.worlds.by_model.row_question import MOST_EARLIER, MOST_REJECTED, RowsBrief
    from pipelines.core.worlds.ground import ground_of
    from pipelines.core.worlds.rows.trials import untried

    toolset, state = toolset_of(agent), state_of(data)
    guesses = untried(ground_of(toolset, state))
    brief = RowsBrief(
        bucket={"name": bucket["name"], "theme": bucket["theme"]},
        rows=rows,
        tools=tools_for_prompt([tool for tool in toolset.tools if tool.name not in guesses]),
        not_usable={**guesses},
        behaviour=toolset.behavior,
        today=now,
        axes=[*axes],
        world=shown_records(state, first=drafted).world,
        earlier=[*earlier_texts[-MOST_EARLIER:]],
        rejected=[{"text": text, "reason": reason} for text, reason in rejected[-MOST_REJECTED:]],
        variation=rng_seed,
    )
    yield dumps(brief.as_json())


def prove_written_rows(
    data: bytes,
    *,
    agent: JsonObject,
    bucket: str,
    now: str,
    drafted: int,
    drafts: list[JsonObject],
    wanted: int,
    earlier_texts: list[str],
) -> Iterator[bytes]:
    """Drafts of a model, from number `drafted` + 1 on, each proved or rejected, until `wanted` are proved."""
    from pipelines.core.worlds.by_model.read_draft import proved_draft
    from pipelines.core.worlds.ground import ground_of
    from pipelines.core.worlds.shapes import ProvedRow

    toolset, state = toolset_of(agent), state_of(data)
    ground = ground_of(toolset, state)
    texts = list(earlier_texts)
    proved = 0
    for number, draft in enumerate(drafts, drafted + 1):
        row = proved_draft(draft, ground, bucket=bucket, now=now, earlier_texts=texts)
        row_report = row_json(row, toolset, now)
        yield dumps(row_report | {"draft": number})
        if isinstance(row, ProvedRow) and row_report["status"] == "kept":
            texts.append(row.draft.user_instruction)
            proved += 1
        if proved == wanted:
            return


AUTHORING_JOBS = (world_brief, check_written_world, rows_brief, prove_written_rows)
