"""/runs/{id}/oracle: a form with the oracle derived from a run; saving accepts the run as correct."""

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from pipelines.core.proposed_oracles.propose_oracle import PROPOSED_AXES
from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.core.tasks.seed import EXPECTED_OUTCOMES
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.judging.accept_run import Proposal, accept_run, propose_oracle
from pipelines.server.api.common import Id, Ours
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.pages.form_fields import problems_by_field, read_json_text
from pipelines.server.pages.page import forget_counts, go, page
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.web.pretty_json import pretty_json

router = APIRouter()
OUTCOME = "expected_outcome"
#: The axes that hold JSON, each with the hint of its field.
DOCUMENTS = {
    "expected_state": "Values after the run, by path. Any other change fails the run.",
    "expected_calls": "Calls that the agent must make, or must not make.",
    "expected_answer": "Values that a correct answer must state, by name.",
}
LEAST_ROWS, MOST_ROWS = 3, 20


@router.get("/runs/{run_id}/oracle")
async def oracle_page(run_id: Id, request: Request, platform: Ours, visitor: Reader) -> Response:
    proposal = await propose_oracle(platform, visitor.org_id, run_id)
    return await _page(request, visitor, proposal, _filled(proposal.oracle.axes))


@router.post("/runs/{run_id}/oracle")
async def accept(run_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    """Saves a new version of the task's oracle. Empty fields are omitted from it."""
    typed = await form_texts(request)
    try:
        body = await _read_form(request, typed)
        who = reviewer_of(visitor.identity, None)
        done = await accept_run(platform, visitor.org_id, run_id, who, body)
    except Refused as refused:
        proposal = await propose_oracle(platform, visitor.org_id, run_id)
        return await _page(request, visitor, proposal, typed, refused.problems)
    forget_counts(request, visitor.org_id)
    judged = done.run.verdict or "not judged"
    message = (
        f"Saved as oracle version {done.version} of the task. With it, the verdict of this run is {judged}."
    )
    return go(f"/runs/{run_id}", message)


async def _read_form(request: Request, typed: Mapping[str, str]) -> JsonObject:
    """The body for the API; raises Refused with every field that is not JSON."""
    body: JsonObject = {OUTCOME: typed.get(OUTCOME) or None}
    problems: list[Problem] = []
    for name in _documents():
        try:
            text = typed.get(name, "").strip()
            body[name] = await read_json_text(request, text, f"/{name}") if text else None
        except Refused as refused:
            problems += refused.problems
    if problems:
        raise Refused(problems, "the form")
    note = typed.get("note", "").strip()
    return body | ({"note": note} if note else {})


async def _page(
    request: Request,
    visitor: Visitor,
    proposal: Proposal,
    typed: Mapping[str, str],
    problems: list[Problem] | None = None,
) -> Response:
    run = proposal.run
    trail = [("Runs", "/runs"), (f"Run {run.id}", f"/runs/{run.id}")]
    return await page(
        request,
        visitor,
        "accept_run.html",
        title="Accept this run as correct",
        here="runs",
        trail=trail,
        status=422 if problems else 200,
        proposal=proposal,
        judged=proposal.judged.as_json(),
        documents=[
            (name, hint, typed.get(name, ""), _rows(typed, name)) for name, hint in _documents().items()
        ],
        outcome=typed.get(OUTCOME, ""),
        outcomes=[("", "not said"), *((each, each.replace("_", " ")) for each in EXPECTED_OUTCOMES)],
        note=typed.get("note", ""),
        problems=problems_by_field(problems or [], (*PROPOSED_AXES, "note")),
    )


def _documents() -> dict[str, str]:
    return {name: hint for name, hint in DOCUMENTS.items() if name in ORACLE_AXES}


def _filled(axes: JsonObject) -> dict[str, str]:
    return {axis: _text(value) for axis, value in axes.items() if value is not None}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else pretty_json(value)


def _rows(typed: Mapping[str, str], name: str) -> int:
    return max(LEAST_ROWS, min(MOST_ROWS, typed.get(name, "").count("\n") + 2))
