"""Helpers of the review pages: the reviewer's name, the filters, and the next item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote, urlencode

from fastapi import Request

from pipelines.core.access.identity import TokenBearer
from pipelines.core.evals.reviews.review import RISK_RANKS, ReviewKind, ReviewStatus
from pipelines.core.evals.reviews.review_words import KINDS, LABELS
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.read_reviews import Caller, ListedPage, list_reviews, read_review
from pipelines.server.api.common import cursor_number, decode_cursor, encode_cursor
from pipelines.server.api.evals.eval_reviews import WAITING
from pipelines.server.pages.visitor import Visitor
from pipelines.storage.evals.review_queue import Place, QueueFilter
from pipelines.wire.errors import InvalidCursor, NotFound

STATUSES = ("waiting", "disputed", "decided", "any")
SHOWN = 50
WINDOW = 200  # of the queue, in which an item's neighbours are looked for
NAME_COOKIE = "odyssey_reviewer"
MOST_NAME = 255


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFilters:
    """The filters of the queue, from the URL."""

    status: str = "waiting"
    kind: str = ""
    risk: str = ""
    agent: str = ""
    mine: str = ""

    def query(self, **more: str) -> str:
        """The filters as a query string with its question mark; empty filters are omitted."""
        fields = {name: getattr(self, name) for name in ("status", "kind", "risk", "agent", "mine")}
        query = {name: value for name, value in (fields | more).items() if value}
        if query.get("status") == "waiting":
            del query["status"]
        return f"?{urlencode(query)}" if query else ""

    def filter(self, org_id: int) -> QueueFilter:
        statuses: tuple[ReviewStatus, ...] = WAITING
        if self.status != "waiting":
            statuses = tuple(ReviewStatus) if self.status == "any" else (ReviewStatus(self.status),)
        return QueueFilter(
            org_id=org_id,
            statuses=statuses,
            kind=ReviewKind(self.kind) if self.kind else None,
            risk_level=self.risk or None,
            agent_id=int(self.agent) if self.agent else None,
        )


def read_queue_filters(query: Mapping[str, str]) -> QueueFilters:
    """Parses the filters; raises Refused with all invalid ones."""
    filters = QueueFilters(**{name: query.get(name, "") for name in ("kind", "risk", "agent", "mine")})
    filters = replace(filters, status=query.get("status") or "waiting")
    problems = [
        Problem(path=name, message=f"must be one of {', '.join(choices)}, not {value[:40]!r}")
        for name, value, choices in (
            ("status", filters.status, STATUSES),
            ("kind", filters.kind, tuple(ReviewKind)),
            ("risk", filters.risk, tuple(RISK_RANKS)),
            ("mine", filters.mine, ("yes",)),
        )
        if value and value not in choices
    ]
    if filters.agent and not (
        filters.agent.isascii() and filters.agent.isdigit() and len(filters.agent) < 19
    ):
        problems.append(
            Problem(path="agent", message=f"must be an agent's number, not {filters.agent[:40]!r}")
        )
    if problems:
        raise Refused(problems, "the filters")
    return filters


def looker_of(request: Request, visitor: Visitor) -> Caller:
    """The reviewer's name: from a token itself; for a key, which people may share, from a cookie."""
    name = unquote(request.cookies.get(NAME_COOKIE, ""))[:MOST_NAME].strip()
    if not name or isinstance(visitor.identity, TokenBearer):
        name = visitor.identity.name
    return Caller(visitor.org_id, name)


def name_cookie(name: str) -> str:
    return quote(name.strip()[:MOST_NAME])


async def listed(
    platform: Platform, caller: Caller, wanted: QueueFilters, *, limit: int, cursor: str | None = None
) -> ListedPage:
    return await list_reviews(
        platform,
        caller,
        wanted.filter(caller.org_id),
        claimed_by=caller.reviewer if wanted.mine else None,
        limit=limit,
        after=_place(cursor),
    )


def cursor_of(page: ListedPage) -> str:
    return encode_cursor(f"{page.last.risk_rank}|{page.last.number}") if page.last is not None else ""


def is_free(item: JsonObject, caller: Caller) -> bool:
    """Whether this person can decide the item now: they have not decided it yet, and others have not claimed
    it."""
    if item["status"] == ReviewStatus.DECIDED:
        return False
    verdicts: Any = item["verdicts"]
    if any(verdict["reviewer"] == caller.reviewer for verdict in verdicts):
        return False
    return not is_held(item, caller)


def is_held(item: JsonObject, caller: Caller) -> bool:
    """Whether other people have claimed all missing verdicts of the item."""
    claims: Any = item["claims"]
    missing = int(str(item["reviewers_missing"]))
    return sum(1 for claim in claims if claim["by"] != caller.reviewer) >= max(1, missing)


def next_free(items: Sequence[JsonObject], caller: Caller, behind: str) -> str | None:
    """The next item that this person can decide, searching from the current item on and then from the
    start."""
    ids = [str(item["id"]) for item in items]
    start = ids.index(behind) + 1 if behind in ids else 0
    for item in (*items[start:], *items[:start]):
        if item["id"] != behind and is_free(item, caller):
            return str(item["id"])
    return None


async def just_done(platform: Platform, caller: Caller, review_id: str) -> JsonObject | None:
    """The latest decision of this person, to undo it; None if the item is no longer decided."""
    if not review_id:
        return None
    try:
        item = await read_review(platform, caller, review_id[:64])
    except NotFound:
        return None
    return item if item["status"] == ReviewStatus.DECIDED else None


def verdict_label(value: str) -> str:
    return next((label for verdict, label in LABELS.items() if verdict == value), value)


def kind_label(value: str) -> str:
    return KINDS[ReviewKind(value)]


def _place(cursor: str | None) -> Place | None:
    if not cursor:
        return None
    rank, separator, number = decode_cursor(cursor).partition("|")
    if not separator:
        raise InvalidCursor
    return Place(cursor_number(rank), cursor_number(number))
