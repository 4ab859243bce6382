"""A code agent in a workspace: called there, what it changed collected and kept, then graded elsewhere.

Whatever comes of grading is stored beside the run before it is judged; a run that ended without an answer is
graded too, since what it did until then is there.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pipelines.core.coding.diff import BadDiff, WorkspaceDiff, parse_diff
from pipelines.core.coding.grading import Grading
from pipelines.core.coding.scenario import CodingScenario
from pipelines.core.coding.scorers import Status
from pipelines.core.coding.scoring import result_of
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.engine.coding.score_workspace import expect_grading, grade
from pipelines.engine.platform import Platform
from pipelines.engine.workspaces.prepare_workspace import ReadyWorkspace
from pipelines.sandbox.host_listener import Serve
from pipelines.sandbox.job import CodeError, CodeErrorKind, CodeJob, CodeOutcome
from pipelines.sandbox.pool import OnBegin
from pipelines.sandbox.workspace_box import (
    LIMITS,
    TASK_FILE,
    WORKSPACE,
    BoxFailed,
    Changes,
    WorkspaceBox,
    layout_of,
    open_box,
)
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import coding
from pipelines.wire.names import ENV_TASK_FILE, ENV_WORKSPACE

LEFT_OUT = ("setup_output",)  # of what is known of a baseline: not for every run


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceJob:
    job: CodeJob
    scenario: CodingScenario
    run_id: int
    place: SlotHolder
    hide: Callable[[str], str]  # takes the agent's secrets out of a text


async def run_in_workspace(
    platform: Platform, work: WorkspaceJob, *, serve: Serve, on_begin: OnBegin
) -> CodeOutcome:
    """What came of the agent. What it changed and how that was graded is stored. Raises CannotMake."""
    async with platform.workspaces.held(work.scenario, work.place.org_id) as ready:
        outcome, collected = await work_in_box(platform, work, ready, serve, on_begin)
    facts = {key: value for key, value in ready.facts.items() if key not in LEFT_OUT}
    await _store_workspace(platform, work, facts, collected)
    if isinstance(collected, _AgentChanges):
        texts = [outcome.stdout, outcome.stderr, await asyncio.to_thread(_result_text, outcome)]
        grading = await grade(
            platform,
            org_id=work.place.org_id,
            scenario=work.scenario,
            diff=collected.diff,
            batch_id=work.place.batch_id,
            texts=texts,
        )
        results = [replace(one, output=work.hide(one.output)) for one in grading.results]
        grading = replace(grading, results=tuple(results), signs=(*collected.signs, *grading.signs))
    else:
        unknown = [result_of(one, Status.NOT_APPLICABLE, collected) for one in work.scenario.scorers]
        grading = Grading(results=tuple(unknown), diff=WorkspaceDiff())
    await store_grading(platform, work.run_id, work.scenario, grading)
    return outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class _AgentChanges:
    diff: WorkspaceDiff
    signs: tuple[str, ...]


async def work_in_box(
    platform: Platform, work: WorkspaceJob, ready: ReadyWorkspace, serve: Serve, on_begin: OnBegin
) -> tuple[CodeOutcome, _AgentChanges | str]:
    """The agent's outcome, and what it changed or why that is not known."""
    limits = platform.workspaces.limits
    layout = layout_of(
        given=ready.folder,
        shared=ready.shared,
        dependencies=ready.dependencies,
        workspace_bytes=limits.bytes,
        source_dir=work.job.source_dir,
        environment=work.job.environment,
        workdir=work.scenario.workdir,
    )
    try:
        async with open_box(ready.opened.pool, layout, place=work.place, on_begin=on_begin) as box:
            await box.unpack()
            outcome = await _call_agent(box, work, ready, serve)
            expect_grading(platform, ready, work.scenario)
            try:
                changes = await box.collect(most_bytes=limits.diff_bytes)
            except BoxFailed as error:
                return outcome, f"What the agent changed could not be collected: {error}."
    except BoxFailed as error:
        return _not_started(str(error)), f"The agent was not started: {error}."
    try:
        return outcome, await asyncio.to_thread(_parse_changes, changes)
    except BadDiff as error:
        return outcome, f"What the agent changed could not be read: {error}."


async def _call_agent(
    box: WorkspaceBox, work: WorkspaceJob, ready: ReadyWorkspace, serve: Serve
) -> CodeOutcome:
    scenario, job = work.scenario, work.job
    wall_s = job.limits.wall_s
    if scenario.timeouts.agent_s is not None:
        wall_s = min(wall_s, float(scenario.timeouts.agent_s))
    limits = replace(LIMITS, wall_s=wall_s, result_bytes=job.limits.result_bytes)
    environment = "/env/bin" if job.environment is not None else ""
    shared = ready.variables(scenario, path=environment)
    env = {name: shared[name] for name in (*scenario.env_vars, "PATH") if name in shared}
    if ready.dependencies is not None:
        env["PIPELINES_WORKSPACE_PYTHON"] = "/deps/bin/python"
    env |= {ENV_TASK_FILE: TASK_FILE, ENV_WORKSPACE: WORKSPACE, "PYTHONDONTWRITEBYTECODE": "1"}
    return await box.run_agent(replace(job, limits=limits), task=_task(work), env=env, serve=serve)


def _task(work: WorkspaceJob) -> JsonObject:
    """What an agent is told of its task; nothing of how it is graded."""
    scenario = work.scenario
    return {
        "name": scenario.name,
        "user_instruction": scenario.user_instruction,
        "setup_instructions": scenario.setup_instructions,
        "workspace": WORKSPACE,
        "run_id": work.run_id,
        "input": work.job.task_input,
    }


def _parse_changes(changes: Changes) -> _AgentChanges:
    diff = parse_diff(changes.raw, changes.patch, changes.ignored)
    return _AgentChanges(diff=replace(diff, truncated=changes.truncated), signs=changes.signs)


def _hide_secrets(diff: WorkspaceDiff, hide: Callable[[str], str]) -> WorkspaceDiff:
    """As it is kept: an agent may have written its own keys into a file."""
    return replace(diff, patch=hide(diff.patch))


def _result_text(outcome: CodeOutcome) -> str:
    return dumps(outcome.result).decode() if outcome.result is not None else ""


def _not_started(reason: str) -> CodeOutcome:
    error = CodeError(kind=CodeErrorKind.SANDBOX_FAILED, message=reason)
    return CodeOutcome(
        result=None,
        error=error,
        stdout="",
        stderr="",
        duration_ms=0.0,
        isolation="bubblewrap",
        was_called=False,
    )


async def _store_workspace(
    platform: Platform, work: WorkspaceJob, facts: JsonObject, collected: _AgentChanges | str
) -> None:
    diff, run_id = WorkspaceDiff(), work.run_id
    signs: tuple[str, ...] = ()
    if isinstance(collected, _AgentChanges):
        diff, signs = await asyncio.to_thread(_hide_secrets, collected.diff, work.hide), collected.signs

    def store(connection: Connection) -> None:
        coding.keep_workspace(connection, run_id=run_id, baseline=facts, diff=diff, signs=signs)

    await platform.database.write(store)


async def store_grading(platform: Platform, run_id: int, scenario: CodingScenario, grading: Grading) -> None:
    now = platform.now()
    scorers: Sequence[JsonObject] = [scorer.as_json() for scorer in scenario.scorers]

    def store(connection: Connection) -> None:
        coding.add_grading(connection, run_id=run_id, grading=grading, scorers=[*scorers], now=now)

    await platform.database.write(store)
