"""Rules for sentences of a dataset's behaviour text: proposed by a model, in force once a person accepts
them."""

from fastapi import APIRouter, Request, Response

from pipelines.engine import translate_rules
from pipelines.server.api import schemas
from pipelines.server.api.common import (
    Contributor,
    Id,
    Ours,
    Viewer,
    answer,
    json_body,
    read_json_object,
)
from pipelines.server.api.eval_reviews import reviewer_of
from pipelines.storage.authored_rules import AuthoredRule

router = APIRouter(prefix="/api/datasets/{dataset_id}/rules", tags=["datasets"])


@router.get("")
async def list_rules(dataset_id: Id, platform: Ours, key: Viewer) -> Response:
    """What models made of sentences that are not understood, newest first, and what was decided on it."""
    return _listed(await translate_rules.read_rules(platform, key.org_id, dataset_id))


@router.post("/propose", status_code=201, openapi_extra=json_body(schemas.PROPOSE_RULES))
async def propose_rules(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Ask the author's model for rules, and try each on a task's world. Nothing of it is in force.

    422 `model_not_configured` where no model is set.
    """
    body = await read_json_object(request)
    return _listed(await translate_rules.propose_rules(platform, key.org_id, dataset_id, body), 201)


@router.post("/{rule_id}/accept")
async def accept_rule(dataset_id: Id, rule_id: Id, platform: Ours, key: Contributor) -> Response:
    """Put a proposed rule in force, in runs that are made from now on."""
    by = reviewer_of(key, None)
    rule = await translate_rules.accept_rule(platform, key.org_id, dataset_id, rule_id, by)
    return answer(rule.as_json())


@router.post("/{rule_id}/reject")
async def reject_rule(dataset_id: Id, rule_id: Id, platform: Ours, key: Contributor) -> Response:
    """Reject a proposal, or take a rule back: runs that were made under it keep it."""
    by = reviewer_of(key, None)
    rule = await translate_rules.reject_rule(platform, key.org_id, dataset_id, rule_id, by)
    return answer(rule.as_json())


def _listed(rules: list[AuthoredRule], status: int = 200) -> Response:
    return answer({"items": [rule.as_json() for rule in rules], "next_cursor": None}, status)
