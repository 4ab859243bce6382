"""Calls of the newest blind set, answered by the simulator model in place of the plans."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import tool_facts
from tool_scores import NOW, declared, scored_calls

from pipelines.core.text.json_text import loads
from quality.cases import BLIND, FAILED, RIGHT, WRONG, Answer, Asked, Question, Row, drawn
from support.desk import answered

TITLE = "tool calls"
SET = BLIND / "tools_twelfth"


def questions(count: int) -> Iterator[Question]:
    bodies: list[Any] = [loads(path.read_bytes()) for path in sorted(SET.glob("*.json"))]
    every = [
        (body, tool, number)
        for body in bodies
        for tool in body["tools"]
        for number in range(len(tool["calls"]))
    ]
    for body, tool, number in drawn(every, count, "simulator"):
        name = f"{body['trade']}/{tool['name']}/{number + 1}"
        yield Question((name,), partial(_ask, name, body, tool, number))


async def _ask(name: str, body: Row, tool: Row, number: int, asked: Asked) -> list[Answer]:
    agent = await asked.org.agent(name=name, tools_schema=declared(body), config={"simulator": "model"})
    run = await asked.org.run(agent, user="Do it.", state=body["world"], now=NOW)
    call = tool["calls"][number]
    response = await run.call(tool["name"], call["arguments"])
    (row,) = await run.trace()
    ledger = await run.ledger()
    reply = response.json()
    embedded = WRONG if scored_calls(body, tool, {})[number].complaints else RIGHT
    if row["validation"]["engine"] != "model" or response.status_code >= 500:
        return [Answer(case=name, embedded=embedded, model=FAILED, why=str(row["validation"])[:300])]
    said = answered(response, response.status_code)
    faults = [
        *tool_facts.wrong_status(call, response.status_code),
        *tool_facts.wrong_reply(body["world"], tool, call, said.get("response", reply)),
        *tool_facts.wrong_changes(body["world"], ledger["state"], tool, call),
    ]
    model = WRONG if faults else RIGHT
    return [Answer(case=name, embedded=embedded, model=model, why="; ".join(faults)[:300])]
