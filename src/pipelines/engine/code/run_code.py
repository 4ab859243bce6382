"""Running a code agent: its folder, its packages and its secrets brought together, one job in a sandbox.

What comes of it is the same kind of value as of an HTTP dispatch, so everything after it is the same too.
"""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from pipelines.core.agents.agent_reply import BadReply, check_response_contract, parse_agent_reply
from pipelines.core.code.code_secrets import together_complaint
from pipelines.core.code.redaction import Redaction
from pipelines.core.coding.scenario import CodingScenario
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.access.manage_credentials import CredentialMissing, open_credentials
from pipelines.engine.code.code_folders import CodeFolders
from pipelines.engine.code.import_check import import_check
from pipelines.engine.code.upload_code import MOST_REQUIREMENTS, REQUIREMENTS_FILE
from pipelines.engine.coding.run_workspace import WorkspaceJob, run_in_workspace
from pipelines.engine.models.model_access import (
    GatewayMissing,
    ModelAccess,
    OpenedUpstream,
    key_variables,
    new_key,
    open_upstreams,
    url_variables,
)
from pipelines.engine.platform import Platform, later
from pipelines.engine.workspaces.prepare_workspace import WorkspaceFailed
from pipelines.outbound.dispatch_outcome import Dispatched, DispatchFailed, Outcome
from pipelines.outbound.ping import PingResult
from pipelines.sandbox.environments import CannotPrepare
from pipelines.sandbox.job import CodeError, CodeErrorKind, CodeJob, CodeOutcome, Limits, parse_entrypoint
from pipelines.sandbox.output import LEFT_OUT
from pipelines.sandbox.pool import OnBegin, SandboxPool
from pipelines.storage.accounts.keys import hash_of
from pipelines.storage.agents import code
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import runs
from pipelines.wire.envelope import Envelope, ErrorClass
from pipelines.wire.errors import CodeModeUnavailable
from pipelines.wire.names import ENV_RUN_ID, ENV_RUN_TOKEN_JTI, ENV_TASK_ID, PROXY_BASE

SLOW_START_S = 2.0  # well within the grace that a token has anyway
UNSAFE_WARNING = (
    "isolation: none. This code ran with the rights of the server (PIPELINES_UNSAFE_CODE): it could read its"
    " files and reach its network, and what it did outside of its tools is not known."
)
_BY_KIND = {
    CodeErrorKind.EXCEPTION: ErrorClass.AGENT_EXCEPTION,
    CodeErrorKind.EXITED: ErrorClass.AGENT_EXCEPTION,
    CodeErrorKind.KILLED: ErrorClass.AGENT_EXCEPTION,
    CodeErrorKind.OUT_OF_MEMORY: ErrorClass.AGENT_EXCEPTION,
    CodeErrorKind.TIMEOUT: ErrorClass.AGENT_TIMEOUT,
    CodeErrorKind.TOO_LARGE: ErrorClass.AGENT_BAD_RESPONSE,
    CodeErrorKind.BAD_RESULT: ErrorClass.AGENT_BAD_RESPONSE,
    CodeErrorKind.SANDBOX_FAILED: ErrorClass.INTERNAL_ERROR,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Visitor:
    """Whose connection to the proxy it is: of this run, and of no other."""

    jti: str
    token_hash: str
    org_id: int
    redaction: Redaction
    models: ModelAccess | None = None  # which it may ask; None: none


#: Speaks HTTP on the connections out of a sandbox, for one run alone.
ServeSandbox = Callable[[Visitor], Callable[[socket.socket], Awaitable[None]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _ReadyAgent:
    """An agent that could be called now."""

    pool: SandboxPool
    folder: Path
    environment: Path | None
    secrets: dict[str, str]
    upstreams: dict[str, OpenedUpstream]  # models that it may ask
    model_key: str  # with this, its word for their keys
    warnings: tuple[str, ...]  # what every run of code on this node has to say


class CannotStart(Exception):
    """The code was not called: a credential is gone, or its packages cannot be had. The message says why."""


class CodeRunner:
    """Runs code agents on this node."""

    def __init__(self, platform: Platform, *, folders: CodeFolders, door: ServeSandbox) -> None:
        self._platform = platform
        self._folders = folders
        self._serve_for = door

    async def dispatch(
        self, agent: Agent, envelope: Envelope, batch_id: int | None, scenario: CodingScenario | None = None
    ) -> Outcome:
        """Call the agent's function once; of a coding task in its workspace."""
        started = perf_counter()
        async with AsyncExitStack() as held:
            try:
                ready = await self._prepare_agent(agent, held)
            except (CannotStart, CodeModeUnavailable) as error:
                return _not_started(str(error))
            place = SlotHolder(agent.org_id, batch_id)
            return await self._call(agent, envelope, ready, place, started, scenario)

    async def _call(
        self,
        agent: Agent,
        envelope: Envelope,
        ready: _ReadyAgent,
        place: SlotHolder,
        started: float,
        scenario: CodingScenario | None,
    ) -> Outcome:
        async def on_begin() -> None:
            await self._postpone_expiry(perf_counter() - started, agent.org_id, envelope.run_id)

        job = _job(agent, envelope, ready)
        models = self._model_access(envelope, ready, agent.org_id)
        visitor = Visitor(
            jti=envelope.run_token_jti,
            token_hash=hash_of(envelope.run_token),
            org_id=agent.org_id,
            redaction=Redaction(ready.secrets),
            models=models,
        )
        hidden = Redaction(ready.secrets | {"run token": envelope.run_token})
        try:
            if scenario is None:
                outcome = await self._run(ready.pool, job, visitor, place, on_begin)
            else:
                work = WorkspaceJob(
                    job=job,
                    scenario=scenario,
                    run_id=envelope.run_id,
                    place=place,
                    hide=lambda text: hidden.cut_text(text, LEFT_OUT),
                )
                serve = self._serve_for(visitor)
                outcome = await run_in_workspace(self._platform, work, serve=serve, on_begin=on_begin)
        except WorkspaceFailed as error:
            return _not_started(f"the workspace cannot be made: {error}")
        finally:
            if models is not None:
                await asyncio.shield(models.close())
        await self._keep_output(envelope.run_id, outcome, hidden)
        latency_ms = round((perf_counter() - started) * 1000, 3)
        contract = agent.definition.response_contract
        read = await asyncio.to_thread(_read_outcome, outcome, hidden, contract, latency_ms)
        return _with_warnings(read, ready.warnings)

    def _model_access(self, envelope: Envelope, ready: _ReadyAgent, org_id: int) -> ModelAccess | None:
        if not ready.upstreams:
            return None
        return ModelAccess(
            self._platform,
            ready.upstreams,
            token_hash=hash_of(envelope.run_token),
            tally=self._platform.live_runs.models.of(envelope.run_id),
            redaction=Redaction(ready.secrets),
            key=ready.model_key,
            org_id=org_id,
        )

    async def test_import(self, agent: Agent) -> PingResult:
        """Whether the code can be called: loaded in a sandbox, its function looked at and not called."""
        started = perf_counter()
        async with AsyncExitStack() as held:
            try:
                ready = await self._prepare_agent(agent, held)
            except CannotStart as error:
                return _test_result(started, problem=str(error))
            job = _job(agent, _NO_RUN, ready)
            nobody = Visitor(jti="", token_hash="", org_id=agent.org_id, redaction=Redaction({}))
            with import_check(job) as looking:
                outcome = await self._run(ready.pool, looking, nobody, SlotHolder(agent.org_id))
        if outcome.error is None:
            return _test_result(started, hint=ready.warnings[0] if ready.warnings else None)
        failed = _code_failure(outcome.error, Redaction(ready.secrets), 0.0, was_called=outcome.was_called)
        return _test_result(started, problem=failed.detail, hint=failed.traceback or failed.hint)

    async def _run(
        self,
        pool: SandboxPool,
        job: CodeJob,
        visitor: Visitor,
        place: SlotHolder,
        on_begin: OnBegin | None = None,
    ) -> CodeOutcome:
        """Given again once, where no line of the code has run."""
        serve = self._serve_for(visitor)
        outcome = await pool.run(job, serve=serve, on_begin=on_begin, place=place)
        if outcome.was_called or outcome.error is None:
            return outcome
        is_ours = outcome.error.kind is CodeErrorKind.SANDBOX_FAILED
        return await pool.run(job, serve=serve, place=place) if is_ours else outcome

    async def _prepare_agent(self, agent: Agent, held: AsyncExitStack) -> _ReadyAgent:
        """Its folders stay for as long as `held` does."""
        opened = await self._platform.code_mode.opened()
        definition = agent.definition
        assert definition.code is not None, "an agent of mode code is not published without code"
        try:
            secrets = await open_credentials(self._platform, agent.org_id, definition.secrets)
            upstreams = await open_upstreams(self._platform, agent.org_id, definition.model_gateways)
            folder = await held.enter_async_context(self._folders.held(definition.code))
            requirements = definition.requirements
            if requirements is None:
                requirements = await asyncio.to_thread(_requirements_in, folder)
            environment = await held.enter_async_context(opened.environment_for(requirements))
            if (complaint := together_complaint(secrets)) is not None:
                raise CannotStart(complaint)
            await asyncio.to_thread(Redaction, secrets)  # how they are spelled is worked out beside the loop
        except CredentialMissing as error:
            raise CannotStart(f"{error}; set it with POST /api/credentials, then run again") from None
        except GatewayMissing as error:
            raise CannotStart(str(error)) from None
        except CannotPrepare as error:
            raise CannotStart(f"the requirements cannot be installed: {error}") from None
        except Refused as refused:
            complaints = "; ".join(
                f"{problem.path} {problem.message}".strip() for problem in refused.problems[:5]
            )
            raise CannotStart(f"the requirements cannot be installed: {complaints}") from None
        return _ReadyAgent(
            pool=opened.pool,
            folder=folder,
            environment=environment,
            secrets=secrets,
            upstreams=upstreams,
            model_key=new_key(),
            warnings=(UNSAFE_WARNING,) if opened.is_unsafe else (),
        )

    async def _postpone_expiry(self, spent_s: float, org_id: int, run_id: int) -> None:
        """Packages may take minutes to install, and other runs come first: the token must not pay for it."""
        if spent_s < SLOW_START_S:
            return

        def store(connection: Connection) -> None:
            run = runs.run_by_id(connection, org_id=org_id, run_id=run_id)
            if run is not None:
                runs.postpone_expiry(connection, run_id=run_id, expires_at=later(run.expires_at, spent_s))

        await self._platform.database.write(store)
        self._platform.live_runs.postpone_end(run_id, spent_s)

    async def _keep_output(self, run_id: int, outcome: CodeOutcome, hidden: Redaction) -> None:
        output = await asyncio.to_thread(_hide_in_output, outcome, hidden)

        def store(connection: Connection) -> None:
            code.add_output(connection, run_id=run_id, output=output)

        if any(output):
            await self._platform.database.write(store)


_NO_RUN = Envelope(
    run_id=0,
    task_id=0,
    agent_id=0,
    user_instruction="",
    odyssey_proxy_url="",
    run_token="no run",
    run_token_jti="none",
)


def _hide_in_output(outcome: CodeOutcome, hidden: Redaction) -> code.Output:
    return code.Output(hidden.cut_text(outcome.stdout, LEFT_OUT), hidden.cut_text(outcome.stderr, LEFT_OUT))


def _test_result(started: float, *, problem: str | None = None, hint: str | None = None) -> PingResult:
    latency_ms = round((perf_counter() - started) * 1000, 3)
    return PingResult(ok=problem is None, http_status=None, latency_ms=latency_ms, problem=problem, hint=hint)


def _job(agent: Agent, envelope: Envelope, ready: _ReadyAgent) -> CodeJob:
    assert agent.definition.code is not None
    own = {
        ENV_RUN_TOKEN_JTI: envelope.run_token_jti,
        ENV_RUN_ID: str(envelope.run_id),
        ENV_TASK_ID: str(envelope.task_id),
    }
    upstreams = [opened.upstream for opened in ready.upstreams.values()]
    return CodeJob(
        source_dir=ready.folder,
        entrypoint=parse_entrypoint(agent.definition.code.entrypoint),
        task_input=envelope.body()["input"],
        run_token=envelope.run_token,
        proxy_path=f"{PROXY_BASE}/runs/{envelope.run_token_jti}",
        env=ready.secrets | key_variables(upstreams, ready.model_key) | own,
        urls=url_variables(upstreams),
        environment=ready.environment,
        limits=Limits(wall_s=float(agent.definition.run_timeout_s)),
    )


def _requirements_in(folder: Path) -> str:
    try:
        with (folder / REQUIREMENTS_FILE).open("rb") as file:
            return file.read(MOST_REQUIREMENTS).decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise CannotStart(f"{REQUIREMENTS_FILE} is not UTF-8 text") from None


def _read_outcome(
    outcome: CodeOutcome, hidden: Redaction, contract: JsonObject | None, latency_ms: float
) -> Outcome:
    if outcome.error is not None:
        return _code_failure(outcome.error, hidden, latency_ms, was_called=outcome.was_called)
    result = outcome.result
    body = {"final_response": result} if isinstance(result, str) else result
    try:
        raw = hidden.json_bytes(json.dumps(body).encode())
    except (RecursionError, ValueError):
        raw = b""
    reply = parse_agent_reply(raw, "application/json")
    if isinstance(reply, BadReply):
        return DispatchFailed(
            error_class=ErrorClass.AGENT_BAD_RESPONSE,
            detail=reply.detail,
            hint=reply.hint,
            reached="yes",
            latency_ms=latency_ms,
            is_empty=reply.is_empty,
        )
    violation = check_response_contract(reply, contract)
    if violation is None:
        return Dispatched(reply=reply, http_status=None, latency_ms=latency_ms)
    return DispatchFailed(
        error_class=ErrorClass.RESPONSE_CONTRACT_VIOLATION,
        detail=violation.detail,
        hint=violation.hint,
        reached="yes",
        latency_ms=latency_ms,
        reply=reply,
    )


def _with_warnings(outcome: Outcome, warnings: tuple[str, ...]) -> Outcome:
    if isinstance(outcome, DispatchFailed):
        return replace(outcome, warnings=warnings)
    all_warnings = (*warnings, *outcome.reply.soft_warnings)
    return replace(outcome, reply=replace(outcome.reply, soft_warnings=all_warnings))


def _code_failure(
    error: CodeError, hidden: Redaction, latency_ms: float, *, was_called: bool
) -> DispatchFailed:
    named = f"{error.exception}: {error.message}" if error.exception is not None else error.message
    return DispatchFailed(
        error_class=_BY_KIND[error.kind],
        detail=hidden.cut_text(named, LEFT_OUT),
        reached="yes" if was_called else "no",
        hint=error.hint,
        latency_ms=latency_ms,
        traceback=hidden.cut_text(error.traceback, LEFT_OUT) if error.traceback is not None else None,
    )


def _not_started(why: str) -> DispatchFailed:
    return DispatchFailed(error_class=ErrorClass.AGENT_UNREACHABLE, detail=why, reached="no")
