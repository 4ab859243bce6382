"""What home and the list of agents show: counted over a bounded number of batches and runs, however many
there are."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipelines.core.text.json_text import loads_own
from pipelines.storage.database.connection import Connection, in_list
from pipelines.storage.runs.runs import IN_SIGHT

LATEST_RUNS = 300  # in which errors and warnings are looked for
LONGEST_WARNINGS = 20_000  # characters of a run's; longer ones are on its own page
_BATCH_IN_SIGHT = "status NOT IN ('opening', 'discarded')"


class PassCount(NamedTuple):
    passed: int
    judged: int


class Noticed(NamedTuple):
    """The same thing in several of the latest runs."""

    text: str
    runs: int
    last_run: int


class Latest(NamedTuple):
    """Of the latest runs."""

    looked_at: int
    errors: list[Noticed]  # by error class
    judge_errors: list[Noticed]
    warnings: list[Noticed]


def pass_counts(connection: Connection, batch_ids: Sequence[int]) -> dict[int, PassCount]:
    """(passes, judged runs) of each; what cannot be decided counts for neither."""
    rows = connection.execute(
        "SELECT batch_id, SUM(CASE WHEN verdict = 'PASS' THEN 1 ELSE 0 END), COUNT(*) FROM runs"
        f" WHERE batch_id IN {in_list(batch_ids)} AND retried = 0 AND verdict IN ('PASS', 'FAIL') GROUP BY 1",
        batch_ids,
    )
    return {int(row[0]): PassCount(int(row[1]), int(row[2])) for row in rows}


def agent_names(connection: Connection, org_id: int, agent_ids: Iterable[int]) -> dict[int, str]:
    """Also of those that were deleted: their batches are still there."""
    ids = sorted(set(agent_ids))
    rows = connection.execute(
        f"SELECT id, name FROM agents WHERE org_id = ? AND id IN {in_list(ids)}", (org_id, *ids)
    )
    return {row[0]: row[1] for row in rows}


def last_batches(connection: Connection, org_id: int, agent_ids: Sequence[int]) -> dict[int, int]:
    """The newest batch of each agent that has one."""
    rows = connection.execute(
        f"SELECT agent_id, MAX(id) FROM batches WHERE org_id = ? AND agent_id IN {in_list(agent_ids)}"
        f" AND {_BATCH_IN_SIGHT} GROUP BY 1",
        (org_id, *agent_ids),
    )
    return {row[0]: row[1] for row in rows}


def matrices_of_batches(connection: Connection, batch_ids: Sequence[int]) -> dict[int, str]:
    """Of batches that a matrix made: its id."""
    rows = connection.execute(
        f"SELECT batch_id, matrix_id FROM eval_matrices WHERE batch_id IN {in_list(batch_ids)}", batch_ids
    )
    return {row[0]: row[1] for row in rows}


def matched_counts(connection: Connection, matrix_ids: Sequence[str]) -> dict[str, PassCount]:
    """Of each matrix: how many of its runs match what their scenario expects, of those that were judged."""
    rows = connection.execute(
        "SELECT matrix_id, SUM(CASE WHEN matched THEN 1 ELSE 0 END), COUNT(matched) FROM eval_outcomes"
        f" WHERE matrix_id IN {in_list(matrix_ids)} GROUP BY 1",
        matrix_ids,
    )
    return {row[0]: PassCount(int(row[1]), int(row[2])) for row in rows}


def latest(connection: Connection, org_id: int) -> Latest:
    rows = connection.execute(
        "SELECT id, error_class, SUBSTR(judge_error, 1, 200) AS judge_error, CASE WHEN"
        f" LENGTH(soft_warnings) <= {LONGEST_WARNINGS} THEN soft_warnings ELSE NULL END AS soft_warnings"
        f" FROM runs WHERE org_id = ? AND {IN_SIGHT} ORDER BY id DESC LIMIT ?",
        (org_id, LATEST_RUNS),
    ).fetchall()
    errors, judged, warned = _Counts(), _Counts(), _Counts()
    for row in rows:
        errors.add(row["id"], [row["error_class"]])
        judged.add(row["id"], [row["judge_error"]])
        warnings = loads_own(row["soft_warnings"]) if row["soft_warnings"] else []
        warned.add(row["id"], warnings if isinstance(warnings, list) else [])
    return Latest(len(rows), errors.most(), judged.most(), warned.most())


class _Counts:
    def __init__(self) -> None:
        self._known: dict[str, Noticed] = {}

    def add(self, run_id: int, texts: Iterable[object]) -> None:
        """Runs come newest first."""
        for text in {str(text)[:300] for text in texts if text}:
            known = self._known.get(text)
            if known is None:
                self._known[text] = Noticed(text, 1, run_id)
            else:
                self._known[text] = known._replace(runs=known.runs + 1)

    def most(self, number: int = 5) -> list[Noticed]:
        return sorted(self._known.values(), key=lambda noticed: -noticed.runs)[:number]
