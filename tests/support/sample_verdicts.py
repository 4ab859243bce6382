"""Verdicts by hand in the place of the judge's: what is shown of one does not depend on how it came about."""

from contextlib import closing
from pathlib import Path

from pipelines.core.verdict.verdict import (
    Outcome,
    PendingReason,
    UnverifiedClaim,
    Verdict,
    held,
    left_open,
)
from pipelines.server.config.settings import DATABASE_FILE
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.sqlite_store import SqliteStore
from pipelines.storage.runs.runs import Ending, set_verdict
from pipelines.wire.names import RunStatus

NOW = "2026-05-01T12:00:00.000000Z"
RULE = "Refunds over $100 need the approval of a manager."
NOTES = (
    UnverifiedClaim(phrase="within 5 business days", why="no record and no rule has it", turn=1),
    UnverifiedClaim(phrase="our team is happy to help", why="no call did it", turn=1),
    UnverifiedClaim(phrase="a confirmation by mail", why="no tool sends one", turn=2),
)


def pending(reason: PendingReason, *says: str, notes: tuple[UnverifiedClaim, ...] = ()) -> Verdict:
    found = tuple(
        left_open("rule" if number == 0 else "completion", reason, told) for number, told in enumerate(says)
    )
    return Verdict(
        verdict=Outcome.PENDING,
        pending_reason=reason,
        reasoning=" ".join(("Not decided: a person has to review this run.", *says)),
        findings=(*found, held("expected_calls", "It called get_order once.", [1])),
        unverified=notes,
    )


UNENFORCED = pending(
    PendingReason.RULE_NOT_ENFORCED,
    f'The rule "{RULE}" was not enforced: the backend did not understand it.',
    notes=NOTES,
)
PASSED = Verdict(
    verdict=Outcome.PASS,
    reasoning="Completed as expected.",
    findings=(held("expected_state", "order.4521.status is refunded.", [2]),),
    unverified=NOTES[:1],
)
OF_THE_GRADER_BEFORE = {
    **pending(PendingReason.NO_ORACLE, "No oracle says what completing this task means.").as_json(),
    "grader": {"name": "embedded", "version": "19"},
}
for name in ("pending_reason", "unverified"):
    del OF_THE_GRADER_BEFORE[name]


def give(connection: Connection, run_id: int, verdict: Verdict) -> None:
    ending = Ending(
        status=RunStatus.COMPLETED,
        verdict=verdict.verdict.value,
        failure_mode=verdict.failure_mode.value if verdict.failure_mode else None,
        judgement=verdict.as_json(),
    )
    assert set_verdict(connection, run_id=run_id, ending=ending, now=NOW)


def give_as_of_the_grader_before(connection: Connection, run_id: int) -> None:
    ending = Ending(status=RunStatus.COMPLETED, verdict="PENDING", judgement=OF_THE_GRADER_BEFORE)
    assert set_verdict(connection, run_id=run_id, ending=ending, now=NOW)


def given_in(directory: Path, verdicts: dict[int, Verdict | None]) -> None:
    """In the data directory of a server that is up. None: by the grader before."""
    with closing(SqliteStore(directory / DATABASE_FILE).connect(read_only=False)) as connection:
        for run_id, verdict in verdicts.items():
            if verdict is None:
                give_as_of_the_grader_before(connection, run_id)
            else:
                give(connection, run_id, verdict)
        connection.commit()
