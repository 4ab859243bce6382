"""A connection that fails on purpose, met by an agent that uses the SDK, over real sockets."""

from pathlib import Path

import pytest
from served import running, visiting

from pipelines.odyssey import Envelope, ToolFailed, async_proxy_call_with
from pipelines.wire.names import PROXY_BASE
from support.desk import Row


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "code", "status"),
    [({"kind": "timeout", "after_ms": 200}, "timeout", 504), ({"kind": "reset"}, "connection_reset", 502)],
)
async def test_the_sdk_meets_the_fault_and_is_told_of_it_when_it_asks_again(
    tmp_path: Path, error: Row, code: str, status: int
) -> None:
    """The connection fails once; the retry under the same key hears why, and there is no third try."""
    rule = {"trigger": "after_n_calls", "tool": "cancel_order", "n": 1, "error": error}
    with running(tmp_path / "data") as server:
        async with visiting(server) as org:
            run = await org.run(failure_rules=[rule])
            envelope = Envelope(
                run_id=run.id,
                task_id=1,
                agent_id=1,
                user_instruction="",
                odyssey_proxy_url=f"{server.url}{PROXY_BASE}/runs/{run.jti}",
                run_token=run.token,
                run_token_jti=run.jti,
            )
            with pytest.raises(ToolFailed) as failed:
                await async_proxy_call_with(envelope, "cancel_order", {"order_id": "7001"})
            assert (failed.value.status, failed.value.source) == (status, "injected")
            assert failed.value.response["error"]["code"] == code
            (row,) = await run.trace()
            assert row["response"] == failed.value.response
            assert (await run.call("cancel_order", {"order_id": "7001"})).status_code == 200
