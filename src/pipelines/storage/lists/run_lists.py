"""What pages show of many runs: their calls by who answered, what they cost, how many there are.

Nothing is asked once per row, and what could grow without end is looked through up to a bound that is said.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, in_list
from pipelines.storage.database.paging import Filter, page_of
from pipelines.storage.lists.summaries import instructions_of_tasks, run_summaries
from pipelines.storage.runs.runs import IN_SIGHT, judged_conditions

MOST_COUNTED = 10_000  # runs that a count looks at, the newest first
MOST_SEARCHED = 2_000  # runs whose texts are looked through for one page
MOST_STEPS = 1_000  # of a run, that its calls are counted in
LONGEST_METADATA = 4_000  # characters, that a cost is looked for in
_SEARCHED_AT_ONCE = 500
COST_COLUMN = f"CASE WHEN LENGTH(metadata) <= {LONGEST_METADATA} THEN metadata END"


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
    words: str = ""  # of what the user asked, in any case and anywhere in it

    def by_index(self) -> list[Filter]:
        """What the runs are found by."""
        names = ("org_id", "agent_id", "dataset_id", "task_id", "batch_id")
        return [Filter(name, getattr(self, name)) for name in names]

    def by_row(self) -> list[Filter]:
        """What is looked for among those."""
        names = ("status", "verdict", "failure_mode", "pending_reason", "error_class")
        return [Filter(name, getattr(self, name)) for name in names]

    def by_judgement(self) -> tuple[str, ...]:
        """Conditions on what was made of them."""
        return judged_conditions(needs_review=self.needs_review, has_unverified=self.has_unverified)


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
    """Newest first, each as lists show it, with its calls, its cost, and the name of its agent."""
    ids, last_id, searched = None, None, None
    if wanted.words:
        ids, last_id, searched = _with_words(connection, wanted, limit, before_id)
    page = run_summaries(
        connection,
        filters=wanted.by_index() + wanted.by_row(),
        limit=limit,
        before_id=before_id,
        needs_review=wanted.needs_review,
        has_unverified=wanted.has_unverified,
        only=ids,
    )
    listed = [int(str(run["id"])) for run in page.items]
    calls = calls_of_runs(connection, listed)
    costs = _costs_of(connection, listed)
    names = agent_names(connection, (int(str(run["agent_id"])) for run in page.items), org_id=wanted.org_id)
    items = [
        run
        | {
            "calls": calls[at].by_source,
            "calls_total": calls[at].total,
            "are_calls_all": calls[at].is_all,
            "cost_usd": costs[at],
            "agent_name": names.get(int(str(run["agent_id"])), ""),
        }
        for at, run in zip(listed, page.items, strict=True)
    ]
    return RunPage(items, last_id if wanted.words else page.last_id, searched)  # type: ignore[arg-type]


def count_runs(connection: Connection, wanted: RunFilter) -> RunCount:
    """How many there are; of very many, how many among the newest. Words are not looked for."""
    found = [part for part in wanted.by_index() if part.value is not None]
    filters = [part for part in wanted.by_row() if part.value is not None]
    judged = wanted.by_judgement()
    matches = " AND ".join((IN_SIGHT, *(f"{part.column} = ?" for part in filters), *judged))
    read = ["id", "batch_id", *(part.column for part in filters)]
    read += ["verdict", "judge_error", "retried", "human_verdict", "unverified"] if judged else []
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


def _costs_of(connection: Connection, run_ids: Sequence[int]) -> dict[int, float | None]:
    rows = connection.execute(f"SELECT id, {COST_COLUMN} FROM runs WHERE id IN {in_list(run_ids)}", run_ids)
    return {row[0]: cost_in(row[1]) for row in rows}


def cost_in(metadata: str | None) -> float | None:
    """None: the agent does not say; that is not nothing."""
    read = loads_own(metadata) if metadata is not None and "total_cost_usd" in metadata else None
    cost = read.get("total_cost_usd") if isinstance(read, dict) else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
