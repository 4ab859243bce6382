"""Sentences of behaviour texts that are not understood, and what a model made of them: to be decided on."""

from fastapi import APIRouter, Request, Response

from pipelines.core.model_question import Purpose
from pipelines.core.problems import Refused
from pipelines.engine import translate_rules
from pipelines.engine.platform import Platform
from pipelines.engine.upload_tasks import find_dataset
from pipelines.server.api.common import Id, platform_of
from pipelines.server.pages.page import go, page
from pipelines.server.pages.visitor import Reader, Visitor, Writer
from pipelines.storage.datasets import Dataset
from pipelines.web.pretty_json import pretty_json
from pipelines.wire.errors import Conflict, ModelFailed, ModelNotConfigured, OdysseyError

router = APIRouter()


@router.get("/datasets/{dataset_id}/rules")
async def rules_page(dataset_id: Id, request: Request, visitor: Reader) -> Response:
    return await _page(request, visitor, dataset_id)


@router.post("/datasets/{dataset_id}/rules")
async def post_propose(dataset_id: Id, request: Request, visitor: Writer) -> Response:
    """Ask the author's model. What comes of it is in force nowhere."""
    try:
        found = await translate_rules.propose_rules(platform_of(request), visitor.org_id, dataset_id, {})
    except Refused as refused:
        return await _page(request, visitor, dataset_id, said=refused.problems[0].said())
    except (ModelFailed, ModelNotConfigured) as failed:
        return await _page(request, visitor, dataset_id, said=failed.message)
    told = f"{len(found)} sentences were asked for." if found else "Every sentence is understood."
    return go(f"/datasets/{dataset_id}/rules", told)


@router.post("/datasets/{dataset_id}/rules/{rule_id}/accept")
async def post_accept(dataset_id: Id, rule_id: Id, request: Request, visitor: Writer) -> Response:
    platform, by = platform_of(request), visitor.identity.name
    try:
        await translate_rules.accept_rule(platform, visitor.org_id, dataset_id, rule_id, by)
    except Conflict as conflict:
        return await _page(request, visitor, dataset_id, said=conflict.message)
    return go(f"/datasets/{dataset_id}/rules", "The rule holds in runs that are made from now on.")


@router.post("/datasets/{dataset_id}/rules/{rule_id}/reject")
async def post_reject(dataset_id: Id, rule_id: Id, request: Request, visitor: Writer) -> Response:
    platform, by = platform_of(request), visitor.identity.name
    try:
        await translate_rules.reject_rule(platform, visitor.org_id, dataset_id, rule_id, by)
    except Conflict as conflict:
        return await _page(request, visitor, dataset_id, said=conflict.message)
    return go(f"/datasets/{dataset_id}/rules", "The rule is not in force.")


async def _page(request: Request, visitor: Visitor, dataset_id: int, *, said: str = "") -> Response:
    platform = platform_of(request)
    dataset = await find_dataset(platform, visitor.org_id, dataset_id)
    rules = await translate_rules.read_rules(platform, visitor.org_id, dataset_id)
    return await page(
        request,
        visitor,
        "dataset_rules.html",
        title="Rules",
        here="datasets",
        trail=[("Datasets", "/datasets"), (dataset.name, f"/datasets/{dataset.id}")],
        status=409 if said else 200,
        dataset=dataset,
        rules=[(rule, pretty_json(rule.rules)) for rule in rules],
        why_not=await _why_not(platform, dataset),
        failed=said,
    )


async def _why_not(platform: Platform, dataset: Dataset) -> str:
    """Why nothing can be asked for; empty where it can."""
    if dataset.agent_id is None:
        return "The dataset names no agent, whose tools a rule is about. By API an agent_id can be given."
    try:
        platform.models.needed(Purpose.AUTHOR, await translate_rules.models_for(platform, dataset))
    except OdysseyError as error:
        return error.message
    return ""
