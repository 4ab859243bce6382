"""Where the operator runs code without isolation: functions work, and every reply says so."""

from pathlib import Path

from functions_desk import Desk

from pipelines.engine.code.code_endpoint import UNSAFE_NOTE
from pipelines.sandbox.pool import SandboxPool


def test_calls_are_answered_each_by_a_process_of_its_own_and_say_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path, lambda: SandboxPool(isolation="none"))
    try:
        source = (
            "seen = []\ndef count(n: int) -> int:\n    seen.append(n)\n    print(n)\n    return len(seen)"
        )
        endpoint = desk.endpoint(source)
        replies = [desk.call(endpoint, "count", n=n) for n in range(2)]
    finally:
        desk.stop()
    assert [reply.response for reply in replies] == [1, 1]
    assert replies[0].notes == (UNSAFE_NOTE, "stdout: 0")
