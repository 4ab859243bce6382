"""Parses requests to the review queue and collects all problems."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.evals.reviews.review import (
    DEFAULT_AUDIT_SHARE,
    MOST_REVIEWERS,
    VERDICTS,
    ReviewKind,
    Verdict,
)
from pipelines.core.text.authored import Fields, kind
from pipelines.core.text.json_text import JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.wire.records import Record

MOST_NOTE = 5_000  # characters
MOST_NAME = 255
MOST_LABELS, MOST_LABEL = 20, 100
MOST_RUNS = 100  # as of any repeats
MOST_AT_ONCE = 500
_VERDICT_FIELDS = ("verdict", "note", "labels", "reviewer", "runs", "expected_behavior")


class Reviewer(NamedTuple):
    """Who a body speaks for: None leaves it to the key or token it came with."""

    name: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictRequest:
    verdict: Verdict
    note: str
    labels: tuple[str, ...]
    reviewer: str | None
    runs: int | None  # needs_more_runs: how many; None leaves it to the cell
    expected_behavior: (
        JsonObject | None
    )  # acceptable_shift: what is expected from now on; None: what was seen


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewSettings(Record):
    """What reviews are opened with."""

    reviewers_wanted: int = 1
    blind: bool = False
    audit_share: float = DEFAULT_AUDIT_SHARE


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewRequest:
    """A review that a person asks for: of a run, or of a cell."""

    run_id: int | None
    scenario_id: str | None
    variation: str | None
    matrix_id: str | None  # None: the newest that has the cell
    note: str
    reviewer: str | None
    reviewers_wanted: int | None  # None: as the org's settings say
    blind: bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkRequest:
    action: str  # claim, release, verdict
    review_ids: tuple[str, ...]
    reviewer: str | None
    verdict: JsonObject  # the fields of a verdict, checked for each item by its kind


def read_reviewer(body: JsonObject) -> Reviewer:
    """A body that says nothing but who: to claim, to release."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("reviewer",))
    name = _name(fields)
    _refuse_any(problems, "the claim")
    return Reviewer(name)


def read_reopening(body: JsonObject) -> tuple[Reviewer, str]:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("reviewer", "note"))
    name, note = _name(fields), _note(fields)
    _refuse_any(problems, "the request")
    return Reviewer(name), note


def read_verdict(body: JsonObject, about: ReviewKind) -> VerdictRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(_VERDICT_FIELDS)
    allowed = VERDICTS[about]
    chosen = None
    if fields.require("verdict"):
        chosen = fields.choice("verdict", [verdict.value for verdict in allowed])
    runs = fields.whole_number("runs", 0, least=1, most=MOST_RUNS) if fields.has("runs") else None
    expected = fields.get("expected_behavior")
    if expected is not None and not isinstance(expected, dict):
        fields.refuse("expected_behavior", f"must be an object, not {kind(expected)}")
    for key, verdict in (
        ("runs", Verdict.NEEDS_MORE_RUNS),
        ("expected_behavior", Verdict.ACCEPTABLE_SHIFT),
    ):
        if fields.has(key) and chosen is not None and chosen != verdict:
            fields.refuse(key, f"`{key}` is for the verdict `{verdict}`, not for `{chosen}`")
    note, labels, reviewer = _note(fields), _labels(fields), _name(fields)
    _refuse_any(problems, "the verdict")
    assert chosen is not None
    return VerdictRequest(
        verdict=Verdict(chosen),
        note=note,
        labels=labels,
        reviewer=reviewer,
        runs=runs,
        expected_behavior=expected if isinstance(expected, dict) else None,
    )


def read_opening(body: JsonObject) -> ReviewRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    about = ("run_id", "scenario_id", "variation", "matrix_id")
    fields.refuse_unknown((*about, "note", "reviewer", "reviewers_wanted", "blind"))
    is_run = fields.has("run_id")
    run_id = fields.id("run_id", "a run") if is_run else None
    for key in about[1:]:
        if is_run and fields.has(key):
            fields.refuse(key, f"`{key}` is for a cell; for a run give only `run_id`")
    if not is_run and not (fields.has("scenario_id") and fields.has("variation")):
        message = "give `run_id`, or `scenario_id` and `variation` of a cell"
        problems.append(Problem(path="", message=message))
    opening = ReviewRequest(
        run_id=run_id,
        scenario_id=fields.text("scenario_id", longest=MOST_NAME),
        variation=fields.text("variation", longest=MOST_NAME),
        matrix_id=fields.text("matrix_id", longest=MOST_NAME),
        note=_note(fields),
        reviewer=_name(fields),
        reviewers_wanted=_read_reviewers_wanted(fields) if fields.has("reviewers_wanted") else None,
        blind=_flag(fields, "blind") if fields.has("blind") else None,
    )
    _refuse_any(problems, "the review")
    return opening


def read_bulk(body: JsonObject) -> BulkRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("action", "ids", *_VERDICT_FIELDS))
    action = None
    if fields.require("action"):
        action = fields.choice("action", ("claim", "release", "verdict"))
    ids = fields.texts("ids")
    listed = fields.get("ids")
    if not isinstance(listed, list) or not listed:
        fields.refuse("ids", "`ids` must be a list of review ids")
    elif len(listed) > MOST_AT_ONCE:
        fields.refuse(
            "ids", f"`ids` has {len(listed):,} reviews; at most {MOST_AT_ONCE:,} are allowed at once"
        )
    elif len(set(ids)) < len(ids):
        fields.refuse("ids", "`ids` lists a review twice")
    reviewer = _name(fields)
    given: JsonObject = {key: body[key] for key in _VERDICT_FIELDS if fields.has(key) and key != "reviewer"}
    if action == "verdict":
        fields.require("verdict")
    else:
        for key in given if action is not None else ():
            fields.refuse(key, f"`{key}` is for the action `verdict`, not for `{action}`")
    _refuse_any(problems, "the request")
    assert action is not None
    return BulkRequest(action=action, review_ids=ids, reviewer=reviewer, verdict=given)


def read_review_settings(body: JsonObject, before: ReviewSettings) -> ReviewSettings:
    """Fields that are not given stay as they were."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("reviewers_wanted", "blind", "audit_share"))
    reviewers = _read_reviewers_wanted(fields) if fields.has("reviewers_wanted") else before.reviewers_wanted
    blind = _flag(fields, "blind") if fields.has("blind") else before.blind
    share = fields.get("audit_share")
    if share is None:
        share = before.audit_share
    elif isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        fields.refuse(
            "audit_share", "`audit_share` must be a number from 0 to 1", "0.05 is one run in twenty"
        )
        share = before.audit_share
    _refuse_any(problems, "the settings")
    assert not isinstance(share, str | bool | list | dict)
    assert math.isfinite(share)
    return ReviewSettings(reviewers_wanted=reviewers, blind=blind, audit_share=float(share))


def _name(fields: Fields) -> str | None:
    name = fields.text("reviewer", longest=MOST_NAME)
    return name.strip() if name is not None else None


def _note(fields: Fields) -> str:
    return fields.text("note", longest=MOST_NOTE, may_be_blank=True) or ""


def _labels(fields: Fields) -> tuple[str, ...]:
    labels = fields.texts("labels")
    if len(labels) > MOST_LABELS:
        fields.refuse("labels", f"`labels` has {len(labels)}; at most {MOST_LABELS} are allowed")
    listed = fields.get("labels")
    for place, label in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(label, str) and len(label) > MOST_LABEL:
            path = fields.at("labels") + pointer([place])
            fields.problems.append(Problem(path=path, message=f"is over {MOST_LABEL} characters"))
    return labels


def _read_reviewers_wanted(fields: Fields) -> int:
    return fields.whole_number("reviewers_wanted", 1, least=1, most=MOST_REVIEWERS)


def _flag(fields: Fields, key: str) -> bool:
    value = fields.get(key)
    if not isinstance(value, bool):
        fields.refuse(key, f"`{key}` must be true or false, not {kind(value)}")
        return False
    return value


def _refuse_any(problems: list[Problem], what: str) -> None:
    if problems:
        raise Refused(problems, what)
