"""What an agent did in one eval run, held against what its scenario expects: the run's outcome.

Part of ending the run: outcome and end are one write. A run that ended with an error has no outcome and is in
no denominator, nor has one in which the variation did not reach the agent. Two kinds of failed run are
behaviour all the same, since the agent answered: an answer that breaks only the agent's own response
contract, and an envelope whose final_response is empty.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scoring.match_score import match_score
from pipelines.core.evals.scoring.observed import Observed, observe, observe_calls
from pipelines.core.evals.scoring.unread_addition import is_in_reply
from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from pipelines.core.verdict.verdict import Outcome, Verdict
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals.eval_outcomes import EvalOutcome
from pipelines.storage.evals.evals import AskedOfRun, asked_of_run
from pipelines.storage.runs.runs import Ending, Run
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.names import RunStatus

FINGERPRINT_CHARACTERS = 16
LONGEST_FACT = 200  # characters of what an agent says about itself
_NO_JUDGE = (
    "A run of a matrix is judged by its scenario, and this one has no oracle in an odyssey_seed, such as an"
    " expected_state."
    " Whether the answer is the expected one is the run's match, at /api/v1/eval/runs/{run_id}."
)


def asked_of(connection: Connection, run: Run) -> AskedOfRun | None:
    """What the run was asked, if it is an eval run."""
    return asked_of_run(connection, task_id=run.task_id, batch_id=run.batch_id) if run.batch_id else None


def is_judged(asked: AskedOfRun) -> bool:
    """Whether the scenario says more of what counts as right than its expected behavior: an oracle for the
    embedded judge."""
    axes = scenario_of(asked.scenario_text).odyssey_seed or {}
    return any(axes.get(axis) for axis in ORACLE_AXES)


def verdict_not_judged(run: Run) -> Verdict:
    """What stands where a verdict would: nobody has to look at the run because of it."""
    return Verdict(verdict=Outcome.NOT_APPLICABLE, reasoning=_NO_JUDGE.format(run_id=run.id), grader="match")


def outcome_of(
    asked: AskedOfRun, run: Run, ending: Ending, rows: Sequence[TraceRow], now: str
) -> EvalOutcome | None:
    """None where the run ended with an error."""
    if not _is_behavior(ending) or not is_variation_delivered(run, rows):
        return None
    scenario, task = scenario_of(asked.scenario_text), asked.task
    contract = scenario.contract_under(task.variation)
    contract = replace(contract, today=run.simulated_now or contract.today)
    observed = observed_in(scenario, contract, ending.final_response, rows)
    match = match_score(contract, observed)
    parts = fingerprint_parts(run.agent_id, run.agent_version, ending.metadata, asked.tools_hash)
    return EvalOutcome(
        run_id=run.id,
        org_id=run.org_id,
        task_id=run.task_id,
        matrix_id=task.matrix_id,
        scenario_id=task.scenario_id,
        scenario_version=task.scenario_version,
        risk_level=task.risk_level,
        variation=task.variation,
        agent_id=run.agent_id,
        agent_version=run.agent_version,
        fingerprint=fingerprint(parts),
        fingerprint_parts=parts,
        output_class=observed.output_class,
        observed=observed.as_json(),
        notes=match.as_json(),
        matched=match.matched,
        match_score=match.score,
        ended_at=now,
        addition_seen=_is_addition_seen(run, ending),
    )


def _is_addition_seen(run: Run, ending: Ending) -> bool | None:
    """Whether the agent sent back what was added to its system prompt; None where nothing was."""
    addition = run.seed.system_prompt_addition
    if addition is None:
        return None
    return is_in_reply(addition, ending.messages, ending.metadata, ending.final_response)


VARIATION_NOT_DELIVERED = (
    "The variation never reached the agent: no reply of a simulated tool could carry its text. The run counts"
    " as an error of its cell."
)


def is_variation_delivered(run: Run, rows: Sequence[TraceRow]) -> bool:
    """Whether the text of the variation reached the agent, where its tools were to tell it."""
    text = run.seed.tool_result_addition
    if text is None:
        return True
    written = dumps(text).decode()[1:-1]
    return any(row.kind == TOOL_CALL and written in (row.response or "") for row in rows)


def observed_in(
    scenario: Scenario, contract: Contract, final_response: str | None, rows: Sequence[TraceRow]
) -> Observed:
    if scenario.observe == "tool_calls":
        return observe_calls([call for row in rows for call in _calls(row)], contract)
    return observe(final_response, contract)


def fingerprint_parts(agent_id: int, agent_version: int, metadata: Json, tools_hash: str) -> JsonObject:
    """What tells two states of an agent apart, as far as we are told."""
    reported = metadata if isinstance(metadata, dict) else {}
    return {
        "agent_id": agent_id,
        "agent_version": agent_version,
        "model": _short_text(reported.get("model")),
        "prompt_id": _short_text(reported.get("system_prompt_id")),
        "tools_hash": tools_hash,
    }


def fingerprint(parts: JsonObject) -> str:
    return hashlib.sha256(dumps(list(parts.values()))).hexdigest()[:FINGERPRINT_CHARACTERS]


def tools_hash(definition: AgentDefinition) -> str:
    """Of the tools as the agent's author declares them."""
    declared: list[Json] = [tool.as_json() for tool in definition.tools]
    return hashlib.sha256(dumps(declared)).hexdigest()[:FINGERPRINT_CHARACTERS]


@lru_cache(maxsize=256)
def scenario_of(body_text: str) -> Scenario:
    """A version never changes, so what was read of it is good for all its runs."""
    stored: Any = loads_own(body_text)
    return Scenario.from_stored(stored)


def _is_behavior(ending: Ending) -> bool:
    if ending.status is RunStatus.COMPLETED:
        return True
    if ending.error_class == ErrorClass.RESPONSE_CONTRACT_VIOLATION:
        return ending.final_response is not None
    error = ending.error_json
    return isinstance(error, dict) and error.get("is_empty") is True


def _calls(row: TraceRow) -> list[tuple[str, JsonObject]]:
    """A row's tool call, also one that was refused: what the agent tried is what it did."""
    if row.kind != TOOL_CALL or row.tool_name is None:
        return []
    arguments = loads_own(row.arguments) if row.arguments is not None else {}
    return [(row.tool_name, arguments if isinstance(arguments, dict) else {"": arguments})]


def _short_text(value: Json) -> Json:
    return value[:LONGEST_FACT] if isinstance(value, str) and value else None
