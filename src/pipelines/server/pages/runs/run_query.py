"""Parses the run filters of a URL strictly, and writes them back in a fixed order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from pipelines.core.text.problems import Problem
from pipelines.core.verdict.verdict import FailureMode, Outcome, PendingReason
from pipelines.server.api.common import cursor_number, decode_cursor
from pipelines.server.pages.form_fields import number_in
from pipelines.storage.lists.run_lists import RunFilter
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.errors import InvalidCursor
from pipelines.wire.names import RunStatus

IDS = ("agent_id", "dataset_id", "batch_id", "task_id")
CHOICES = {
    "status": [each.value for each in RunStatus],
    "verdict": [each.value for each in Outcome],
    "failure_mode": [each.value for each in FailureMode],
    "pending_reason": [each.value for each in PendingReason],
    "error_class": [each.value for each in ErrorClass],
}
YES_NO = {"yes": True, "no": False}
SWITCHES = ("needs_review", "has_unverified", "has_comments")
LONGEST_WORDS = 200
TEXTS = ("label", "tag")
DATES = ("since", "until")
SORTS = {
    "newest": "newest first",
    "oldest": "oldest first",
    "failures": "failures first",
    "duration": "longest first",
    "calls": "most calls first",
    "tokens": "most tokens first",
    "cost": "highest cost first",
}
#: The columns of a table of runs that can be chosen, beside the run, its verdict and its task.
COLUMNS = {
    "reason": "First reason",
    "people": "Decided by people",
    "agent": "Version and build",
    "status": "How it ended",
    "calls": "Calls",
    "duration": "Took",
    "tokens": "Tokens",
    "cost": "Cost",
    "started": "Started",
}
USUAL_COLUMNS = ("agent", "status", "calls", "duration", "started")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQuery:
    given: dict[str, str]  # as it was written, without what is empty
    wanted: RunFilter
    before_id: int | None
    problems: list[Problem]
    columns: tuple[str, ...] = ()  # as they were chosen; none: the usual ones

    @property
    def is_filtered(self) -> bool:
        return any(name != "sort" for name in self.given)

    @property
    def order(self) -> str:
        return self.wanted.order

    def usual(self, path: str) -> str:
        """The same filters in the usual order with the usual columns."""
        query = {name: value for name, value in self.given.items() if name != "sort"}
        return f"{path}?{urlencode(query)}" if query else path

    def url(self, path: str, *, cursor: str | None = None, **fixed: str) -> str:
        """The same list elsewhere. `fixed` is what the path there does not say, such as the batch."""
        query = [*(self.given | fixed).items(), *(("column", name) for name in self.columns)]
        query += [("cursor", cursor)] if cursor is not None else []
        return f"{path}?{urlencode(query)}" if query else path


def read_run_query(
    params: Mapping[str, str],
    org_id: int,
    *,
    order: str = "newest",
    columns: Sequence[str] = (),
    **fixed: int,
) -> RunQuery:
    """`fixed` are ids that the page itself sets, such as the id of its batch; `order` is the page's own."""
    names = (*IDS, *CHOICES, *SWITCHES, *TEXTS, *DATES, "run_label", "agent_version", "sort", "q")
    given = {name: params[name].strip() for name in names if params.get(name, "").strip()}
    problems: list[Problem] = []
    ids: dict[str, Any] = {name: read_id(given, name, problems) for name in IDS if name in given}
    chosen: dict[str, Any] = {name: _choice(given, name, problems) for name in CHOICES if name in given}
    switched = {name: given[name] for name in SWITCHES if name in given}
    problems += [
        Problem(path=name, message="must be `yes` or `no`")
        for name, value in switched.items()
        if value not in YES_NO
    ]
    words = given.get("q", "")
    if len(words) > LONGEST_WORDS:
        problems.append(Problem(path="q", message=f"has over {LONGEST_WORDS} characters"))
    chosen |= {name: given[name][:LONGEST_WORDS] for name in TEXTS if name in given}
    chosen |= {name: read_date(given, name, problems) for name in DATES if name in given}
    if "agent_version" in given:
        chosen["agent_version"] = read_id(given, "agent_version", problems)
    filters = RunFilter(
        org_id=org_id,
        words=words[:LONGEST_WORDS],
        run_label=given.get("run_label"),
        order=_order(given, order, problems),
        **ids | fixed | chosen | {name: YES_NO.get(value) for name, value in switched.items()},
    )
    return RunQuery(
        given=given,
        wanted=filters,
        before_id=_place(params.get("cursor", ""), problems),
        problems=problems,
        columns=tuple(name for name in COLUMNS if name in columns),
    )


def _order(given: Mapping[str, str], usual: str, problems: list[Problem]) -> str:
    """A search for words lists the newest first: it stops as soon as it has found a page."""
    order = given.get("sort", "newest" if "q" in given else usual)
    if order not in SORTS:
        problems.append(Problem(path="sort", message=f"must be one of {', '.join(SORTS)}"))
    elif order != "newest" and "q" in given:
        message = "a search for the user's words lists the newest runs first"
        problems.append(Problem(path="sort", message=message, hint="remove `sort` or `q`"))
    return order if order in SORTS else usual


def read_date(given: Mapping[str, str], name: str, problems: list[Problem]) -> str | None:
    """The start of a day in UTC; of `until`, the start of the day after it."""
    try:
        day = date.fromisoformat(given[name])
    except ValueError:
        problems.append(Problem(path=name, message="must be a date such as 2026-11-19"))
        return None
    if name == "until" and day < date.max:
        day += timedelta(days=1)
    return day.isoformat()


def read_id(given: Mapping[str, str], name: str, problems: list[Problem]) -> int | None:
    text = given[name]
    number = number_in(text)
    if number is not None:
        return number
    problems.append(Problem(path=name, message=f"must be a number, not `{text[:80]}`"))
    return None


def _choice(given: Mapping[str, str], name: str, problems: list[Problem]) -> str | None:
    if given[name] in CHOICES[name]:
        return given[name]
    problems.append(Problem(path=name, message=f"must be one of {', '.join(CHOICES[name])}"))
    return None


def _place(cursor: str, problems: list[Problem]) -> int | None:
    try:
        return cursor_number(decode_cursor(cursor)) if cursor else None
    except InvalidCursor:
        problems.append(
            Problem(
                path="cursor",
                message="is not a valid position in this list",
                hint="remove it to begin at the newest item",
            )
        )
        return None
