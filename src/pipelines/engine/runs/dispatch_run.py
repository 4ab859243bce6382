"""One claimed run: sent to its agent turn by turn, its world closed, judged, and its row ended.

Whatever the agent does becomes a value that is stored; only our own faults rise, and they end the run too.
"""

import asyncio
import logging
from dataclasses import dataclass, field, replace

from pipelines.core.agents.agent_reply import AgentReply
from pipelines.core.agents.reply_limits import MAX_REPLY_BYTES
from pipelines.core.agents.transcript import Message, after_turn
from pipelines.core.coding.coding_tasks import HTTP_HINT, HTTP_REFUSAL
from pipelines.core.models.model_question import Purpose
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.engine.batches.run_batch import RETRY_S, ClaimedRun
from pipelines.engine.code.run_code import CodeRunner
from pipelines.engine.coding.edit_coding_scenarios import scenario_of
from pipelines.engine.judging.judge_run import judge_and_end
from pipelines.engine.judging.rescore import flag_signs
from pipelines.engine.model_calls.ask_models import Asker
from pipelines.engine.models.choose_model import asker_of_run
from pipelines.engine.models.simulated_user import SimulatorFault, conversation_json, next_turn
from pipelines.engine.platform import Platform
from pipelines.outbound.agent_client import AgentClient, AgentTarget, DispatchFailed, Outcome
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.secret_box import UnreadableSecret
from pipelines.storage.runs import batches
from pipelines.storage.runs.runs import Ending, Run
from pipelines.wire.envelope import Envelope, ErrorClass
from pipelines.wire.errors import BudgetExceeded, SecretUnreadable, StorageUnavailable
from pipelines.wire.names import PROXY_BASE, RunStatus

log = logging.getLogger(__name__)
TRANSCRIPT_FULL = "`messages` was left out: the conversation's transcript would be over 8 MiB"
NO_MESSAGES = "the reply has no `messages`: of what the agent said only the final response is known"
END_TRIES = 60  # a minute or so; what cannot be stored by then ends as interrupted


@dataclass(kw_only=True, slots=True)
class _Session:
    """A conversation as it goes: one turn, for a task that is not one."""

    is_conversation: bool = False
    history: list[Message] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_thin: bool = False  # a turn came without a transcript
    last: AgentReply | None = None
    transcript_bytes: int = 0  # of what the agent told turn by turn: all of it is sent again in each
    asker: Asker | None = None  # who asks for a persona's words
    user_turns: list[JsonObject] = field(default_factory=list)  # of a persona: what each rests on
    ended_by: str = "user"  # whose word ended it: one of ENDED_BY
    reason: str | None = None  # why, where a persona ended it


class Dispatcher:
    """Sends claimed runs. `public_url` is where agents reach this node's proxy."""

    def __init__(
        self, platform: Platform, client: AgentClient, public_url: str, code_runner: CodeRunner
    ) -> None:
        self._platform = platform
        self._client = client
        self._public_url = public_url
        self._code_runner = code_runner

    async def dispatch_run(self, claimed: ClaimedRun) -> None:
        run = claimed.run
        session = _Session()
        try:
            failed = await self._converse(claimed, session)
            ending = self._ending(run, session, failed)
        except asyncio.CancelledError:  # by a person, or by the end of this process: its row says which
            self._platform.live_runs.let_go(run.id)
            raise
        except SimulatorFault as fault:
            ending = self._fault_ending(run, session, fault)
        except BudgetExceeded:  # of the user's model; the batch ends by it, and cancels its other runs
            ending = self._budget_ending(run, session)
        except SecretUnreadable as error:
            ending = Ending(
                status=RunStatus.FAILED,
                error_class=ErrorClass.INTERNAL_ERROR.value,
                error_json={"detail": error.message},
            )
        except Exception:  # our fault: the run must not stay open because of it
            log.exception("run %s could not be dispatched", run.id)
            ending = Ending(
                status=RunStatus.FAILED,
                error_class=ErrorClass.INTERNAL_ERROR.value,
                error_json={"detail": "the platform failed; see the server's log"},
            )
        await self._end(run, ending, session)

    async def _converse(self, claimed: ClaimedRun, session: _Session) -> DispatchFailed | None:
        seed = claimed.run.seed
        session.is_conversation = seed.is_conversation
        turn = 0
        words = await self._next_user_message(claimed, session, turn)
        while words is not None:
            session.history.append(Message(role="user", content=words))
            if turn and seed.needs_model and is_ended_by(seed.termination_keyword, words):
                session.ended_by = "user_keyword"
                break
            envelope = self._envelope(claimed, seed, words, session)
            outcome = await self._send(claimed, envelope)
            if isinstance(outcome, DispatchFailed):
                session.warnings += outcome.warnings
                session.warnings += outcome.reply.soft_warnings if outcome.reply is not None else ()
                session.ended_by = "agent_failed"
                return outcome
            self._record_reply(session, outcome.reply, turn)
            if is_ended_by(seed.termination_keyword, outcome.reply.final_response):
                session.ended_by = "agent_keyword"
                break
            turn += 1
            words = await self._next_user_message(claimed, session, turn)
        return None

    async def _next_user_message(self, claimed: ClaimedRun, session: _Session, turn: int) -> str | None:
        """What the user says on this turn, the first being 0; None where there is no such turn."""
        seed = claimed.run.seed
        if not turn:
            return seed.user_instruction
        if not seed.is_conversation or turn >= seed.max_turns:
            session.ended_by = "max_turns"
            return None
        if not seed.needs_model:
            session.ended_by = "script"
            return seed.scripted_user_turns[turn - 1] if turn <= len(seed.scripted_user_turns) else None
        run = claimed.run
        session.asker = session.asker or await asker_of_run(
            self._platform,
            org_id=run.org_id,
            run_id=run.id,
            batch_id=run.batch_id,
            agent=claimed.agent,
            dataset_id=run.dataset_id,
        )
        models = self._platform.models
        message = await next_turn(models, session.asker, run, session.history, seed.max_turns - turn)
        session.user_turns.append(message.as_json(turn + 1))
        if not message.is_last:
            return message.words.message
        session.ended_by, session.reason = "user", message.words.reason
        if message.words.message:  # a farewell: part of what was said, and nobody answers it
            session.history.append(Message(role="user", content=message.words.message))
        return None

    async def _send(self, claimed: ClaimedRun, envelope: Envelope) -> Outcome:
        agent = claimed.agent
        scenario = scenario_of(claimed.run.seed)
        if agent.definition.is_code:
            return await self._code_runner.dispatch(agent, envelope, claimed.run.batch_id, scenario)
        if scenario is not None:
            return DispatchFailed(
                error_class=ErrorClass.AGENT_UNREACHABLE,
                detail=f"this {HTTP_REFUSAL}",
                reached="no",
                hint=HTTP_HINT,
            )
        return await self._client.dispatch(target_of(self._platform, agent), envelope)

    def _record_reply(self, session: _Session, reply: AgentReply, turn: int) -> None:
        prefix = f"turn {turn + 1}: " if turn else ""
        session.warnings += [prefix + warning for warning in reply.soft_warnings]
        session.is_thin |= reply.is_thin
        session.responses.append(reply.final_response)
        messages = reply.messages
        if session.is_conversation and messages is not None:
            session.transcript_bytes += len(dumps(reply.messages_json()))
            if session.transcript_bytes > MAX_REPLY_BYTES:
                session.warnings.append(f"{prefix}{TRANSCRIPT_FULL}")
                messages = None
        session.history = after_turn(session.history, messages, reply.final_response)
        session.last = reply

    def _envelope(self, claimed: ClaimedRun, seed: Seed, said: str, session: _Session) -> Envelope:
        run = claimed.run
        # Code starts anew on every turn and remembers nothing: it is always told what was said.
        is_told = seed.is_conversation and (seed.memory_mode == "replay" or claimed.agent.definition.is_code)
        return Envelope(
            run_id=run.id,
            task_id=run.task_id,
            agent_id=run.agent_id,
            user_instruction=said,
            odyssey_proxy_url=f"{self._public_url}{PROXY_BASE}/runs/{run.jti}",
            run_token=claimed.token,
            run_token_jti=run.jti,
            task_input=seed.task_input,
            messages=[message.as_json() for message in session.history] if is_told else None,
            session_id=run.jti if seed.is_conversation and seed.memory_mode != "replay" else None,
            system_prompt_addition=seed.system_prompt_addition,
            variation=seed.variation,
        )

    def _fault_ending(self, run: Run, session: _Session, fault: SimulatorFault) -> Ending:
        """What was said until then is kept. The agent is not judged by it."""
        session.ended_by, session.reason = "simulator_fault", str(fault)
        return Ending(
            status=RunStatus.FAILED,
            final_response=session.last.final_response if session.last is not None else None,
            messages=[message.as_json() for message in session.history],
            metadata=self._platform.live_runs.models.add_to_metadata(run.id, None),
            error_class=ErrorClass.SIMULATOR_FAULT.value,
            error_json=fault.as_json(),
            judge_error=str(fault),  # so that people see it; it counts for and against nobody
            conversation=self._conversation(run, session),
        )

    def _budget_ending(self, run: Run, session: _Session) -> Ending:
        """Cancelled, as the batch's other runs are, but with what was said."""
        session.ended_by, session.reason = "budget", batches.SPENT
        return Ending(
            status=RunStatus.CANCELLED,
            messages=[message.as_json() for message in session.history],
            error_class=ErrorClass.BUDGET_EXCEEDED.value,
            error_json={"detail": batches.SPENT},
            conversation=self._conversation(run, session),
        )

    def _conversation(self, run: Run, session: _Session) -> Json:
        if not session.is_conversation:
            return None
        named = session.asker.named if session.asker is not None else None
        model = self._platform.models.model_for(Purpose.USER, named)
        return conversation_json(
            run, session.user_turns, ended_by=session.ended_by, reason=session.reason, model=model
        )

    def _ending(self, run: Run, session: _Session, failed: DispatchFailed | None) -> Ending:
        add_to_metadata = self._platform.live_runs.models.add_to_metadata
        messages: list[Json] = [message.as_json() for message in session.history]
        if failed is not None:
            sent = failed.reply  # read, but against the response contract: its author wants to see it
            messages_sent = sent.messages_json() if sent is not None else None
            return Ending(
                status=RunStatus.FAILED,
                final_response=sent.final_response if sent is not None else None,
                messages=messages if session.is_conversation else messages_sent,
                metadata=add_to_metadata(run.id, sent.metadata if sent is not None else None),
                error_class=failed.error_class.value,
                error_json=failed.as_json(),
                conversation=self._conversation(run, session),
            )
        assert session.last is not None
        return Ending(
            status=RunStatus.COMPLETED,
            final_response=session.last.final_response,
            messages=messages if session.is_conversation else session.last.messages_json(),
            metadata=add_to_metadata(run.id, session.last.metadata),
            conversation=self._conversation(run, session),
        )

    async def _end(self, run: Run, ending: Ending, session: _Session) -> None:
        """The world is closed first, so that the verdict is about all that ever happens in it."""
        is_thin = session.is_thin and ending.status is RunStatus.COMPLETED
        thin = [NO_MESSAGES] if is_thin else []
        whole = replace(ending, soft_warnings=[*_as_list(run.soft_warnings), *session.warnings, *thin])
        for _ in range(END_TRIES):
            try:
                await self._platform.live_runs.close(run.id)
                await judge_and_end(self._platform, run, whole, tuple(session.responses))
                if run.seed.coding_scenario is not None:
                    await flag_signs(self._platform, run)
                break
            except StorageUnavailable as error:  # the agent's work is done: worth some patience
                log.warning("the end of run %s waits for the database: %s", run.id, error)
                await asyncio.sleep(RETRY_S)
        self._platform.live_runs.let_go(run.id)


def is_ended_by(keyword: str | None, reply: str) -> bool:
    return keyword is not None and keyword.casefold() in reply.casefold()


def target_of(platform: Platform, agent: Agent) -> AgentTarget:
    """Where an agent is reached, its secret opened for the moment of use."""
    definition = agent.definition
    value = None
    if agent.sealed_auth_header is not None:
        row = f"{agent.org_id}|agent|{agent.id}"
        try:
            value = platform.secrets.open(agent.sealed_auth_header, row=row)
        except UnreadableSecret:
            raise SecretUnreadable from None
    assert definition.endpoint_url is not None, "without code an agent is not published without one"
    return AgentTarget(
        endpoint_url=definition.endpoint_url,
        auth_header_name=definition.auth_header_name,
        auth_header_value=value,
        timeout_s=float(definition.run_timeout_s),
        response_contract=definition.response_contract,
        org_id=agent.org_id,
    )


def _as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
