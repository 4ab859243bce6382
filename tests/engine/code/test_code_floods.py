"""Code that asks its proxy without end: the limits of the outside hold inside, and more is paced."""

from collections.abc import Iterator

import pytest
from code_desk import run_code

from support.server_process import REFUND_TASK, Api, fresh_house_in

LIMIT = 4
IN_A_MINUTE = LIMIT * 11  # calls and events

FLOODS = """
import http.client, time
kind, host = task_input["input"]["kind"], proxy_url.split("/")[2]
path = "/" + proxy_url.split("/", 3)[3] + "/tools/get_order" if kind != "strange" else "/nowhere"
headers = {"Authorization": "Bearer " + run_token, "Content-Type": "application/json"}
statuses, ends = [], time.monotonic() + 4
connection = http.client.HTTPConnection(host, timeout=2)
while time.monotonic() < ends:
    try:
        connection.request("POST", path, b'{"order_id": "4521"}', headers)
        reply = connection.getresponse()
        reply.read()
        statuses.append(reply.status)
    except OSError:
        connection.close()
    if kind == "fresh":
        connection.close()
return {"final_response": "asked", "metadata": {str(s): statuses.count(s) for s in sorted(set(statuses))}}
"""


@pytest.mark.parametrize("kind", ["kept", "fresh", "strange"])
@pytest.mark.slow
def test_a_program_that_asks_on_is_made_to_wait(kind: str, limited: Api) -> None:
    run = run_code(limited, FLOODS, REFUND_TASK | {"task_input": {"kind": kind}})
    heard = run["metadata"]
    if kind != "strange":
        assert heard["200"] == LIMIT  # as from outside
        assert set(heard) == {"200", "429"}
    assert IN_A_MINUTE <= sum(heard.values()) <= IN_A_MINUTE + 8


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("limited") / "house"
    with fresh_house_in(folder, {"PIPELINES_PROXY_RATE_LIMIT": str(LIMIT)}) as house:
        opened = house.open()
        found = opened.get("/api/code-mode")
        if not found["available"]:
            pytest.skip(found["reason"])
        yield opened
