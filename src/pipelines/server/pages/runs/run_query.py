"""Parses the run filters of a URL strictly, and writes them back in a fixed order."""

from collections.abc import Mapping
from dataclasses import dataclass
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
SWITCHES = ("needs_review", "has_unverified")
LONGEST_WORDS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQuery:
    given: dict[str, str]  # as it was written, without what is empty
    wanted: RunFilter
    before_id: int | None
    problems: list[Problem]

    @property
    def is_filtered(self) -> bool:
        return bool(self.given)

    def url(self, path: str, *, cursor: str | None = None) -> str:
        query = self.given | ({"cursor": cursor} if cursor is not None else {})
        return f"{path}?{urlencode(query)}" if query else path


def read_run_query(params: Mapping[str, str], org_id: int, **fixed: int) -> RunQuery:
    """`fixed` are ids that the page itself sets, such as the id of its batch."""
    names = (*IDS, *CHOICES, *SWITCHES, "q")
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
    filters = RunFilter(
        org_id=org_id,
        words=words[:LONGEST_WORDS],
        **ids | fixed | chosen | {name: YES_NO.get(value) for name, value in switched.items()},
    )
    return RunQuery(
        given=given, wanted=filters, before_id=_place(params.get("cursor", ""), problems), problems=problems
    )


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
