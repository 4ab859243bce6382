"""/runs/{id}/oracle: a form with the oracle derived from a run; saving accepts the run as correct."""

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from pipelines.core.proposed_oracles.propose_oracle import PROPOSED_AXES
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.judging.accept_run import Proposal, accept_run, propose_oracle
from pipelines.server.api.common import Id, Ours
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.pages.form_fields import problems_by_field
from pipelines.server.pages.page import forget_counts, go, page
from pipelines.server.pages.tasks.oracle_fields import (
    OUTCOME,
    OUTCOMES,
    document_fields,
    filled,
    read_oracle_form,
)
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts

router = APIRouter()


@router.get("/runs/{run_id}/oracle")
async def oracle_page(run_id: Id, request: Request, platform: Ours, visitor: Reader) -> Response:
    proposal = await propose_oracle(platform, visitor.org_id, run_id)
    return await _page(request, visitor, proposal, filled(proposal.oracle.axes))


@router.post("/runs/{run_id}/oracle")
async def accept(run_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    """Saves a new version of the task's oracle. Empty fields are omitted from it."""
    typed = await form_texts(request)
    try:
        body = await read_oracle_form(request, typed, PROPOSED_AXES)
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
        documents=document_fields(typed, PROPOSED_AXES),
        outcome=typed.get(OUTCOME, ""),
        outcomes=OUTCOMES,
        note=typed.get("note", ""),
        problems=problems_by_field(problems or [], (*PROPOSED_AXES, "note")),
    )
