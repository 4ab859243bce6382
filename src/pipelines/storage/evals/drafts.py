"""Drafts of scenarios: kept under the name of their content, until a person adopts or dismisses them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.storage.database.connection import Connection, Row
from pipelines.storage.database.paging import Filter, Page, page_of

DraftStatus: TypeAlias = Literal["draft", "adopted", "dismissed"]
_HEAD = (
    "id, draft_id, kind, skill, name, status, confidence, support_k, support_n, scenario_id, created_at,"
    " updated_at"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftHead:
    """What tells drafts apart in a list."""

    id: str
    kind: str
    skill: str
    name: str
    status: str
    confidence: float
    k: int
    n: int
    scenario_id: str | None  # what it became
    created_at: str
    updated_at: str

    def as_json(self) -> JsonObject:
        return {
            "id": self.id,
            "kind": self.kind,
            "skill": self.skill,
            "name": self.name,
            "status": self.status,
            "confidence": self.confidence,
            "support": {"k": self.k, "n": self.n},
            "scenario_id": self.scenario_id,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDraft:
    head: DraftHead
    body: JsonObject  # as `core.evals.drafts` made it

    def as_json(self) -> JsonObject:
        return self.body | self.head.as_json()

    @property
    def scenario(self) -> JsonObject:
        scenario = self.body["scenario"]
        assert isinstance(scenario, dict)
        return scenario


def _head(row: Row) -> DraftHead:
    return DraftHead(
        id=row["draft_id"],
        kind=row["kind"],
        skill=row["skill"],
        name=row["name"],
        status=row["status"],
        confidence=row["confidence"],
        k=row["support_k"],
        n=row["support_n"],
        scenario_id=row["scenario_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def keep_drafts(
    connection: Connection, bodies: Sequence[JsonObject], *, org_id: int, now: str
) -> list[DraftHead]:
    """New ones are added, known ones get their new figures; what a person decided stays as it is."""
    for body in bodies:
        support = body["support"]
        assert isinstance(support, dict)
        connection.execute(
            "INSERT INTO eval_drafts (org_id, draft_id, kind, skill, name, status, confidence, support_k,"
            " support_n, body, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 'draft', ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (org_id, draft_id) DO UPDATE SET kind = excluded.kind, name = excluded.name,"
            " confidence = excluded.confidence, support_k = excluded.support_k,"
            " support_n = excluded.support_n, body = excluded.body, updated_at = excluded.updated_at"
            " WHERE eval_drafts.status = 'draft' AND eval_drafts.body <> excluded.body",
            (
                org_id,
                body["id"],
                body["kind"],
                body["skill"],
                body["name"],
                body["confidence"],
                support["k"],
                support["n"],
                dumps(body).decode(),
                now,
                now,
            ),
        )
    found = (draft_by_id(connection, org_id=org_id, draft_id=str(body["id"])) for body in bodies)
    return [draft.head for draft in found if draft is not None]


def decided_ids(connection: Connection, org_id: int) -> list[str]:
    """Drafts that a person adopted or dismissed: they do not come back."""
    rows = connection.execute(
        "SELECT draft_id FROM eval_drafts WHERE org_id = ? AND status <> 'draft' ORDER BY id", (org_id,)
    )
    return [row[0] for row in rows]


def draft_by_id(connection: Connection, *, org_id: int, draft_id: str) -> StoredDraft | None:
    row = connection.execute(
        f"SELECT {_HEAD}, body FROM eval_drafts WHERE org_id = ? AND draft_id = ?", (org_id, draft_id)
    ).fetchone()
    return StoredDraft(head=_head(row), body=loads_own(row["body"])) if row is not None else None  # type: ignore[arg-type]


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
    page = page_of(
        connection,
        "eval_drafts",
        filters=[
            Filter("org_id", org_id),
            Filter("status", status),
            Filter("kind", kind),
            Filter("skill", skill),
        ],
        limit=limit,
        before_id=before_id,
        columns=_HEAD,
    )
    return Page([_head(row) for row in page.items], page.last_id)


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
