"""A call whose place in the log another process took is decided again, also when that goes wrong."""

from typing import Any

import pytest

from pipelines.core.simulation.build import PlannedSimulator
from pipelines.storage.database.connection import Connection
from support.desk import DrivenRun, House, answered, refused

pytestmark = pytest.mark.anyio
ORDER = {"order_id": "4521"}


def take_the_next_place(connection: Connection) -> None:
    """As another process would, with a call that changes nothing."""
    connection.execute(
        "INSERT INTO trace_rows (run_id, sequence, kind, tool_name, source, http_status, occurred_at,"
        " arguments, response, call_number) SELECT run_id, 2, kind, tool_name, source, http_status,"
        " occurred_at, arguments, response, 2 FROM trace_rows"
    )


async def test_one_that_breaks_when_it_is_decided_again_is_answered(
    house: House, run: DrivenRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answered(await run.call("get_order", ORDER))
    await house.platform.database.write(take_the_next_place)
    real, calls = PlannedSimulator.answer, 0

    def breaks_the_second_time(simulator: PlannedSimulator, *asked: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ZeroDivisionError("a slip of ours")
        return real(simulator, *asked)

    monkeypatch.setattr(PlannedSimulator, "answer", breaks_the_second_time)
    refused(await run.call("get_order", ORDER), 500, "internal_error")
    assert "a slip of ours" in caplog.text
    answered(await run.call("get_order", ORDER))
    assert [row["sequence"] for row in await run.trace()] == [1, 2, 3]


async def test_the_ordinary_race_is_no_warning(
    house: House, run: DrivenRun, caplog: pytest.LogCaptureFixture
) -> None:
    answered(await run.call("get_order", ORDER))
    await house.platform.database.write(take_the_next_place)
    answered(await run.call("get_order", ORDER))
    assert [row["sequence"] for row in await run.trace()] == [1, 2, 3]
    assert "could not be stored" not in caplog.text
