"""Sentences of behaviour texts: how they are read, and rules that a model proposes for them, in force once a
person accepts them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.engine.simulation import read_sentences, translate_rules
from pipelines.engine.simulation.author_jobs import find_job
from pipelines.server.api.common import (
    Contributor,
    Id,
    OptionalId,
    Ours,
    Viewer,
    answer,
    json_body,
    read_json_object,
)
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.api.schemas import bodies
from pipelines.storage.agents.authored_rules import AuthoredRule

router = APIRouter(tags=["datasets"])
RULES = "/api/datasets/{dataset_id}/rules"


_Examples = Annotated[bool, Query(description="with calls that show what each rule does")]


@router.get("/api/datasets/{dataset_id}/sentences")
async def list_dataset_sentences(
    dataset_id: Id, platform: Ours, key: Viewer, agent_id: OptionalId = None, examples: _Examples = False
) -> Response:
    """How each sentence of its behaviour texts is read by the tools of its agent or another.

    Of its first 200 tasks, and as many texts as ten seconds allow.
    """
    found = await read_sentences.sentences_of_dataset(
        platform, key.org_id, dataset_id, agent_id, with_examples=examples
    )
    return answer(found)


@router.get("/api/tasks/{task_id}/sentences")
async def list_task_sentences(
    task_id: Id,
    platform: Ours,
    key: Viewer,
    agent_id: OptionalId = None,
    examples: _Examples = False,
) -> Response:
    """How each sentence of its behaviour text is read in its world: as which rules, or why not."""
    found = await read_sentences.sentences_of_task(
        platform, key.org_id, task_id, agent_id, with_examples=examples
    )
    return answer(found)


@router.get(RULES)
async def list_rules(dataset_id: Id, platform: Ours, key: Viewer) -> Response:
    """What models made of sentences, newest first, and what was decided on it."""
    return _listed(await translate_rules.read_rules(platform, key.org_id, dataset_id))


@router.post(f"{RULES}/propose", status_code=202, openapi_extra=json_body(bodies.PROPOSE_RULES))
async def propose_rules(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Ask the author's model for rules, and try each on a task's world. Nothing of it is in force.

    The answer is a job: look at it with `GET /api/author-jobs/{job_id}`. The model is asked about the
    sentences that are not read, or about those that are named. 422 `model_not_configured` where no model is
    set.
    """
    body = await read_json_object(request)
    job = await translate_rules.propose_rules(platform, key.org_id, dataset_id, body)
    return answer(job.as_json(), 202)


@router.get("/api/author-jobs/{job_id}")
async def get_author_job(
    job_id: Id, platform: Ours, key: Viewer, wait_s: Annotated[float, Query(ge=0, le=25)] = 0
) -> Response:
    """How far a question to the author's model is, then its `answer` or its `error`. With `wait_s` the
    request waits so long for the end."""
    job = await find_job(platform, key.org_id, job_id, wait_s=wait_s)
    return answer(job.as_json())


@router.post(f"{RULES}/accept", openapi_extra=json_body(bodies.ACCEPT_RULES))
async def accept_rules(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Put proposed rules in force, all or none, in runs that are made from now on. 409 names those that were
    decided on already."""
    ids = translate_rules.read_rule_ids(await read_json_object(request))
    by = reviewer_of(key, None)
    return _listed(await translate_rules.accept_rules(platform, key.org_id, dataset_id, ids, by))


@router.post(f"{RULES}/dismiss", openapi_extra=json_body(bodies.DISMISS_SENTENCES))
async def dismiss_sentences(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Say that sentences are not to be enforced, by intent. In runs that are made from now on they have no
    effect, are not reported, and hand no call to a simulator model. Reject the result to take it back."""
    sentences = translate_rules.read_dismissed(await read_json_object(request))
    by = reviewer_of(key, None)
    return _listed(await translate_rules.dismiss_sentences(platform, key.org_id, dataset_id, sentences, by))


@router.post(f"{RULES}/{{rule_id}}/accept")
async def accept_rule(dataset_id: Id, rule_id: Id, platform: Ours, key: Contributor) -> Response:
    """Put a proposed rule in force, in runs that are made from now on, in place of what held for its sentence
    before."""
    by = reviewer_of(key, None)
    rule = await translate_rules.accept_rule(platform, key.org_id, dataset_id, rule_id, by)
    return answer(rule.as_json())


@router.post(f"{RULES}/{{rule_id}}/reject")
async def reject_rule(dataset_id: Id, rule_id: Id, platform: Ours, key: Contributor) -> Response:
    """Reject a proposal, or take a rule back: runs that were made under it keep it."""
    by = reviewer_of(key, None)
    rule = await translate_rules.reject_rule(platform, key.org_id, dataset_id, rule_id, by)
    return answer(rule.as_json())


def _listed(rules: list[AuthoredRule]) -> Response:
    return answer({"items": [rule.as_json() for rule in rules], "next_cursor": None})
