"""A log of the release before rules had names: it is read, folded and gone on with, on both stores."""

from collections.abc import Callable

import pytest
from test_migrated_verdicts import NOW, fill

from pipelines.core.tools.trace_row import TraceRow
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database, Store
from pipelines.storage.database.trace_rows import insert_rows, log_of_run

pytestmark = pytest.mark.anyio
RULE = "At most two refunds."


def fill_with_a_call(connection: Connection) -> None:
    fill(connection)
    connection.execute("UPDATE runs SET status = 'running'")
    connection.execute(
        "INSERT INTO trace_rows (run_id, sequence, kind, tool_name, source, occurred_at)"
        " VALUES (1, 1, 'tool_call', 'refund_order', 'odyssey', ?)",
        (NOW,),
    )


@pytest.fixture
def store(store_before: Callable[[str, Callable[[Connection], None]], Store]) -> Store:
    return store_before("0026", fill_with_a_call)


async def test_a_log_from_before_is_read_and_gone_on_with(database: Database) -> None:
    def go_on(connection: Connection) -> None:
        [before] = log_of_run(connection, 1)
        insert_rows(connection, [before._replace(sequence=2, matched_rule=RULE)])

    await database.write(go_on)
    rows: list[TraceRow] = await database.read(lambda connection: log_of_run(connection, 1))
    assert [(row.sequence, row.tool_name, row.matched_rule) for row in rows] == [
        (1, "refund_order", None),
        (2, "refund_order", RULE),
    ]
