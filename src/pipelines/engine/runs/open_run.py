"""Runs driven by hand: opening one, and ending it."""

import secrets
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from pipelines.core.agents.agent_reply import BadReply, read_reply_fields
from pipelines.core.coding.coding_tasks import HTTP_HINT
from pipelines.core.text.authored import Fields, is_id
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.world_time import read_now
from pipelines.core.tools.failure_rules import read_fault_seed
from pipelines.core.tools.live_tools import REPLAY
from pipelines.core.tools.passthrough_choice import FIELDS as PASSTHROUGH_FIELDS
from pipelines.core.tools.passthrough_choice import Passthrough, read_passthrough
from pipelines.engine.endpoints.bind_endpoints import refuse_drift
from pipelines.engine.endpoints.prepare_cassette import check_cassette, prepare_cassette
from pipelines.engine.find import find_agent, find_run, task_in
from pipelines.engine.judging.judge_run import judge_and_end
from pipelines.engine.models.ask_model_for_reply import refuse_without_model
from pipelines.engine.platform import Platform, later
from pipelines.engine.simulation.check_rules import check_rules
from pipelines.storage.accounts.keys import hash_of
from pipelines.storage.agents import authored_rules
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import runs
from pipelines.storage.runs.runs import Ending, NewRun, Run
from pipelines.storage.tasks import datasets
from pipelines.wire.errors import AgentIsDraft, Conflict, RunNotActive
from pipelines.wire.names import RunStatus

JUDGE_WAITED_FOR_S = 20.0  # by whoever finishes a run by hand; the verdict of a slower one comes later


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedRun:
    run: Run
    token: str  # shown once, stored only as its hash


async def open_manual_run(platform: Platform, org_id: int, body: JsonObject) -> OpenedRun:
    """A run whose tools answer at once: the caller plays the agent and finishes it."""
    request = _read_request(body)
    agent_id, task_id = request.agent_id, request.task_id
    agent = await find_agent(platform, org_id, agent_id)
    if agent.status == "draft":
        raise AgentIsDraft
    if request.passthrough.mode != REPLAY:  # then the endpoint as it was recorded is what counts
        await refuse_drift(platform, agent)
    tasks = await platform.database.read(
        partial(datasets.tasks_to_run_by_id, org_id=org_id, task_ids=[task_id])
    )
    if any(task.is_coding for task in tasks):
        message = (
            "is a coding task: its agent has to run in the sandbox with the workspace, not be played by hand"
        )
        raise Refused([Problem(path=f"task {task_id}", message=message, hint=HTTP_HINT)], "the run")
    await check_rules(platform, agent, tasks, of_dataset=False)
    await refuse_without_model(platform, agent, tasks[0].dataset_id if tasks else None)
    await check_cassette(platform, org_id, request.passthrough, "the run")
    token, jti = secrets.token_urlsafe(32), secrets.token_hex(16)
    created, began = platform.now(), platform.live_runs.steady()

    def prepare(connection: Connection) -> NewRun:
        task = task_in(connection, org_id, task_id)
        return NewRun(
            org_id=org_id,
            agent_id=agent.id,
            agent_version=agent.version,
            task_id=task.id,
            dataset_id=task.dataset_id,
            mode="manual",
            status=RunStatus.RUNNING,
            jti=jti,
            token_hash=hash_of(token),
            seed_hash=task.seed_hash,
            seed_text=task.seed_text,
            world_hash=task.world_hash,
            simulated_now=request.now or task.simulated_start() or created,
            fault_seed=request.fault_seed,
            soft_warnings=[],
            passthrough=request.passthrough.mode,
            cassette=request.passthrough.cassette,
            created_at=created,
            started_at=created,
            expires_at=later(platform.database.time(connection, created), platform.manual_run_ttl_s),
            rules_version=authored_rules.rules_version(connection, task.dataset_id),
        )

    new = await platform.database.read(prepare)
    await platform.live_runs.make_ready(new)
    details = await platform.database.read(
        lambda connection: platform.live_runs.unenforced_warnings(connection, new)
    )
    new = replace(new, soft_warnings=[*details])
    await prepare_cassette(platform, org_id, request.passthrough)
    run_id = await platform.database.write(lambda connection: runs.add_run(connection, new))
    platform.live_runs.expect_end(run_id, began + platform.manual_run_ttl_s)
    return OpenedRun(run=await find_run(platform, org_id, run_id), token=token)


async def finish_run(platform: Platform, org_id: int, run_id: int, body: JsonObject) -> Run:
    """The agent's final word, read as a dispatch's reply is; from here on the tools answer run_not_active."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("final_response", "messages", "metadata"))
    reply = read_reply_fields(body)
    if isinstance(reply, BadReply):
        fields.refuse("final_response", reply.detail, reply.hint)
    if problems or isinstance(reply, BadReply):
        raise Refused(problems, "the final response")
    run = await find_run(platform, org_id, run_id)
    if run.mode != "manual":
        raise Conflict(f"Run {run_id} was sent to its agent, who alone can finish it; cancel it instead.")
    before = run.soft_warnings if isinstance(run.soft_warnings, list) else []
    ending = Ending(
        status=RunStatus.COMPLETED,
        final_response=reply.final_response,
        messages=reply.messages_json(),
        metadata=reply.metadata,
        soft_warnings=[*before, *reply.soft_warnings],
    )
    return await _end_run(platform, run, ending)


async def cancel_run(platform: Platform, org_id: int, run_id: int) -> Run:
    """End a run without a response: one under way, or one that nobody has sent yet."""
    run = await find_run(platform, org_id, run_id)
    now = platform.now()
    if run.status is RunStatus.PENDING:
        if await platform.database.write(
            lambda connection: runs.cancel_pending(connection, run_id=run_id, now=now)
        ):
            return await find_run(platform, org_id, run_id)
        run = await find_run(platform, org_id, run_id)  # claimed meanwhile: it is under way now
    return await _end_run(platform, run, Ending(status=RunStatus.CANCELLED))


async def _end_run(platform: Platform, run: Run, ending: Ending) -> Run:
    if run.status is not RunStatus.RUNNING:
        raise RunNotActive(f"Run {run.id} has already ended ({run.status.value}).")
    await platform.live_runs.close(run.id)
    responses = (ending.final_response,) if ending.final_response is not None else ()
    try:
        if not await judge_and_end(platform, run, ending, responses):
            raise RunNotActive(f"Run {run.id} has already ended.")
    except BaseException:
        platform.live_runs.forget({run.id})  # whether it has ended is for the database to say
        raise
    platform.live_runs.let_go(run.id)
    await platform.judge_tasks.wait(run.id, JUDGE_WAITED_FOR_S)
    return await find_run(platform, run.org_id, run.id)


class _RunRequest(NamedTuple):
    agent_id: int
    task_id: int
    now: str | None  # in the run's world, when the caller wants another than the task's own
    fault_seed: int
    passthrough: Passthrough


def _read_request(body: JsonObject) -> _RunRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(
        ("mode", "agent_id", "task_id", "task_ids", "now", "fault_seed", *PASSTHROUGH_FIELDS)
    )
    tasks = body.get("task_ids", [body["task_id"]] if "task_id" in body else None)
    task_id = tasks[0] if isinstance(tasks, list) and len(tasks) == 1 and is_id(tasks[0]) else None
    if task_id is None or ("task_id" in body and "task_ids" in body):
        fields.refuse("task_ids", "must be a list of one task id", '"task_ids": [7]')
    agent_id = fields.id("agent_id", "an agent")
    now = read_now(fields)
    fault_seed = int(read_fault_seed(fields, may_repeat=False))
    passthrough = read_passthrough(fields)
    if problems or agent_id is None or task_id is None:
        raise Refused(problems, "the run")
    return _RunRequest(agent_id, task_id, now, fault_seed, passthrough)
