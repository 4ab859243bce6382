"""/worlds/new: the form that starts a seed session."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.core.models.model_budget import FIELDS as BUDGET_FIELDS
from pipelines.core.tasks.seed_limits import LONGEST_BEHAVIOR
from pipelines.core.tasks.seed_session import DEFAULT_BUCKETS, EMBEDDED, LONGEST_THEME, MODEL
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.worlds.estimate_session import estimate_new_session
from pipelines.engine.worlds.open_session import open_session
from pipelines.server.api.common import platform_of
from pipelines.server.pages.form_fields import (
    budget_in,
    number_in,
    number_or_text,
    problems_by_field,
    problems_in,
    refusal_status,
)
from pipelines.server.pages.page import go, page
from pipelines.server.pages.tasks.datasets import AGENTS_OFFERED, ChosenId
from pipelines.server.pages.visitor import Visitor, Writer, form_texts
from pipelines.storage.lists.dataset_lists import agent_choices
from pipelines.wire.errors import OdysseyError

router = APIRouter()
BUCKETS = 6  # that the form has room for; the API takes more
FIELDS = (
    *("agent_id", "name", "size", "behavior", "instructions", "rng_seed", "now", "author"),
    *("max_cost_usd", "max_model_tokens"),
)
AUTHORS = (
    (EMBEDDED, "Odyssey: free, immediate, and repeatable with a seed"),
    (MODEL, "A model: more varied texts and cases, with the same checks and proofs"),
)
SEEN = "seen_tokens"  # the estimate that was shown: what is asked of a model is said before it is asked
SIZES = (
    ("compact", "Compact: about 6 of each type"),
    ("standard", "Standard: about 12 of each type"),
    ("rich", "Rich: about 20 of each type"),
)


@router.get("/worlds/new")
async def new_world_page(request: Request, visitor: Writer, agent_id: ChosenId = "") -> Response:
    form = dict.fromkeys(FIELDS, "") | {"agent_id": agent_id, "size": "standard", "author": EMBEDDED}
    for at, bucket in enumerate(DEFAULT_BUCKETS, 1):
        form |= {
            f"bucket_{at}_name": bucket.name,
            f"bucket_{at}_theme": bucket.theme,
            f"bucket_{at}_rows": str(bucket.rows),
        }
    return await _form_page(request, visitor, form)


@router.post("/worlds")
async def create(request: Request, visitor: Writer) -> Response:
    form = _filled(await form_texts(request))
    seen = number_in(form[SEEN])
    try:
        body = _body(form)
        if form["author"] == MODEL:
            foreseen: Any = await estimate_new_session(platform_of(request), visitor.org_id, body)
            if foreseen["total"]["tokens"] != seen:
                return await _form_page(request, visitor, form, foreseen=foreseen)
        session = await open_session(platform_of(request), visitor.org_id, visitor.identity.name, body)
    except (Refused, OdysseyError) as error:
        status = refusal_status(error)
        return await _form_page(request, visitor, form, problems=problems_in(error), status=status)
    return go(f"/worlds/{session.id}", "The world is created. Review it before you continue to the rows.")


def _filled(given: Mapping[str, str]) -> dict[str, str]:
    longest = {"behavior": LONGEST_BEHAVIOR, "instructions": LONGEST_BEHAVIOR}
    names = [*FIELDS, SEEN, *(name for at in range(1, BUCKETS + 1) for name in _bucket_fields(at))]
    return {name: given.get(name, "").strip()[: longest.get(name, LONGEST_THEME)] for name in names}


def _bucket_fields(at: int) -> tuple[str, str, str]:
    return f"bucket_{at}_name", f"bucket_{at}_theme", f"bucket_{at}_rows"


def _body(form: Mapping[str, str]) -> JsonObject:
    """The body for the API. A field that is not a number stays text, so that the API reports it with the
    other problems."""
    body: JsonObject = {}
    for name in FIELDS:
        if form[name] and name not in BUDGET_FIELDS:
            body[name] = number_or_text(form[name]) if name in ("agent_id", "rng_seed") else form[name]
    buckets: list[Json] = []
    for at in range(1, BUCKETS + 1):
        name, theme, rows = (form[field] for field in _bucket_fields(at))
        if name or rows:
            bucket: JsonObject = {"name": name or None, "rows": number_or_text(rows) if rows else None}
            buckets.append(bucket | ({"theme": theme} if theme else {}))
    budget = budget_in(form) if form["author"] == MODEL else {}
    return body | budget | ({"buckets": buckets} if buckets else {})


async def _form_page(
    request: Request,
    visitor: Visitor,
    form: dict[str, str],
    *,
    problems: list[Problem] | None = None,
    status: int = 200,
    foreseen: JsonObject | None = None,
) -> Response:
    agents = await platform_of(request).database.read(
        lambda connection: agent_choices(connection, visitor.org_id, most=AGENTS_OFFERED)
    )
    found: dict[str, Any] = problems_by_field(problems or (), (*FIELDS, "buckets"))
    return await page(
        request,
        visitor,
        "world_new.html",
        title="New world",
        here="worlds",
        trail=[("Worlds", "/worlds")],
        status=status,
        form={**{name: "" for at in range(1, BUCKETS + 1) for name in _bucket_fields(at)}, **form},
        at={name: found.get(name, []) for name in (*FIELDS, "buckets")},
        others=found.get("", []),
        is_refused=bool(problems),
        agents=agents,
        sizes=SIZES,
        authors=AUTHORS,
        foreseen=foreseen,
        bucket_count=BUCKETS,
    )
