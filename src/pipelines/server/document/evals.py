"""The eval library: scenarios, variations, eval runs and drafts, as they are answered."""

from pipelines.core.evals.scoring.observed import Observed
from pipelines.server.document.derived import properties_of
from pipelines.server.document.parts import (
    ANY,
    ID,
    MOMENT,
    NUMBER,
    OBJECT,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    by_name,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.server.document.runs import ERROR_CLASS, FAILURE_MODE, RUN, RUN_STATUS, VERDICT
from pipelines.storage.evals.drafts import DraftHead, StoredDraft
from pipelines.storage.evals.eval_scenarios import StoredScenario

RISK = one_of(("low", "medium", "high", "critical"))
DELIVERY = one_of(("system", "user", "tool_result"))
_EXPECTED = told(OBJECT, "leaves are literals or matchers")
_OWN = {
    "name": TEXT,
    "description": TEXT,
    "risk_level": RISK,
    "input_context": OBJECT,
    "expected_behavior": _EXPECTED,
}
_MORE = {
    "match_mode": one_of(("subset", "exact")),
    "prohibited": listed(OBJECT),
    "decision_fields": listed(TEXT),
    "fields": OBJECT,
    "decision_labels": by_name(listed(TEXT)),
    "observe": one_of(("final_response", "tool_calls")),
    "instruction": TEXT,
    "agent_id": ID,
    "odyssey_seed": OBJECT,
    "tags": listed(TEXT),
    "variations": told(by_name(OBJECT), "what is expected under a variation, by its id"),
}
_SCENARIO = {"id": TEXT, "version": ID, **_OWN, "created_at": MOMENT, "updated_at": MOMENT}
_LISTED = {
    "id": ID,
    "matrix_id": TEXT,
    "scenario_id": TEXT,
    "scenario_version": ID,
    "risk_level": RISK,
    "variation": told(or_null(TEXT), "null: a baseline"),
    "variation_version": or_null(ID),
    "intensity": or_null(WHOLE),
    "wording": or_null(WHOLE),
    "delivery": or_null(DELIVERY),
    "text_hash": told(or_null(TEXT), "of the injected text"),
    "agent_id": ID,
    "agent_version": ID,
    "task_id": ID,
    "batch_id": ID,
    "repeat_number": WHOLE,
    "retried": YES_NO,
    "status": RUN_STATUS,
    "error_class": or_null(ERROR_CLASS),
    "verdict": or_null(VERDICT),
    "output_class": told(or_null(TEXT), "object, text, refusal, unparseable, empty"),
    "matched": or_null(YES_NO),
    "match_score": or_null(NUMBER),
    "shift": told(or_null(NUMBER), "0 to 1"),
    "is_flagged": or_null(YES_NO),
    "fingerprint": or_null(TEXT),
    "created_at": MOMENT,
    "started_at": or_null(MOMENT),
    "ended_at": or_null(MOMENT),
}
_OF_RUN = ("final_response", "metadata", "judge_error", "error_json", "soft_warnings", "simulated_now")
_WHOLE_DRAFT = properties_of(StoredDraft)
SCHEMAS: Schemas = {
    "ScenarioPage": page_of("Scenario", "scenarios"),
    "WholeScenario": record(
        "A scenario with the versions it had and what reviewers decided about it.",
        {**_SCENARIO, "versions": listed(ref("ScenarioVersion")), "marks": listed(ref("Mark"))},
        _MORE,
    ),
    "ScenarioVersion": record("A version.", {"version": ID, "created_at": MOMENT}),
    "AdoptedScenario": record("The scenario of a draft.", {**_SCENARIO, "draft_id": TEXT}, _MORE),
    "Variation": record(
        "A variation with its wordings by intensity.",
        {
            "id": TEXT,
            "version": ID,
            "name": TEXT,
            "tests": TEXT,
            "wordings": by_name(listed(TEXT)),
            "wording_hashes": by_name(listed(TEXT)),
            "is_builtin": YES_NO,
        },
        {"direction": TEXT, "pushes_toward": OBJECT, "is_placebo": YES_NO},
    ),
    "VariationPage": page_of("Variation", "variations"),
    "EvalRunSummary": record("An eval run in a list.", _LISTED),
    "EvalRunPage": page_of("EvalRunSummary", "eval runs"),
    "EvalRun": record(
        "What a run was told, what the agent did, what it missed and what moved.",
        {
            **_LISTED,
            **{name: RUN[name] for name in _OF_RUN},
            "judgement": RUN["judgement"],
            "failure_mode": or_null(FAILURE_MODE),
            "pending_reason": RUN["pending_reason"],
            "unverified": RUN["unverified"],
            "dispatched_at": or_null(MOMENT),
            "scenario": record(
                "What was asked.",
                {"id": TEXT, "version": ID, "name": TEXT, "risk_level": RISK, "expected_behavior": _EXPECTED},
            ),
            "input": record(
                "What the agent was given.",
                {"user_instruction": TEXT, "input_context": ANY, "system_prompt_addition": or_null(TEXT)},
            ),
            "injection": or_null(ref("Injection")),
            "observed": or_null(ref("Observed")),
            "match": or_null(ref("Match")),
            "shift": or_null(ref("Shift")),
            "agent": told(or_null(OBJECT), "what the fingerprint is made of"),
            "links": by_name(TEXT),
        },
    ),
    "Injection": record(
        "The text that a variation added.",
        {
            "variation": or_null(TEXT),
            "intensity": or_null(WHOLE),
            "wording": or_null(WHOLE),
            "delivery": or_null(DELIVERY),
            "text": or_null(TEXT),
        },
        {"task_id": ID, "version": or_null(ID), "text_hash": or_null(TEXT)},
    ),
    "Match": record(
        "Whether an output holds what was expected.",
        {
            "matched": YES_NO,
            "score": NUMBER,
            "missed": listed(
                record("A leaf that did not hold.", {"path": TEXT, "expected": ANY}, {"actual": ANY})
            ),
            "prohibited": told(listed(WHOLE), "places in `prohibited`"),
            "problem": or_null(TEXT),
        },
    ),
    "ShiftComponent": record(
        "How far one leaf moved.",
        {"path": TEXT, "kind": TEXT, "from": ANY, "to": ANY},
        {"weight": NUMBER, "distance": NUMBER, "from_missing": YES_NO, "to_missing": YES_NO, "runs": WHOLE},
    ),
    "Shift": record(
        "How far an output is from the reference.",
        {
            "distance": NUMBER,
            "components": listed(ref("ShiftComponent")),
            "extra_paths": listed(TEXT),
            "method": TEXT,
            "is_flip": YES_NO,
            "reference_run": ID,
            "reference": ref("Observed"),
            "baselines": listed(ID),
        },
    ),
    "DraftPage": page_of("DraftSummary", "drafts"),
    "FoundDraft": record("A draft, and whether this look found it.", {**_WHOLE_DRAFT, "is_new": YES_NO}),
    "Drafting": record(
        "What a look at telemetry found, and what it went through.",
        {
            "scenarios": listed(ref("FoundDraft")),
            "created": WHOLE,
            "looked_at": record(
                "What was looked at.",
                {
                    "device_id": or_null(TEXT),
                    "device_id_matched": or_null(by_name(WHOLE)),
                    "lookback_hours": WHOLE,
                    "spans": WHOLE,
                    "skills": WHOLE,
                    "input_shapes": WHOLE,
                    "left_out": told(by_name(WHOLE), "how many, by why"),
                    "found": WHOLE,
                },
            ),
            "notes": listed(TEXT),
        },
    ),
}
_EVAL = "/api/v1/eval"
RECORDS = (DraftHead, StoredScenario, Observed, StoredDraft)
OPERATIONS = (
    Operation("create_scenario", "POST", f"{_EVAL}/scenarios", {201: StoredScenario}),
    Operation("list_scenarios", "GET", f"{_EVAL}/scenarios", {200: "ScenarioPage"}),
    Operation("get_scenario", "GET", _EVAL + "/scenarios/{scenario_id}", {200: "WholeScenario"}),
    Operation("change_scenario", "PUT", _EVAL + "/scenarios/{scenario_id}", {200: StoredScenario}),
    Operation("delete_scenario", "DELETE", _EVAL + "/scenarios/{scenario_id}", {204: None}),
    Operation("list_variations", "GET", f"{_EVAL}/variations", {200: "VariationPage"}),
    Operation("create_variation", "POST", f"{_EVAL}/variations", {201: "Variation"}),
    Operation("get_variation", "GET", _EVAL + "/variations/{variation_id}", {200: "Variation"}),
    Operation("create_eval_run", "POST", f"{_EVAL}/runs", {202: "OpenedMatrix"}),
    Operation("list_eval_runs", "GET", f"{_EVAL}/runs", {200: "EvalRunPage"}),
    Operation("get_eval_run", "GET", _EVAL + "/runs/{run_id}", {200: "EvalRun"}),
    Operation("draft_scenarios", "POST", f"{_EVAL}/scenarios/auto-generate", {200: "Drafting"}),
    Operation("list_drafts", "GET", f"{_EVAL}/drafts", {200: "DraftPage"}),
    Operation("get_draft", "GET", _EVAL + "/drafts/{draft_id}", {200: StoredDraft}),
    Operation("adopt_draft", "POST", _EVAL + "/drafts/{draft_id}/adopt", {201: "AdoptedScenario"}),
    Operation("dismiss_draft", "POST", _EVAL + "/drafts/{draft_id}/dismiss", {200: StoredDraft}),
)
