"""What a run was answered by guesses is told on it; a task that demands certainty gets no guess."""

from typing import Any

import pytest

from support.desk import ORDER_ID, STATE, Org, answered, tool

pytestmark = pytest.mark.anyio

UNCLEAR = tool("run_close", "Runs it.", ORDER_ID, ["order_id"])
CLEAR = tool("get_order", "Get an order by its id.", ORDER_ID, ["order_id"])
CANCEL = tool("cancel_order", "Cancels an order.", ORDER_ID, ["order_id"])
ORDER = {"order_id": "4521"}


async def opened(org: Org, *tools: Any, **row: Any) -> Any:
    return await org.run(
        await org.agent(tools_schema=list(tools)), user="Close order 4521.", state=STATE, **row
    )


async def test_a_run_names_each_tool_that_was_answered_by_a_guess(org: Org) -> None:
    run = await opened(org, UNCLEAR, CLEAR)
    answered(await run.call("get_order", ORDER), 200)
    answered(await run.call("run_close", ORDER), 200)
    (warning,) = answered(await run.finish())["soft_warnings"]
    assert warning.startswith("run_close is a guess (confidence 0.")
    assert "to confirm it, give" in warning


async def test_a_guess_that_was_not_called_is_not_named(org: Org) -> None:
    run = await opened(org, UNCLEAR, CLEAR)
    answered(await run.call("get_order", ORDER), 200)
    assert answered(await run.finish())["soft_warnings"] == []


PENDING = tool("pending_orders", "Orders that are pending.", {}, [])


async def test_what_a_plan_takes_for_granted_is_told_on_the_run_and_in_the_trace(org: Org) -> None:
    run = await opened(org, PENDING)
    answered(await run.call("pending_orders", {}), 200)
    (warning,) = answered(await run.finish())["soft_warnings"]
    (row,) = await run.trace()
    assert warning.startswith("pending_orders: only records with `orders.status")
    assert warning.removeprefix("pending_orders: ") in row["validation"]["notes"]


async def test_a_task_that_demands_certainty_gets_an_error_instead_of_a_guess(org: Org) -> None:
    run = await opened(org, UNCLEAR, CLEAR, strict_simulation=True)
    reply = answered(await run.call("run_close", ORDER), 502)
    assert (reply["source"], reply["error"]["code"]) == ("error", "simulation_failed")
    assert "run_close" in reply["error"]["message"]
    answered(await run.call("get_order", ORDER), 200)
    first, second = await run.trace()
    assert (first["source"], first["updates"], second["source"]) == ("error", [], "odyssey")


ONLY_PAID = "cancel_order only works when the order's status is paid."


async def test_a_rule_that_nothing_passes_refuses_and_is_reported(org: Org) -> None:
    run = await opened(org, CANCEL, behavior=ONLY_PAID)
    answered(await run.call("cancel_order", ORDER), 409)
    warnings = answered(await run.finish())["soft_warnings"]
    assert f"behaviour {ONLY_PAID} (in the seeded world no order passes)" in warnings
