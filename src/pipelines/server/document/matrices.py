"""Matrices: reports, heatmaps, comparisons and summaries, as they are answered."""

from pipelines.core.evals.matrix.cell_record import MatchChange, Rate
from pipelines.core.text.json_text import JsonObject
from pipelines.server.document.batches import EVENTS
from pipelines.server.document.evals import DELIVERY, RISK
from pipelines.server.document.parts import (
    ANY,
    ID,
    MOMENT,
    NUMBER,
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

INTERVAL = told(or_null(listed(NUMBER)), "from and to; null where there is none")
_STATUS = one_of(("running", "completed", "cancelled", "budget_exceeded"))
_KIND = one_of(("matrix", "run"))
_ASKED = {
    "scenarios": WHOLE,
    "variations": listed(ref("AskedVariation")),
    "repeats": WHOLE,
    "baseline_repeats": WHOLE,
    "intensity": WHOLE,
    "delivery": DELIVERY,
    "rng_seed": WHOLE,
    "concurrency": WHOLE,
}
_BASELINES = {"baseline_run_ids": told(listed(ID), "what a run by itself is compared with")}
_MATRIX = {
    "id": TEXT,
    "matrix_id": TEXT,
    "kind": _KIND,
    "status": _STATUS,
    "batch_id": ID,
    "agent_id": ID,
    "agent_version": ID,
    "label": told(or_null(TEXT), "the build of the agent, as a person names it"),
    "note": or_null(TEXT),
    "reported_build": told(or_null(TEXT), "`metadata.build` of the first of its runs that has one"),
    "has_other_builds": told(YES_NO, "whether later runs reported another build"),
    **_ASKED,
    "created_at": MOMENT,
    "ended_at": or_null(MOMENT),
}
_CELL = {
    "scenario_id": TEXT,
    "variation": TEXT,
    "run_ids": listed(ID),
    "runs": WHOLE,
    "errors": WHOLE,
    "match_rate": ref("MatchRate"),
    "match_change": told(or_null(ref("MatchChange")), "against the baseline"),
    "shift_magnitude": or_null(NUMBER),
    "shift_max": or_null(NUMBER),
    "noise_floor": or_null(NUMBER),
    "shift_excess": or_null(NUMBER),
    "interval": INTERVAL,
    "interval_note": or_null(TEXT),
    "range": INTERVAL,
    "decision_flip_rate": or_null(NUMBER),
    "direction": TEXT,
    "directions": by_name(WHOLE),
    "toward_pressure": or_null(YES_NO),
    "p": or_null(NUMBER),
    "p_adjusted": or_null(NUMBER),
    "p_placebo": or_null(NUMBER),
    "band": or_null(one_of(("green", "amber", "red"))),
    "verdict": TEXT,
    "more_runs": told(or_null(WHOLE), "that would decide it"),
    "is_flagged": YES_NO,
    "flag_reasons": listed(TEXT),
    "expectation": TEXT,
    "components": listed(ref("ShiftComponent")),
    "pass_hat_k": by_name(NUMBER),
}
_REPORT: dict[str, JsonObject] = {
    "id": TEXT,
    "matrix_id": TEXT,
    "kind": _KIND,
    "status": _STATUS,
    "batch_id": ID,
    "matrix": record("What was asked for.", _ASKED, _BASELINES),
    "created_at": MOMENT,
    "ended_at": or_null(MOMENT),
    "progress": ref("MatrixProgress"),
    "agent": ref("MatrixAgent"),
    "settings": told(by_name(ANY), "every weight and threshold of the numbers"),
    "shift_method": TEXT,
    "summary": ref("MatrixSummary"),
}
#: Reports that were stored before have none.
_WARNED = {"warnings": told(listed(TEXT), "what makes the numbers doubtful, and what to do")}
_ROW = {
    "id": TEXT,
    "version": ID,
    "name": TEXT,
    "risk_level": RISK,
    "baseline": ref("MatrixBaseline"),
    "worst_case_match": or_null(
        record("The lowest match rate.", {"variation": or_null(TEXT), "rate": NUMBER, "k": WHOLE, "n": WHOLE})
    ),
}
_DRAWN = {"shown": TEXT, "is_hatched": YES_NO, "band": or_null(TEXT), "verdict": TEXT, "is_flagged": YES_NO}
_PLACE = {"scenario_id": TEXT, "scenario": TEXT, "variation": or_null(TEXT)}
_GROUP = {
    "runs": WHOLE,
    "errors": WHOLE,
    "scenarios": WHOLE,
    "match_rate": ref("SummaryRate"),
    "baseline_match_rate": ref("SummaryRate"),
    "under_pressure_match_rate": ref("SummaryRate"),
    "shift": ref("ShiftDistribution"),
    "flagged": record("What was flagged.", {"runs": WHOLE, "cells": WHOLE}),
}


def _group(key: dict[str, JsonObject]) -> JsonObject:
    return listed(record("Those of one kind.", {**key, **_GROUP}))


SCHEMAS: Schemas = {
    "Matrix": record("A matrix, or some runs of one scenario.", _MATRIX, _BASELINES),
    "AskedVariation": record("At which version.", {"id": TEXT, "version": ID}, {"name": TEXT}),
    "MatrixPage": page_of("Matrix", "matrices"),
    "OpenedMatrix": record(
        "A matrix that was asked for.", {**_MATRIX, "runs": WHOLE}, {**_BASELINES, "run_ids": listed(ID)}
    ),
    "MatrixState": record(
        "A matrix and how far it is.", {**_MATRIX, "progress": ref("MatrixProgress")}, _BASELINES
    ),
    "MatrixProgress": record(
        "Runs, counted.",
        {"total": WHOLE, "done": WHOLE, "running": WHOLE, "cancelled": WHOLE, "errors": WHOLE},
    ),
    "MatrixAgent": record(
        "The agent that was run.",
        {"id": ID, "name": or_null(TEXT), "version": ID, "fingerprints": listed(TEXT)},
    ),
    "MatrixSummary": record(
        "The cells by verdict, and the gate.",
        {
            "cells": WHOLE,
            "verdicts": by_name(WHOLE),
            "flagged": WHOLE,
            "gate": record(
                "Critical cells that fail for certain.",
                {
                    "holm": listed(
                        record("A cell.", {"scenario_id": TEXT, "variation": TEXT, "p_holm": NUMBER})
                    ),
                    "family": WHOLE,
                    "alpha": NUMBER,
                },
            ),
        },
    ),
    "MatrixBaseline": record(
        "Runs without a variation.",
        {
            "runs": WHOLE,
            "errors": WHOLE,
            "run_ids": listed(ID),
            "match_rate": ref("MatchRate"),
            "noise_floor": or_null(NUMBER),
            "agrees": or_null(YES_NO),
            "reference_run": or_null(ID),
            "pass_hat_k": by_name(NUMBER),
        },
    ),
    "MatrixColumn": record(
        "A variation over all scenarios.",
        {
            "id": TEXT,
            "version": ID,
            "name": TEXT,
            "is_placebo": YES_NO,
            "scenarios": WHOLE,
            "mean_shift": or_null(NUMBER),
            "interval": INTERVAL,
            "match_rate": ref("MatchRate"),
            "test": TEXT,
            "p": or_null(NUMBER),
            "p_adjusted": or_null(NUMBER),
            "p_shift": or_null(NUMBER),
        },
    ),
    "MatrixRow": record("A scenario with its baseline.", _ROW),
    "MatrixCell": record("A scenario under a variation.", _CELL),
    "MatrixReport": record(
        "A matrix with all its numbers.",
        {
            **_REPORT,
            "variations": listed(ref("MatrixColumn")),
            "scenarios": listed(ref("MatrixRow")),
            "cells": listed(ref("MatrixCell")),
        },
        _WARNED,
    ),
    "HeatmapCell": record(
        "A cell as it is drawn; of one without runs there is less.",
        {"scenario_id": TEXT, "variation": TEXT, **_DRAWN},
        {name: schema for name, schema in _CELL.items() if name not in _DRAWN},
    ),
    "Heatmap": record(
        "A matrix as it is drawn.",
        {
            **_REPORT,
            "legend": record(
                "What colours and marks mean.",
                {
                    "bands": listed(
                        record("A colour.", {"band": TEXT, "from": NUMBER, "to": NUMBER, "meaning": TEXT})
                    ),
                    "marks": by_name(TEXT),
                    "flag_above": by_name(or_null(NUMBER)),
                    "flag_from": by_name(NUMBER),
                },
            ),
            "columns": listed(ref("MatrixColumn")),
            "rows": listed(record("A scenario.", {**_ROW, "cells": listed(ref("HeatmapCell"))})),
        },
        _WARNED,
    ),
    "ComparedMatrix": record(
        "One of the two.",
        {
            "matrix_id": TEXT,
            "status": _STATUS,
            "agent": or_null(ref("MatrixAgent")),
            "shift_method": or_null(TEXT),
            "created_at": or_null(MOMENT),
            "ended_at": or_null(MOMENT),
        },
    ),
    "ComparedCell": record(
        "A cell that changed.",
        {
            **_PLACE,
            "risk_level": RISK,
            "change": one_of(("regressed", "improved", "same")),
            "is_flip": YES_NO,
            "difference": NUMBER,
            "before": by_name(ANY),
            "after": by_name(ANY),
            "p": NUMBER,
            "p_adjusted": or_null(NUMBER),
            "is_tested": YES_NO,
            "notes": listed(TEXT),
        },
    ),
    "MatrixComparison": record(
        "What flipped from one matrix to another.",
        {
            "from": ref("ComparedMatrix"),
            "to": ref("ComparedMatrix"),
            "warnings": listed(TEXT),
            "compared": WHOLE,
            "same": WHOLE,
            "flips": by_name(WHOLE),
            "test": record(
                "Whether it is more than chance.",
                {
                    "name": TEXT,
                    "unit": TEXT,
                    "pairs": WHOLE,
                    "regressed": WHOLE,
                    "improved": WHOLE,
                    "mean_difference": or_null(NUMBER),
                    "p": or_null(NUMBER),
                    "by_scenario": record(
                        "With the scenario as the unit.",
                        {"name": TEXT, "unit": TEXT, "scenarios": WHOLE, "p": or_null(NUMBER)},
                    ),
                },
            ),
            "regressions": listed(ref("ComparedCell")),
            "improvements": listed(ref("ComparedCell")),
            "not_compared": listed(record("A cell that only one has.", {**_PLACE, "reason": TEXT})),
        },
    ),
    "SummaryRate": record(
        "k of n with an interval that counts scenarios where there are several.",
        {
            "k": WHOLE,
            "n": WHOLE,
            "rate": or_null(NUMBER),
            "interval": INTERVAL,
            "unit": or_null(TEXT),
            "effective_n": WHOLE,
        },
        {"note": TEXT},
    ),
    "ShiftDistribution": record(
        "The shifts of runs under pressure.",
        {
            "n": WHOLE,
            "unscored": WHOLE,
            "mean": or_null(NUMBER),
            "interval": INTERVAL,
            "unit": or_null(TEXT),
            "bands": by_name(
                record("One colour.", {"runs": WHOLE, "share": or_null(NUMBER), "interval": INTERVAL})
            ),
            "quantiles": by_name(NUMBER),
            "histogram": told(listed(WHOLE), "tenths from 0 to 1"),
        },
        {"note": TEXT},
    ),
    "EvalSummary": record(
        "Match rates, shifts and flags of the runs that ended in a window.",
        {
            "asked": told(by_name(ANY), "the filters"),
            "overall": record("All of them.", _GROUP),
            "by_scenario": _group({"scenario_id": TEXT, "risk_level": RISK, "name": or_null(TEXT)}),
            "by_variation": _group({"variation": or_null(TEXT)}),
            "by_risk": _group({"risk_level": RISK}),
            "by_agent_version": _group({"agent_id": ID, "agent_version": ID}),
            "by_day": _group({"day": TEXT}),
        },
    ),
}
_HEATMAP = {
    "application/json": ref("Heatmap"),
    "text/csv": TEXT,
    "image/svg+xml": TEXT,
    "text/html": TEXT,
}
_MATRICES = "/api/v1/eval/matrix"
_ONE = _MATRICES + "/{matrix_id}"
RECORDS = (Rate, MatchChange)
OPERATIONS = (
    Operation("create_matrix", "POST", _MATRICES, {202: "OpenedMatrix"}),
    Operation("list_matrices", "GET", _MATRICES, {200: "MatrixPage"}),
    Operation("get_matrix", "GET", _ONE, {200: "MatrixReport"}),
    Operation("watch_matrix", "GET", f"{_ONE}/events", {200: EVENTS}),
    Operation("cancel_matrix", "POST", f"{_ONE}/cancel", {200: "MatrixState"}),
    Operation("resume_matrix", "POST", f"{_ONE}/resume", {202: "MatrixState"}),
    Operation("get_heatmap", "GET", _ONE + "/heatmap.{format}", {200: _HEATMAP}),
    Operation("compare_matrices", "GET", f"{_ONE}/compare", {200: "MatrixComparison"}),
    Operation("get_eval_summary", "GET", "/api/v1/eval/summary", {200: "EvalSummary"}),
)
