"""The author that is a model: asked for worlds, changes and rows; what it answers is checked and proved here.

Every answer is kept by `models.ask`, and the same arguments ask the same questions: after a kill, what was
answered is not asked for again.
"""

from functools import partial
from typing import Any

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.models.model_question import Failure, ModelQuestion
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.worlds.by_model.change_question import change_problems, change_question, changed
from pipelines.core.worlds.by_model.prompt_data import ShownRecords, shown_records
from pipelines.core.worlds.by_model.row_question import MOST_ROWS, RowsBrief, rows_problems, rows_question
from pipelines.core.worlds.by_model.world_question import (
    WorldBrief,
    notes_of,
    part_problems,
    part_question,
    parts_of,
    plan_problems,
    plan_question,
)
from pipelines.engine.model_calls.ask_models import Check, CheckedAnswer, Models
from pipelines.engine.worlds.authors import AuthoredRows, AuthoredWorld, RowsRequest, SessionBrief
from pipelines.engine.worlds.embedded_author import (
    MEMORY,
    MOST_RESULT,
    ROWS_S,
    WORLD_S,
    EmbeddedAuthor,
    row_of,
    world_of,
)
from pipelines.processes.aside import aside
from pipelines.processes.pool import HelperProcesses, Job
from pipelines.wire.errors import ModelFailed

#: Drafts of a bucket in a round, for each row and besides: a model that cannot is not asked for ever.
DRAFTS_A_ROW, DRAFTS_BESIDES = 3, 10


class ModelAuthor:
    def __init__(self, models: Models, helpers: HelperProcesses) -> None:
        self._models = models
        self._helpers = helpers
        self._embedded = EmbeddedAuthor(helpers)

    async def make_world(self, brief: SessionBrief, *, before: str, rng_seed: int) -> AuthoredWorld:
        """In one answer, or its ids first and then part by part; nothing is stored before all of it is."""
        world_brief = await self.world_brief(brief, rng_seed)
        schema = await self._ledger_schema(brief)
        parts = parts_of(world_brief)
        plan: JsonObject | None = None
        if len(parts) > 1:
            exchange = await self._ask(
                brief, plan_question(world_brief), partial(plan_problems, brief=world_brief)
            )
            plan = _object(exchange.data["ids"])
        state: JsonObject = {}
        notes: list[str] = []
        for types in parts:
            check = partial(part_problems, brief=world_brief, types=types, plan=plan, ledger_schema=schema)
            exchange = await self._ask(brief, part_question(world_brief, types, plan, state), check)
            state |= _object(exchange.data["world"])
            notes += notes_of(exchange.data)
        return await self._check_world(brief, before, state, notes=notes, said=None)

    async def refine(self, brief: SessionBrief, *, before: str, prompt: str, rng_seed: int) -> AuthoredWorld:
        """Sentences that need no model are followed without one: at once, for free, the same each time."""
        try:
            return await self._embedded.refine(brief, before=before, prompt=prompt, rng_seed=rng_seed)
        except Refused:
            pass
        world_brief = await self.world_brief(brief, rng_seed)
        schema = await self._ledger_schema(brief)
        state, records_shown = await aside(brief.org_id, _shown_state, before)
        question = change_question(
            prompt,
            records_shown,
            tools=world_brief.tools,
            types=world_brief.types,
            behaviour=brief.behavior,
            today=brief.now,
        )
        against: dict[str, Any] = {"before": state, "shown": records_shown, "ledger_schema": schema}
        exchange = await self._ask(brief, question, partial(change_problems, **against))
        cannot = exchange.data["cannot"]
        if isinstance(cannot, str):
            message = f"the model cannot follow it: {cannot.strip() or 'it gives no reason'}"
            raise Refused([Problem(path="/prompt", message=message)], "the prompt")
        after = await aside(brief.org_id, partial(changed, exchange.data, **against))
        text = str(exchange.data["said"]).strip() or None
        return await self._check_world(brief, before, after.state, notes=[], said=text)

    async def draft_rows(self, brief: SessionBrief, *, world: str, wanted: RowsRequest) -> AuthoredRows:
        """One question: so many drafts as one answer holds, each proved on the world or rejected."""
        bucket = wanted.bucket
        most = DRAFTS_A_ROW * (bucket.asked + bucket.dropped) + DRAFTS_BESIDES
        if bucket.drafted >= most:
            return _no_more(wanted, f"a model was asked for {bucket.drafted} drafts; no more are asked for")
        rows_brief = await self._rows_brief(brief, world, wanted)
        tools = [str(_object(tool)["name"]) for tool in rows_brief.tools]
        if not tools:
            return _no_more(wanted, "the plan of every tool would be a guess, so no row could be proved")
        exchange = await self._ask(brief, rows_question(rows_brief), partial(rows_problems, tools=tools))
        drafts = exchange.data["rows"]
        assert isinstance(drafts, list)
        if not drafts:
            return _no_more(wanted, "the model drafted no more", *notes_of(exchange.data))
        arguments: JsonObject = {
            "agent": brief.agent(),
            "bucket": bucket.name,
            "now": brief.now,
            "drafted": bucket.drafted,
            "drafts": drafts,
            "wanted": wanted.rows,
            "earlier_texts": [*wanted.earlier_texts],
        }
        job = Job("prove_written_rows", arguments, ROWS_S, MOST_RESULT, MEMORY)
        proved = await self._helpers.run(job, world.encode(), owner=brief.org_id)
        rows = [row_of(loads_own(part)) for part in proved]
        notes = tuple(dict.fromkeys((*bucket.notes, *notes_of(exchange.data))))
        return AuthoredRows(rows, bucket.drafted + len(rows), False, notes)

    async def world_brief(self, brief: SessionBrief, rng_seed: int) -> WorldBrief:
        """What a model is told of the agent, whatever it is asked for."""
        arguments: JsonObject = {"size": brief.size, "rng_seed": rng_seed, "now": brief.now}
        job = Job("world_brief", arguments | {"agent": brief.agent()}, WORLD_S, MOST_RESULT, MEMORY)
        (brief_json,) = await self._helpers.run(job, b"", owner=brief.org_id)
        return WorldBrief.from_json(loads_own(brief_json))

    async def _rows_brief(self, brief: SessionBrief, world: str, wanted: RowsRequest) -> RowsBrief:
        bucket = wanted.bucket
        rejected: list[Json] = [[text, reason] for text, reason in wanted.rejected]
        arguments: JsonObject = {
            "agent": brief.agent(),
            "bucket": {"name": bucket.name, "theme": bucket.theme},
            "rng_seed": wanted.rng_seed,
            "now": brief.now,
            "axes": [*brief.axes],
            "drafted": bucket.drafted,
            "rows": min(MOST_ROWS, wanted.rows + 1 + wanted.rows // 4),
            "earlier_texts": [*wanted.earlier_texts],
            "rejected": rejected,
        }
        job = Job("rows_brief", arguments, ROWS_S, MOST_RESULT, MEMORY)
        (brief_json,) = await self._helpers.run(job, world.encode(), owner=brief.org_id)
        return RowsBrief.from_json(loads_own(brief_json))

    async def _ask(self, brief: SessionBrief, question: ModelQuestion, check: Check) -> CheckedAnswer:
        assert brief.asker is not None, "whoever asks a model says who pays"
        return await self._models.ask(brief.asker, question, check=check)

    async def _check_world(
        self, brief: SessionBrief, before: str, state: JsonObject, *, notes: list[str], said: str | None
    ) -> AuthoredWorld:
        """Checked once more, whole, as a world that somebody pastes."""
        arguments: JsonObject = {"agent": brief.agent(), "now": brief.now, "notes": [*notes], "said": said}
        job = Job("check_written_world", arguments, WORLD_S, MOST_RESULT, MEMORY)
        both = before.encode() + b"\n" + dumps(state)
        try:
            return world_of(await self._helpers.run(job, both, owner=brief.org_id))
        except Refused as refused:  # it was the model's doing, not the author's
            raise ModelFailed(
                f"The model's world could not be used: {refused.problems[0].said()}.",
                reason=Failure.WRONG_SCHEMA.value,
                details={"problems": [problem.as_json() for problem in refused.problems]},
            ) from None

    async def _ledger_schema(self, brief: SessionBrief) -> LedgerSchema | None:
        return await aside(brief.org_id, _schema_in, brief.definition_text)


def _schema_in(definition_text: str) -> LedgerSchema | None:
    return AgentDefinition.from_stored(_object(loads_own(definition_text))).ledger_schema


def _shown_state(world: str) -> tuple[JsonObject, ShownRecords]:
    state = _object(loads_own(world))
    return state, shown_records(state)


def _no_more(wanted: RowsRequest, why: str, *notes: str) -> AuthoredRows:
    bucket = wanted.bucket
    all_notes = tuple(dict.fromkeys((*bucket.notes, *notes)))
    return AuthoredRows([], bucket.drafted, True, all_notes, why)


def _object(value: Any) -> JsonObject:
    assert isinstance(value, dict)
    return value
