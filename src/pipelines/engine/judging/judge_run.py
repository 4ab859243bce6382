"""A run's verdict: the evidence gathered from what is stored, judged, and written beside the run.

A judge that breaks gives an error on the run, never a pass and never a fail. An eval run gets its outcome
here too, stored with its end.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from pipelines.core.agents.agent_reply import answer_in
from pipelines.core.agents.topology import ActorStep, handoff_target, topology_warnings
from pipelines.core.ledger.ledger import World
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.models.honesty_level import STRICT
from pipelines.core.recordings.recorded_run import RECORDED
from pipelines.core.simulation.guessed_refusals import Refusal, refusal_in
from pipelines.core.tasks.oracle_axes import with_oracle_of
from pipelines.core.tasks.rubric_lines import RubricLine
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.core.tools.reply_warnings import reply_warnings
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence, TookTooLong
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.model_judge.judge_prompt import JudgeQuestion, judge_question
from pipelines.core.verdict.model_judge.rubric import PROMPT_VERSION, is_judgeable
from pipelines.core.verdict.scorers import TAMPERED
from pipelines.core.verdict.verdict import JudgeError, Outcome, Verdict
from pipelines.engine.judging import score_eval_run
from pipelines.engine.judging.choose_honesty import is_strict
from pipelines.engine.judging.stored_answers import ending_of, recording_of, responses_of, user_turns_of
from pipelines.engine.models.choose_judge import judge_model_of
from pipelines.engine.platform import JUDGE_GUESTS, JUDGES, Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.trace_rows import has_calls_after, log_of_run
from pipelines.storage.evals import eval_outcomes
from pipelines.storage.evals.eval_outcomes import EvalOutcome
from pipelines.storage.evals.evals import AskedOfRun
from pipelines.storage.runs import model_judgements, runs
from pipelines.storage.runs.model_judgements import Judge
from pipelines.storage.runs.runs import Ending, Run
from pipelines.storage.tasks import coding, oracles
from pipelines.storage.tasks.datasets import Task, task_by_id
from pipelines.wire.errors import StorageUnavailable
from pipelines.wire.names import RunStatus, Source, TraceEventType

log = logging.getLogger(__name__)
T = TypeVar("T")
MAX_REDOS = 20  # only when calls of a run still come in by another node when its agent has answered
# Threads of their own: on the database's two readers a long judgement would keep all other questions waiting.
_JUDGE_THREADS = ThreadPoolExecutor(JUDGES + JUDGE_GUESTS, thread_name_prefix="judge")
NO_CALLS = "the agent has tools, but no call reached the proxy: are its tools wired to odyssey_proxy_url?"


class _LogHasGrown(Exception):
    """Another node answered a call of the run while it was judged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeOptions:
    """By what a run is judged, where not by what it was given."""

    by_present_oracle: bool = False
    rubric: tuple[RubricLine, ...] | None = None  # in place of its task's
    is_asked: bool = False  # make up the question to a judge model, too
    honesty: str | None = None  # in place of its batch's


class OpenRun(NamedTuple):
    """A run that evidence does not decide, and a reader might."""

    verdict: Verdict
    expected_outcome: str | None
    question: JudgeQuestion | None  # where it was asked for
    about: JsonObject  # by which oracle


class JudgedRun(NamedTuple):
    ending: Ending
    open: OpenRun | None


_DEFAULT_OPTIONS = JudgeOptions()


async def judge_by_evidence(
    platform: Platform,
    run: Run,
    ending: Ending,
    responses: tuple[str, ...],
    options: JudgeOptions = _DEFAULT_OPTIONS,
) -> JudgedRun:
    """The ending with its verdict by evidence. A cancelled run has none: nothing was asked to the end."""
    found = await _judge_log(platform, run, ending, responses, options)
    return JudgedRun(found.ending, found.open)


async def read_evidence(platform: Platform, run: Run, read: Callable[[RunEvidence], T]) -> T:
    """What `read` makes of the evidence on an ended run and the present oracle of its task. It has a judge's
    turn and time: TookTooLong past that."""

    def gather(connection: Connection) -> _GatheredEvidence:
        oracle, rows = _oracle(connection, run, by_present=True), log_of_run(connection, run.id)
        return _gather_evidence(connection, platform, run, ending_of(run), responses, rows, oracle)

    def read_gathered() -> T:
        return read(_evidence(run, found, responses, time_limit(found.most_judging_s)))

    responses = responses_of(run)
    async with platform.judging.slot(SlotHolder(run.org_id, run.batch_id)):
        await _make_ready(platform, run)
        found = await platform.database.read(gather)
        return await asyncio.get_running_loop().run_in_executor(_JUDGE_THREADS, read_gathered)


async def judge_and_end(platform: Platform, run: Run, ending: Ending, responses: tuple[str, ...]) -> bool:
    """End the run with a verdict about all that ever happens in it; False when it had already ended."""
    for _ in range(MAX_REDOS):
        found = await _judge_log(platform, run, ending, responses)
        now = platform.now()
        judge = await _judge_for(platform, run, found)

        def store(
            connection: Connection, found: _JudgedLog = found, judge: Judge | None = judge, now: str = now
        ) -> tuple[bool, int | None]:
            ended = runs.end_run(connection, run_id=run.id, ending=found.ending, now=now)
            if ended and has_calls_after(connection, run.id, found.last):
                raise _LogHasGrown
            if ended and found.outcome is not None:
                eval_outcomes.add_outcome(connection, replace(found.outcome, ended_at=now))
            return ended, _request_judgement(platform, connection, run, judge, now) if ended else None

        try:
            has_ended, judgement_id = await platform.database.write(store)
        except _LogHasGrown:
            continue
        if judgement_id is not None:
            platform.judge_tasks.start(judgement_id, run.id)
        return has_ended
    raise StorageUnavailable(
        f"Run {run.id} keeps receiving calls from another server, so it could not be ended; try again."
    )


async def _judge_for(platform: Platform, run: Run, found: "_JudgedLog") -> Judge | None:
    """Who reads the run where evidence does not decide it. An eval run counts by its match: nobody does."""
    if found.open is None or found.is_eval:
        return None
    model = await judge_model_of(platform, run)
    return Judge(model, PROMPT_VERSION) if model is not None else None


def _request_judgement(
    platform: Platform, connection: Connection, run: Run, judge: Judge | None, now: str
) -> int | None:
    """Stored with the run's end: whatever happens now, the model will be asked."""
    if judge is None:
        return None
    return model_judgements.add_wanted(
        connection,
        org_id=run.org_id,
        run_id=run.id,
        batch_id=run.batch_id,
        judge=judge,
        worker=platform.judge_tasks.worker,
        now=now,
    )


class _GatheredEvidence(NamedTuple):
    """What is stored of a run, as far as its verdict rests on it."""

    ending: Ending
    rows: list[TraceRow]
    tools: tuple[Tool, ...]
    world: World
    asked: AskedOfRun | None  # of an eval run
    oracle: "_Oracle"
    most_judging_s: float
    grading: JsonObject | None = None  # of a coding run
    unenforced: tuple[str, ...] = ()  # sentences of its behaviour text
    rules: tuple[str, ...] = ()  # in force, as canonical sentences: where a model is to be asked
    is_strict: bool = False

    def about(self) -> JsonObject:
        """By what it was judged, to stand with the verdict."""
        return self.oracle.as_json() | ({"honesty": STRICT} if self.is_strict else {})


class _Oracle(NamedTuple):
    """By what a run is judged: its own oracle, unless its task's is asked for."""

    version: int
    task: Task | None = None
    rubric: tuple[RubricLine, ...] | None = None  # in place of the seed's

    def seed_of(self, run: Run) -> Seed:
        seed = run.seed if self.task is None else with_oracle_of(run.seed, self.task.seed)
        return seed if self.rubric is None else replace(seed, rubric=self.rubric)

    def as_json(self) -> JsonObject:
        return {"oracle": {"version": self.version}}


class _JudgedLog(NamedTuple):
    ending: Ending
    last: int  # the sequence of the last row it was judged on
    outcome: EvalOutcome | None = None  # of an eval run
    open: OpenRun | None = None
    is_eval: bool = False


async def _judge_log(
    platform: Platform,
    run: Run,
    ending: Ending,
    responses: tuple[str, ...],
    options: JudgeOptions = _DEFAULT_OPTIONS,
) -> _JudgedLog:
    """The orgs' judgements come by turns; reading what one
    rests on is part of it, so that a batch that ends never has all readers."""
    async with platform.judging.slot(SlotHolder(run.org_id, run.batch_id)):
        return await _judge_in_slot(platform, run, ending, responses, options)


async def _judge_in_slot(
    platform: Platform, run: Run, ending: Ending, responses: tuple[str, ...], options: JudgeOptions
) -> _JudgedLog:

    def read(connection: Connection) -> _GatheredEvidence | int:
        rows = log_of_run(connection, run.id)
        if ending.status is RunStatus.CANCELLED:
            return rows[-1].sequence if rows else 0
        oracle = _oracle(connection, run, by_present=options.by_present_oracle)._replace(
            rubric=options.rubric
        )
        found = _gather_evidence(connection, platform, run, ending, responses, rows, oracle)
        if options.is_asked:
            found = found._replace(rules=_rules_in_force(connection, platform, run))
        return found if options.honesty is None else found._replace(is_strict=options.honesty == STRICT)

    database = platform.database
    if ending.status is not RunStatus.CANCELLED and run.mode != RECORDED:
        await _make_ready(platform, run)
    found = await (database.read(read) if run.batch_id is None else database.read_for_batch(read))
    if isinstance(found, int):
        return _JudgedLog(ending, found)
    loop = asyncio.get_running_loop()
    fence_key = (
        platform.secrets.derived_key(f"judge fence|{run.id}|{run.seed_hash}") if options.is_asked else None
    )
    return await loop.run_in_executor(_JUDGE_THREADS, _judge_gathered, run, found, responses, fence_key)


def _gather_evidence(
    connection: Connection,
    platform: Platform,
    run: Run,
    ending: Ending,
    responses: tuple[str, ...],
    rows: list[TraceRow],
    oracle: _Oracle,
) -> _GatheredEvidence:
    eval_request = score_eval_run.asked_of(connection, run)
    is_judged = eval_request is None or score_eval_run.is_judged(eval_request)
    toolbox, world = platform.live_runs.tools_and_world(connection, run)
    tools, most_s = tuple(toolbox.tools.values()), platform.limits.judging_s
    if run.mode == RECORDED:  # nothing of ours answered it: what there is to know was said at its import
        strict = is_strict(connection, run, toolbox.config.honesty)
        return _GatheredEvidence(ending, rows, tools, world, eval_request, oracle, most_s, is_strict=strict)
    warnings = topology_warnings(toolbox.config, map(_actor_step, rows))
    if is_judged and not any(row.kind == TOOL_CALL for row in rows) and toolbox.tools and responses:
        warnings.append(NO_CALLS)
    if responses and not score_eval_run.is_variation_delivered(run, rows):
        warnings.append(score_eval_run.VARIATION_NOT_DELIVERED)
    warnings += platform.live_runs.rate_limited.warnings(run.id)
    warnings += platform.live_runs.models.warnings(run.id)
    warnings += reply_warnings(rows)
    warnings_read, unenforced = _load_unenforced(connection, platform, run)
    if run.mode != "manual":  # there it was said when the run was opened
        warnings += warnings_read
    called = {row.tool_name for row in rows if row.kind == TOOL_CALL and row.tool_name is not None}
    warnings += _guess_warnings(connection, platform, run, called, _refusals(rows))
    grading = coding.grading_of_run(connection, run.id) if run.seed.coding_scenario is not None else None
    warnings += tamper_warnings(grading)
    if warnings:
        ending = replace(ending, soft_warnings=[*(ending.soft_warnings or []), *warnings])
    strict = is_strict(connection, run, toolbox.config.honesty)
    return _GatheredEvidence(
        ending, rows, tools, world, eval_request, oracle, most_s, grading, unenforced, is_strict=strict
    )


def tamper_warnings(grading: JsonObject | None) -> list[str]:
    signs = grading.get("tamper_signs") if grading is not None else None
    return [f"{TAMPERED}: {sign}" for sign in signs] if isinstance(signs, list) else []


def _oracle(connection: Connection, run: Run, *, by_present: bool) -> _Oracle:
    if by_present:
        task = task_by_id(connection, org_id=run.org_id, task_id=run.task_id)
        if task is not None:
            return _Oracle(oracles.present_version(connection, run.task_id), task)
    version = oracles.version_of_run(
        connection, task_id=run.task_id, seed_hash=run.seed_hash, created_at=run.created_at
    )
    return _Oracle(version)


async def _make_ready(platform: Platform, run: Run) -> None:
    try:
        await platform.live_runs.make_ready(run)
    except StorageUnavailable:
        raise
    except Exception:  # a stored seed that cannot be read: the judge meets it next, and says so on the run
        log.exception("run %s could not be made ready to be judged", run.id)


class _Unenforced(NamedTuple):
    warnings: list[str]
    sentences: tuple[str, ...]


def _load_unenforced(connection: Connection, platform: Platform, run: Run) -> _Unenforced:
    live_runs = platform.live_runs
    try:
        return _Unenforced(
            live_runs.unenforced_warnings(connection, run), live_runs.unenforced_sentences(connection, run)
        )
    except Exception:  # a stored seed that cannot be read: the judge meets it next, and says so on the run
        log.exception("what run %s does not enforce could not be read", run.id)
        return _Unenforced([], ())


def _rules_in_force(connection: Connection, platform: Platform, run: Run) -> tuple[str, ...]:
    if run.mode == RECORDED:
        return ()
    try:
        return platform.live_runs.enforced_sentences(connection, run)
    except Exception:  # as above
        log.exception("the rules of run %s could not be read", run.id)
        return ()


def _refusals(rows: list[TraceRow]) -> list[tuple[str, Refusal]]:
    """Calls that the simulated backend refused, each with its status and error code."""
    found = []
    for row in rows:
        if row.tool_name is not None and row.source == Source.ODYSSEY and (row.http_status or 0) >= 400:
            refusal = refusal_in(row.http_status or 0, loads_own(row.response or "null"))
            found += [(row.tool_name, refusal)] if refusal is not None else []
    return found


def _guess_warnings(
    connection: Connection,
    platform: Platform,
    run: Run,
    called: set[str],
    refused: list[tuple[str, Refusal]],
) -> list[str]:
    try:
        return platform.live_runs.guess_warnings(connection, run, called, refused) if called else []
    except Exception:  # as above
        log.exception("what run %s was answered by guesses could not be read", run.id)
        return []


def _judge_gathered(
    run: Run, found: _GatheredEvidence, responses: tuple[str, ...], fence_key: bytes | None = None
) -> _JudgedLog:
    last = found.rows[-1].sequence if found.rows else 0
    if found.asked is None:
        ending, open_run = _with_verdict(run, found, responses, fence_key)
        return _JudgedLog(ending, last, open=open_run)
    open_run = None
    if score_eval_run.is_judged(found.asked):
        ending, open_run = _with_verdict(run, found, responses, fence_key)
    else:
        verdict = score_eval_run.verdict_not_judged(run)
        ending = replace(found.ending, verdict=verdict.verdict, judgement=verdict.as_json())
    try:
        outcome = score_eval_run.outcome_of(found.asked, run, ending, found.rows, run.created_at)
        return _JudgedLog(ending, last, outcome, open_run, is_eval=True)
    except Exception as error:  # no outcome rather than a wrong one: it counts as an error of its cell
        log.exception("run %s could not be matched", run.id)
        return _JudgedLog(replace(ending, judge_error=f"the match broke: {error}"), last, is_eval=True)


def _with_verdict(
    run: Run, found: _GatheredEvidence, responses: tuple[str, ...], fence_key: bytes | None
) -> tuple[Ending, OpenRun | None]:
    ending = found.ending
    keep_going = time_limit(found.most_judging_s)
    open_run = None
    try:
        evidence = _evidence(run, found, responses, keep_going)
        verdict = judge(evidence)
        if isinstance(verdict, Verdict) and verdict.verdict is Outcome.PENDING and is_judgeable(verdict):
            # What is long is cut, not read to its end: so it has time of its own.
            unhurried = replace(evidence, keep_going=time_limit(found.most_judging_s))
            open_run = _open_run(run, unhurried, verdict, found.about(), fence_key)
    except TookTooLong as error:
        verdict = JudgeError(step="limits", message=f"The run was not judged: {error}.")
    except Exception as error:  # a broken judge must never look like a bad agent
        log.exception("run %s could not be judged", run.id)
        return replace(ending, judge_error=f"the judge broke: {error}"), None
    judgement = verdict.as_json() | found.about()
    ending = replace(ending, oracle_version=found.oracle.version)
    if isinstance(verdict, JudgeError):
        return replace(ending, judge_error=verdict.message, judgement=judgement), None
    judged = replace(ending, verdict=verdict.verdict, failure_mode=verdict.failure_mode, judgement=judgement)
    return judged, open_run


def _evidence(
    run: Run, found: _GatheredEvidence, responses: tuple[str, ...], keep_going: Callable[[], None]
) -> RunEvidence:
    ending, recording = found.ending, recording_of(run)
    return RunEvidence.from_seed(
        found.oracle.seed_of(run),
        tools=found.tools,
        world=found.world,
        trace=tuple(_evidence_row(row, keep_going) for row in found.rows),
        responses=responses,
        status=ending.status.value,
        error_class=ending.error_class,
        now=run.simulated_now or None,
        grading=found.grading,
        answer=answer_in(ending.metadata),
        unenforced=found.unenforced,
        rules=found.rules,
        is_strict=found.is_strict,
        later_user_turns=user_turns_of(run)[1:] if recording is not None else None,
        has_state=recording is None or recording.has_state,
        keep_going=keep_going,
    )


def _open_run(
    run: Run, evidence: RunEvidence, verdict: Verdict, about: JsonObject, fence_key: bytes | None
) -> OpenRun:
    question = None
    if fence_key is not None:
        question = judge_question(evidence, verdict, user_turns_of(run), fence_key=fence_key)
    return OpenRun(verdict, evidence.expected_outcome, question, about)


def time_limit(most_s: float) -> Callable[[], None]:
    """Raises TookTooLong once this thread has worked so long since now."""
    until = time.thread_time() + most_s

    def keep_going() -> None:
        if time.thread_time() > until:
            raise TookTooLong(f"it would take more than {most_s:g} s to compare its answers with its log")

    return keep_going


def _evidence_row(row: TraceRow, keep_going: Callable[[], None]) -> EvidenceRow:
    keep_going()
    return EvidenceRow.from_json(row.as_json())


def _actor_step(row: TraceRow) -> ActorStep:
    is_handoff = row.kind == TraceEventType.HANDOFF and row.payload is not None
    return ActorStep(
        row.sequence,
        row.actor_id,
        row.tool_name if row.kind == TOOL_CALL else None,
        handoff_target(loads_own(row.payload or "null")) if is_handoff else None,
    )
