"""Ways to get an envelope to an agent: by a dispatch of the platform, or from a run opened by hand."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pipelines.odyssey import Envelope
from support.played_agents import Dispatch, PlayedAgent, played
from support.server_process import REFUND_TASK, Api

Row = dict[str, Any]


@contextmanager
def served(run: Callable[[Envelope], Row]) -> Iterator[PlayedAgent]:
    """An endpoint that gives each dispatch to the agent; what the agent raises is told to the platform."""

    def behave(dispatch: Dispatch) -> None:
        try:
            reply = run(Envelope.from_request(dispatch.body, dispatch.headers))
        except Exception as error:
            dispatch.answer_with(500, f"{type(error).__name__}: {error}".encode())
            raise
        dispatch.answer_with(200, json.dumps(reply).encode())

    with played(behave) as agent:
        yield agent


class OpenRun:
    """A run opened by hand, with the envelope that a dispatch of it would carry."""

    def __init__(self, api: Api, tools_schema: list[Row], row: Row | None = None) -> None:
        self.api = api
        agent_id = api.agent("http://127.0.0.1:9/dispatch", tools_schema=tools_schema)["id"]
        dataset = api.dataset(row or REFUND_TASK, agent_id=agent_id)
        asked = {"mode": "manual", "agent_id": agent_id, "task_ids": dataset["task_ids"]}
        opened = api.post("/api/runs", asked, 201)
        self.id = opened["id"]
        self._fields = {
            "run_id": self.id,
            "task_id": dataset["task_ids"][0],
            "agent_id": agent_id,
            "odyssey_proxy_url": opened["odyssey_proxy_url"],
            "run_token": opened["run_token"],
            "run_token_jti": opened["run_token_jti"],
        }

    def envelope(self, said: str = "Refund order #4521.", **changes: Any) -> Envelope:
        return Envelope(**(self._fields | {"user_instruction": said} | changes))

    def trace(self, kind: str | None = None) -> list[Row]:
        return [row for row in self.api.trace(self.id) if kind in (None, row["kind"])]

    def finish(self, reply: Row) -> Row:
        ended: Row = self.api.post(f"/api/runs/{self.id}/finish", reply, 200)
        return ended
