"""Oracles made of runs, as they are answered."""

from pipelines.core.proposed_oracles.propose_oracle import PROPOSED_AXES
from pipelines.server.document.parts import (
    ANY,
    ID,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    listed,
    or_null,
    record,
    ref,
    told,
)

_AXES = {axis: told(ANY, "as in the seed; null where the run says nothing of it") for axis in PROPOSED_AXES}
SCHEMAS: Schemas = {
    "ProposedOracle": record(
        "The oracle that a run proves.",
        {
            "run_id": ID,
            "task_id": ID,
            "oracle_version": told(WHOLE, "that the task has now"),
            "axes": record("What would count as right.", _AXES),
            "notes": told(listed(TEXT), "what to know before it is accepted"),
            "is_vacuous": told(YES_NO, "an agent that does nothing meets it"),
            "judgement": told(or_null(ref("Judgement")), "of the same run by this oracle"),
            "judge_error": told(or_null(ref("JudgeError")), "why there is none"),
        },
    ),
    "AcceptedRun": record(
        "A run that was accepted as right.",
        {
            "run_id": ID,
            "task_id": ID,
            "oracle_version": told(WHOLE, "that the task has now"),
            "warnings": told(listed(ref("Problem")), "what is questionable about the oracle"),
            "run": told(ref("Run"), "judged by it"),
        },
    ),
}
OPERATIONS = (
    Operation("get_proposed_oracle", "GET", "/api/runs/{run_id}/oracle", {200: "ProposedOracle"}),
    Operation("accept_run", "POST", "/api/runs/{run_id}/oracle/accept", {200: "AcceptedRun"}),
)
