"""The sentences of a dataset's behaviour texts: how Odyssey reads them, and rules that a model proposes."""

from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.core.models.model_question import Purpose
from pipelines.core.simulation.sentences import call_in_words
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Refused
from pipelines.engine.find import find_dataset
from pipelines.engine.platform import Platform
from pipelines.engine.simulation import translate_rules
from pipelines.engine.simulation.author_jobs import WAITED_FOR_S, find_job, last_job
from pipelines.engine.simulation.read_sentences import sentences_of_dataset
from pipelines.server.api.common import Id, platform_of
from pipelines.server.pages.form_fields import number_in
from pipelines.server.pages.page import go, page
from pipelines.server.pages.tasks.sentence_list import (
    LONGEST_CALL,
    ReadRule,
    example_rules,
    sentence_rows,
)
from pipelines.server.pages.visitor import Reader, Visitor, Writer, read_form
from pipelines.storage.agents.author_jobs import RUNNING, AuthorJob
from pipelines.storage.agents.authored_rules import AuthoredRule
from pipelines.storage.tasks.datasets import Dataset
from pipelines.wire.errors import Conflict, ModelNotConfigured, OdysseyError

router = APIRouter()


@router.get("/datasets/{dataset_id}/rules")
async def rules_page(dataset_id: Id, request: Request, visitor: Reader) -> Response:
    return await _page(request, visitor, dataset_id)


@router.post("/datasets/{dataset_id}/rules")
async def post_propose(dataset_id: Id, request: Request, visitor: Writer) -> Response:
    """Asks the author model to translate the selected sentences, else those that Odyssey cannot read. The
    proposed rules do not apply until a person accepts them."""
    ticked: list[Json] = [str(one) for one in (await read_form(request)).getlist("sentence")]
    body: JsonObject = {"sentences": ticked} if ticked else {}
    try:
        job = await translate_rules.propose_rules(platform_of(request), visitor.org_id, dataset_id, body)
        job = await find_job(platform_of(request), visitor.org_id, job.id, wait_s=WAITED_FOR_S)
    except Refused as refused:
        return await _page(request, visitor, dataset_id, said=refused.problems[0].said())
    except ModelNotConfigured as failed:
        return await _page(request, visitor, dataset_id, said=failed.message)
    return go(f"/datasets/{dataset_id}/rules", _told(job))


def _told(job: AuthorJob) -> str:
    """Of what failed the page itself tells."""
    answer: Any = job.answer
    if answer is None:
        return "The model is asked. This page shows how far it is." if job.status == RUNNING else ""
    count = len(answer["items"])
    return (
        f"The model was asked about {count} sentences." if count else "Odyssey reads every sentence already."
    )


@router.post("/datasets/{dataset_id}/rules/dismiss")
async def post_dismiss(dataset_id: Id, request: Request, visitor: Writer) -> Response:
    """The selected sentences are not to be enforced."""
    platform, by = platform_of(request), visitor.identity.name
    ticked = [str(one) for one in (await read_form(request)).getlist("sentence")]
    if not ticked:
        return await _page(request, visitor, dataset_id, said="Select at least one sentence.")
    try:
        await translate_rules.dismiss_sentences(platform, visitor.org_id, dataset_id, ticked, by)
    except Refused as refused:
        return await _page(request, visitor, dataset_id, said=refused.problems[0].said())
    message = f"{len(ticked)} sentences are dismissed. They have no effect in runs created from now on."
    return go(f"/datasets/{dataset_id}/rules", message)


@router.post("/datasets/{dataset_id}/rules/accept")
async def post_accept_ticked(dataset_id: Id, request: Request, visitor: Writer) -> Response:
    platform, by = platform_of(request), visitor.identity.name
    ticked = [number_in(str(one)) for one in (await read_form(request)).getlist("rule_id")]
    ids = [one for one in ticked if one is not None]
    if not ids:
        return await _page(request, visitor, dataset_id, said="Select at least one rule.")
    try:
        await translate_rules.accept_rules(platform, visitor.org_id, dataset_id, ids, by)
    except Conflict as conflict:
        return await _page(request, visitor, dataset_id, said=conflict.message)
    message = f"{len({*ids})} rules are accepted. They apply to runs created from now on."
    return go(f"/datasets/{dataset_id}/rules", message)


@router.post("/datasets/{dataset_id}/rules/{rule_id}/accept")
async def post_accept(dataset_id: Id, rule_id: Id, request: Request, visitor: Writer) -> Response:
    platform, by = platform_of(request), visitor.identity.name
    try:
        await translate_rules.accept_rule(platform, visitor.org_id, dataset_id, rule_id, by)
    except Conflict as conflict:
        return await _page(request, visitor, dataset_id, said=conflict.message)
    return go(
        f"/datasets/{dataset_id}/rules", "The rule is accepted. It applies to runs created from now on."
    )


@router.post("/datasets/{dataset_id}/rules/{rule_id}/reject")
async def post_reject(dataset_id: Id, rule_id: Id, request: Request, visitor: Writer) -> Response:
    platform, by = platform_of(request), visitor.identity.name
    try:
        await translate_rules.reject_rule(platform, visitor.org_id, dataset_id, rule_id, by)
    except Conflict as conflict:
        return await _page(request, visitor, dataset_id, said=conflict.message)
    return go(f"/datasets/{dataset_id}/rules", "The rule is rejected.")


async def _page(request: Request, visitor: Visitor, dataset_id: int, *, said: str = "") -> Response:
    platform = platform_of(request)
    dataset = await find_dataset(platform, visitor.org_id, dataset_id)
    rules = await translate_rules.read_rules(platform, visitor.org_id, dataset_id)
    sentences: Any = {"items": [], "findings": [], "texts_not_read": 0}
    if dataset.agent_id is not None:
        sentences = await sentences_of_dataset(platform, visitor.org_id, dataset_id, None, with_examples=True)
    return await page(
        request,
        visitor,
        "dataset_rules.html",
        title="Rules",
        here="datasets",
        trail=[("Datasets", "/datasets"), (dataset.name, f"/datasets/{dataset.id}")],
        status=409 if said else 200,
        dataset=dataset,
        rules=[(rule, rule.as_json(), _typed_rules(rule), _example_rows(rule)) for rule in rules],
        sentences=sentence_rows(sentences["items"]),
        findings=sentences["findings"],
        texts_not_read=sentences["texts_not_read"],
        why_not=await _why_not(platform, dataset),
        failed=said,
        job=await last_job(platform, visitor.org_id, translate_rules.subject_of(dataset_id)),
        here_url=f"/datasets/{dataset_id}/rules",
    )


def _typed_rules(rule: AuthoredRule) -> list[ReadRule]:
    bodies: Any = rule.rules
    return example_rules([{"rule": body} for body in bodies])


def _example_rows(rule: AuthoredRule) -> list[tuple[str, str, str | None]]:
    """What each example call has in its world, the call with its answer, and how that differs."""
    examples: Any = rule.tried["examples"]
    return [
        (
            dumps(one["given"]).decode() if one["given"] else "",
            call_in_words(one, LONGEST_CALL),
            one["problem"],
        )
        for one in examples
    ]


async def _why_not(platform: Platform, dataset: Dataset) -> str:
    """Why the model cannot be asked; empty if it can."""
    if dataset.agent_id is None:
        return (
            "This dataset names no agent, so there are no tools to write rules"
            " for. Use the API with an agent_id instead."
        )
    try:
        platform.models.needed(Purpose.AUTHOR, await translate_rules.models_for(platform, dataset))
    except OdysseyError as error:
        return error.message
    return ""
