"""Drafts of scenarios: kept under the name of their content, until a person adopts or dismisses them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pipelines.core.evals.telemetry.drafts import Draft, Support
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, insert_row
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.database.records import Mapper, Stored, first_column
from pipelines.wire.records import As, Flat, Hidden, Moment, Record, one_of, shown

DraftStatus: TypeAlias = Literal["draft", "adopted", "dismissed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftHead(Record, component="DraftSummary"):
    """A draft in a list."""

    id: Annotated[str, Stored(column="draft_id")]
    kind: Annotated[str, one_of(("recurring", "decision_point", "edge_case"))]
    skill: str
    name: str
    status: Annotated[str, one_of(("draft", "adopted", "dismissed"))]
    confidence: float
    k: Annotated[Hidden[int], Stored(column="support_k")]
    n: Annotated[Hidden[int], Stored(column="support_n")]
    scenario_id: Annotated[str | None, "what it became"]
    created_at: Moment
    updated_at: Moment

    @shown(after="confidence")
    def support(self) -> Support:
        return Support(k=self.k, n=self.n)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDraft(Record, component="Draft"):
    """A scenario that telemetry suggests."""

    body: Annotated[Flat[JsonObject], As(Draft)]
    head: Flat[DraftHead]

    @property
    def scenario(self) -> JsonObject:
        scenario = self.body["scenario"]
        assert isinstance(scenario, dict)
        return scenario


_HEAD = Mapper(DraftHead)


def keep_drafts(
    connection: Connection, bodies: Sequence[JsonObject], *, org_id: int, now: str
) -> list[DraftHead]:
    """New ones are added, known ones get their new figures; what a person decided stays as it is."""
    for body in bodies:
        support = body["support"]
        assert isinstance(support, dict)
        named = {name: body[name] for name in ("kind", "skill", "name", "confidence")}
        row = named | {"org_id": org_id, "draft_id": body["id"], "status": "draft", "body": body}
        insert_row(
            connection,
            "eval_drafts",
            row
            | {"support_k": support["k"], "support_n": support["n"], "created_at": now, "updated_at": now},
            "ON CONFLICT (org_id, draft_id) DO UPDATE SET kind = excluded.kind, name = excluded.name,"
            " confidence = excluded.confidence, support_k = excluded.support_k,"
            " support_n = excluded.support_n, body = excluded.body, updated_at = excluded.updated_at"
            " WHERE eval_drafts.status = 'draft' AND eval_drafts.body <> excluded.body",
        )
    found = (draft_by_id(connection, org_id=org_id, draft_id=str(body["id"])) for body in bodies)
    return [draft.head for draft in found if draft is not None]


def decided_ids(connection: Connection, org_id: int) -> list[str]:
    """Drafts that a person adopted or dismissed: they do not come back."""
    statement = "SELECT draft_id FROM eval_drafts WHERE org_id = ? AND status <> 'draft' ORDER BY id"
    return first_column(connection, statement, (org_id,))


def draft_by_id(connection: Connection, *, org_id: int, draft_id: str) -> StoredDraft | None:
    row = connection.execute(
        f"SELECT {_HEAD.columns}, body FROM eval_drafts WHERE org_id = ? AND draft_id = ?", (org_id, draft_id)
    ).fetchone()
    return StoredDraft(head=_HEAD.read(row[:-1]), body=loads_own(row["body"])) if row is not None else None  # type: ignore[arg-type]


def drafts_of_org(
    connection: Connection,
    org_id: int,
    *,
    status: str | None,
    kind: str | None,
    skill: str | None,
    limit: int,
    before_id: int | None,
) -> Page[DraftHead]:
    """Newest first."""
    filters = {"org_id": org_id, "status": status, "kind": kind, "skill": skill}
    page = page_of(
        connection,
        "eval_drafts",
        filters=[Filter(column, value) for column, value in filters.items()],
        limit=limit,
        before_id=before_id,
        columns=f"{_HEAD.columns}, id",
    )
    return Page([_HEAD.read(row[:-1]) for row in page.items], page.last_id)


def decide_draft(
    connection: Connection,
    *,
    org_id: int,
    draft_id: str,
    status: DraftStatus,
    scenario_id: str | None,
    now: str,
) -> bool:
    """Whether it was open: of two people who decide at once, one does."""
    changed = connection.execute(
        "UPDATE eval_drafts SET status = ?, scenario_id = ?, updated_at = ?"
        " WHERE org_id = ? AND draft_id = ? AND status = 'draft'",
        (status, scenario_id, now, org_id, draft_id),
    )
    return changed.rowcount == 1
