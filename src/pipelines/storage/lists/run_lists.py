"""What pages show of many runs: their calls by who answered, what they cost, how many there are.

Nothing is asked once per row, and what could grow without end is looked through up to a bound that is said.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pipelines.core.agents.reported_usage import ReportedUsage, reported_usage
from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.storage.database.connection import Connection, in_list
from pipelines.storage.database.paging import Filter, page_of
from pipelines.storage.lists.builds import builds_of_runs
from pipelines.storage.lists.summaries import instructions_of_tasks, run_summaries
from pipelines.storage.runs.annotations import has_comments_condition, with_label
from pipelines.storage.runs.runs import IN_SIGHT, judged_conditions

MOST_COUNTED = 10_000  # runs that a count looks at, the newest first
MOST_SEARCHED = 2_000  # runs whose texts are looked through for one page
MOST_STEPS = 1_000  # of a run, that its calls are counted in
LONGEST_METADATA = 4_000  # characters, that a cost is looked for in
_SEARCHED_AT_ONCE = 500
COST_COLUMN = f"CASE WHEN LENGTH(metadata) <= {LONGEST_METADATA} THEN metadata END"


_BUILD = "(SELECT COALESCE(b.label, b.reported_build) FROM batches b WHERE b.id = batch_id)"
_TAGS = "(SELECT t.tags FROM tasks t WHERE t.id = task_id)"
NEWEST, OLDEST = "newest", "oldest"
_BY_FIGURE = {"duration": "duration_ms", "calls": "calls", "tokens": "tokens", "cost": "cost_usd"}
#: What a list is sorted by before the age of a run; runs without the figure come last.
ORDERS = {
    "failures": "CASE WHEN verdict = 'FAIL' THEN 0 WHEN status = 'failed' THEN 1"
    " WHEN verdict = 'PENDING' THEN 2 WHEN verdict IS NULL THEN 3 WHEN verdict = 'PASS' THEN 5 ELSE 4 END",
    **{
        name: f"CASE WHEN {column} IS NULL THEN 1 ELSE 0 END, {column} DESC"
        for name, column in _BY_FIGURE.items()
    },
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """None, and no words: whatever it is."""

    org_id: int
    agent_id: int | None = None
    dataset_id: int | None = None
    task_id: int | None = None
    batch_id: int | None = None
    status: str | None = None
    verdict: str | None = None
    failure_mode: str | None = None
    pending_reason: str | None = None
    error_class: str | None = None
    needs_review: bool | None = None
    has_unverified: bool | None = None
    run_label: str | None = None  # that people wrote on it
    has_comments: bool | None = None
    words: str = ""  # of what the user asked, in any case and anywhere in it
    agent_version: int | None = None
    label: str | None = None  # of the batch: as a person names its build, or as the agent reported it
    tag: str | None = None  # of the task
    since: str | None = None  # created at this time or later
    until: str | None = None  # created before
    order: str = NEWEST

    def by_index(self) -> list[Filter]:
        """What the runs are found by."""
        names = ("org_id", "agent_id", "dataset_id", "task_id", "batch_id")
        return [Filter(name, getattr(self, name)) for name in names]

    def by_row(self) -> list[Filter]:
        """What is looked for among those."""
        names = ("status", "verdict", "failure_mode", "pending_reason", "error_class", "agent_version")
        return [
            *(Filter(name, getattr(self, name)) for name in names),
            Filter("created_at", self.since, ">="),
            Filter("created_at", self.until, "<"),
            Filter(_BUILD, self.label),
            with_label(self.org_id, self.run_label),
            Filter(_TAGS, _holding(self.tag) if self.tag is not None else None, "LIKE"),
        ]

    def by_judgement(self) -> tuple[str, ...]:
        """Conditions on what was made of them."""
        judged = judged_conditions(needs_review=self.needs_review, has_unverified=self.has_unverified)
        return (*judged, *has_comments_condition(self.org_id, self.has_comments))


class RunPage(NamedTuple):
    items: list[JsonObject]
    last_id: int | None  # where the next page starts; None when there is no more
    searched: int | None  # how many runs were looked through for the words


class RunCount(NamedTuple):
    number: int
    looked_at: int
    is_all: bool  # else only the newest were looked at


class Calls(NamedTuple):
    """How often each source answered a run."""

    by_source: dict[str, int]
    is_all: bool  # else of its first steps only

    @property
    def total(self) -> int:
        return sum(self.by_source.values())


def run_page(connection: Connection, wanted: RunFilter, *, limit: int, before_id: int | None) -> RunPage:
    """In the order that is wanted, each as lists show it, with its figures and the name of its agent. Where
    a figure decides the order, `before_id` is the number of runs before the page."""
    ids, last_id, searched = None, None, None
    if wanted.words:
        ids, last_id, searched = _with_words(connection, wanted, limit, before_id)
    elif wanted.order in ORDERS:
        ids = sorted_runs(connection, wanted, limit=limit + 1, skipped=before_id or 0)
        last_id = (before_id or 0) + limit if len(ids) > limit else None
        ids = ids[:limit]
    page = run_summaries(
        connection,
        filters=wanted.by_index() + wanted.by_row(),
        limit=limit,
        before_id=before_id if wanted.order not in ORDERS else None,
        newest_first=wanted.order != OLDEST,
        where=wanted.by_judgement(),
        only=ids,
    )
    found = {int(str(run["id"])): run for run in page.items}
    listed = [at for at in ids if at in found] if ids is not None else [*found]
    calls = calls_of_runs(connection, listed)
    costs = _costs_of(connection, listed)
    names = agent_names(connection, (int(str(run["agent_id"])) for run in page.items), org_id=wanted.org_id)
    figures = figures_of_runs(connection, listed)
    builds = builds_of_runs(connection, listed)
    items: list[Any] = [
        run
        | {
            "build": builds.get(at),
            "calls": calls[at].by_source,
            "calls_total": calls[at].total,
            "are_calls_all": calls[at].is_all,
            "cost_usd": costs[at].cost_usd,
            "tokens": costs[at].tokens,
            "reason": figures.get(at),
            "agent_name": names.get(int(str(run["agent_id"])), ""),
        }
        for at, run in ((at, found[at]) for at in listed)
    ]
    return RunPage(items, page.last_id if ids is None else last_id, searched)


def sorted_runs(connection: Connection, wanted: RunFilter, *, limit: int, skipped: int) -> list[int]:
    """Ids in the wanted order. Of very many runs only the newest are sorted; of a batch, all."""
    filters = [part for part in wanted.by_row() if part.value is not None]
    matches = [IN_SIGHT, *(part.condition for part in filters), *wanted.by_judgement()]
    inner, values = _runs_to_sort(wanted, filters)
    rows = connection.execute(
        f"SELECT newest.id FROM ({inner}) AS newest{_FIGURES if wanted.order in _BY_FIGURE else ''}"
        f" WHERE {' AND '.join(matches)} ORDER BY {ORDERS[wanted.order]}, id DESC LIMIT ? OFFSET ?",
        (*values, *(part.value for part in filters), limit, skipped),
    )
    return [int(row[0]) for row in rows]


def _runs_to_sort(wanted: RunFilter, filters: Sequence[Filter]) -> tuple[str, list[object]]:
    """Only the columns that are needed: those of a batch are all in the index that counts its runs."""
    read = ["id", "batch_id", "task_id", "status", "verdict", *_own_columns(filters)]
    read += _JUDGED_COLUMNS if wanted.by_judgement() else []
    columns = ", ".join(dict.fromkeys(read))
    found = [part for part in wanted.by_index() if part.value is not None]
    if wanted.batch_id is None:
        conditions = " AND ".join(f"{part.column} = ?" for part in found)
        statement = f"SELECT {columns} FROM runs WHERE {conditions} ORDER BY id DESC LIMIT ?"
        return statement, [*(part.value for part in found), MOST_COUNTED]
    others = [part for part in found if part.column not in ("org_id", "batch_id")]
    conditions = " AND ".join((_OF_BATCH, *(f"{part.column} = ?" for part in others)))
    values = [wanted.batch_id, wanted.org_id, *(part.value for part in others)]
    return f"SELECT {columns} FROM runs WHERE {conditions}", values


_OF_BATCH = "batch_id = (SELECT id FROM batches WHERE id = ? AND org_id = ?)"
_FIGURES = " LEFT JOIN run_figures f ON f.run_id = newest.id"
_JUDGED_COLUMNS = ["verdict", "judge_error", "retried", "human_verdict", "unverified"]


def _own_columns(filters: Sequence[Filter]) -> list[str]:
    """The columns of a run that conditions are about; the others are of its task or its batch."""
    return [part.column for part in filters if part.column.isidentifier()]


def _holding(tag: str) -> str:
    """For LIKE on a JSON list of tags; what means something in a pattern stands for any character."""
    return "%" + re.sub(r"[%_\\]", "_", dumps(tag).decode()) + "%"


def figures_of_runs(connection: Connection, run_ids: Sequence[int]) -> dict[int, str | None]:
    """The first reason of each run that has figures."""
    rows = connection.execute(
        f"SELECT run_id, reason FROM run_figures WHERE run_id IN {in_list(run_ids)}", run_ids
    )
    return {row[0]: row[1] for row in rows}


def count_runs(connection: Connection, wanted: RunFilter) -> RunCount:
    """How many there are; of very many, how many among the newest. Words are not looked for."""
    found = [part for part in wanted.by_index() if part.value is not None]
    filters = [part for part in wanted.by_row() if part.value is not None]
    judged = wanted.by_judgement()
    matches = " AND ".join((IN_SIGHT, *(part.condition for part in filters), *judged))
    read = ["id", "batch_id", "task_id", *_own_columns(filters), *(_JUDGED_COLUMNS if judged else [])]
    row = connection.execute(
        f"SELECT COUNT(*), SUM(CASE WHEN {matches} THEN 1 ELSE 0 END) FROM"
        f" (SELECT {', '.join(dict.fromkeys(read))} FROM runs"
        f" WHERE {' AND '.join(f'{part.column} = ?' for part in found)} ORDER BY id DESC LIMIT ?) AS newest",
        (*(part.value for part in filters), *(part.value for part in found), MOST_COUNTED + 1),
    ).fetchone()
    return RunCount(int(row[1] or 0), min(row[0], MOST_COUNTED), row[0] <= MOST_COUNTED)


def calls_of_runs(connection: Connection, run_ids: Sequence[int]) -> dict[int, Calls]:
    sources: dict[int, dict[str, int]] = {run_id: {} for run_id in run_ids}
    steps = dict.fromkeys(run_ids, 0)
    for run_id, kind, source, count in connection.execute(
        f"SELECT run_id, kind, source, COUNT(*) FROM trace_rows WHERE run_id IN {in_list(run_ids)}"
        " AND sequence <= ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        (*run_ids, MOST_STEPS + 1),
    ):
        steps[run_id] += count
        if kind == "tool_call":
            sources[run_id][source] = count
    return {run_id: Calls(sources[run_id], steps[run_id] <= MOST_STEPS) for run_id in run_ids}


def agent_names(connection: Connection, agent_ids: Iterable[int], *, org_id: int) -> dict[int, str]:
    """Of those that were deleted, too: their runs are still there."""
    return _names_of(connection, "agents", agent_ids, org_id)


def dataset_names(connection: Connection, dataset_ids: Iterable[int], *, org_id: int) -> dict[int, str]:
    """Without those that a matrix made for itself: nobody named them."""
    return _names_of(connection, "(SELECT * FROM datasets WHERE kind = 'tasks') AS d", dataset_ids, org_id)


def _names_of(connection: Connection, table: str, ids: Iterable[int], org_id: int) -> dict[int, str]:
    names = sorted(set(ids))
    rows = connection.execute(
        f"SELECT id, name FROM {table} WHERE org_id = ? AND id IN {in_list(names)}", (org_id, *names)
    )
    return {row[0]: row[1] for row in rows}


def _with_words(
    connection: Connection, wanted: RunFilter, limit: int, before_id: int | None
) -> tuple[list[int], int | None, int]:
    """The next runs whose user says the words; where to go on; how many were looked through."""
    words = wanted.words.casefold()
    found: list[int] = []
    says: dict[int, bool] = {}
    searched = 0
    place = before_id
    while searched < MOST_SEARCHED:
        page = page_of(
            connection,
            "runs",
            filters=wanted.by_index() + wanted.by_row(),
            limit=_SEARCHED_AT_ONCE,
            before_id=place,
            where=" AND ".join((IN_SIGHT, *wanted.by_judgement())),
            columns="id, task_id",
        )
        unread = {row["task_id"] for row in page.items} - says.keys()
        for task_id, instruction in instructions_of_tasks(connection, unread).items():
            says[task_id] = words in (instruction.user_instruction or "").casefold()
        for row in page.items:
            if len(found) == limit and says[row["task_id"]]:
                return found, found[-1], searched
            searched += 1
            found += [row["id"]] if says[row["task_id"]] else []
        place = page.last_id
        if place is None:
            return found, None, searched
    return found, place, searched


def _costs_of(connection: Connection, run_ids: Sequence[int]) -> dict[int, ReportedUsage]:
    rows = connection.execute(f"SELECT id, {COST_COLUMN} FROM runs WHERE id IN {in_list(run_ids)}", run_ids)
    return {row[0]: reported_usage(loads_own(row[1]) if row[1] is not None else None) for row in rows}


def cost_in(metadata: str | None) -> float | None:
    """None: the agent does not say; that is not nothing."""
    read = loads_own(metadata) if metadata is not None and "total_cost_usd" in metadata else None
    cost = read.get("total_cost_usd") if isinstance(read, dict) else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
