"""The author that needs no model: core.worlds, in a helper process."""

from typing import Any

from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.worlds.authors import AuthoredRows, AuthoredWorld, RowsRequest, SessionBrief
from pipelines.processes.pool import HelperProcesses, Job, TookTooMuch
from pipelines.storage.tasks.seed_rows import KEPT, NewRow
from pipelines.storage.tasks.texts import named

MEBIBYTE = 1024 * 1024
WORLD_S = 60.0  # of processor time; 10,000 entities take some two
ROWS_S = 120.0  # of one part of a bucket, which stops by itself after
ROWS_BUDGET_S = 2.0  # of new drafts: what is proved is stored this often
MOST_RESULT = 64 * MEBIBYTE
MEMORY = 1024 * MEBIBYTE


class EmbeddedAuthor:
    def __init__(self, helpers: HelperProcesses) -> None:
        self._helpers = helpers

    async def make_world(self, brief: SessionBrief, *, before: str, rng_seed: int) -> AuthoredWorld:
        arguments: JsonObject = {"size": brief.size, "rng_seed": rng_seed, "now": brief.now}
        return await self._world("make_world", brief, arguments, before.encode(), path="/size")

    async def refine(self, brief: SessionBrief, *, before: str, prompt: str, rng_seed: int) -> AuthoredWorld:
        arguments: JsonObject = {"size": brief.size, "rng_seed": rng_seed, "now": brief.now, "prompt": prompt}
        return await self._world("refine_world", brief, arguments, before.encode(), path="/prompt")

    async def draft_rows(self, brief: SessionBrief, *, world: str, wanted: RowsRequest) -> AuthoredRows:
        bucket = wanted.bucket
        arguments: JsonObject = {
            "agent": brief.agent(),
            "bucket": {"name": bucket.name, "theme": bucket.theme, "rows": bucket.asked},
            "rng_seed": wanted.rng_seed,
            "now": brief.now,
            "axes": [*brief.axes],
            "drafted": bucket.drafted,
            "wanted": wanted.rows,
            "most_drafts": wanted.most_drafts,
            "earlier_texts": [*wanted.earlier_texts],
            "budget_s": ROWS_BUDGET_S,
        }
        job = Job("make_rows", arguments, ROWS_S, MOST_RESULT, MEMORY)
        *parts, end = await self._helpers.run(job, world.encode(), owner=brief.org_id)
        report: Any = loads_own(end)
        rows = [row_of(loads_own(part)) for part in parts]
        return AuthoredRows(rows, report["drafted"], report["is_exhausted"], tuple(report["notes"]))

    async def _world(
        self, name: str, brief: SessionBrief, arguments: JsonObject, data: bytes, *, path: str
    ) -> AuthoredWorld:
        job = Job(name, arguments | {"agent": brief.agent()}, WORLD_S, MOST_RESULT, MEMORY)
        try:
            parts = await self._helpers.run(job, data, owner=brief.org_id)
        except TookTooMuch as error:
            message = str(error).replace("reading it", "making this world")
            hint = "ask for less at a time, or for a smaller world"
            raise Refused([Problem(path=path, message=message, hint=hint)], "the world") from None
        return world_of(parts)


def world_of(parts: list[bytes]) -> AuthoredWorld:
    world, description, changes = parts
    return AuthoredWorld(named(world), description.decode(), changes.decode())


def row_of(told: Any) -> NewRow:
    is_kept = told["status"] == KEPT
    return NewRow(
        draft=told["draft"],
        status=told["status"],
        user_instruction=told["user_instruction"],
        seed_text=dumps(told["seed"]).decode() if is_kept else None,
        proof_text=dumps(told["proof"]).decode() if is_kept else None,
        reason_code=told.get("reason_code"),
        reason=told.get("reason"),
    )
