"""Plans that the model writes from tools alone: calls of the newest blind set, by the plans as they are read
and by the plans as they are proposed."""

from collections.abc import Iterator
from functools import partial
from math import ceil
from typing import Any

from tool_scores import CallScore, declared, scored_calls

from pipelines.core.text.json_text import loads
from quality.cases import BLIND, OPEN, RIGHT, WRONG, Answer, Asked, Question, Row, drawn

TITLE = "plans, from tools alone"
SET = BLIND / "tools_twelfth"
AT_ONCE = 5  # tools of one agent
CALLS_A_TOOL = 2  # about: `count` is one of calls


def questions(count: int) -> Iterator[Question]:
    bodies: dict[str, Any] = {path.stem: loads(path.read_bytes()) for path in sorted(SET.glob("*.json"))}
    count = max(1, count // CALLS_A_TOOL)
    for trade in drawn(bodies, ceil(count / AT_ONCE), "trades of plans"):
        some = drawn(bodies[trade]["tools"], min(count, AT_ONCE), f"plans/{trade}")
        count -= len(some)
        names = tuple(f"{trade}/{tool['name']}" for tool in some)
        yield Question(names, partial(_ask, bodies[trade], some, names))


async def _ask(body: Row, tools: list[Row], names: tuple[str, ...], asked: Asked) -> list[Answer]:
    agent = await asked.org.agent(name=f"plans {names[0]}", tools_schema=declared(body))
    dataset = await asked.org.dataset({"user": "Do it.", "state": body["world"]}, agent_id=agent["id"])
    wanted = {"task_id": dataset["task_ids"][0], "tools": [tool["name"] for tool in tools]}
    told = await asked.author_job(f"/api/agents/{agent['id']}/plans/propose", wanted)
    items = {item["tool"]: item for item in told["items"]}
    found: list[Answer] = []
    for tool, name in zip(tools, names, strict=True):
        item = items.get(tool["name"])
        is_usable = item is not None and item["is_usable"]
        plans = {tool["name"]: item["plan"]} if item is not None and is_usable else None
        before = scored_calls(body, tool, {})
        after = scored_calls(body, tool, plans) if plans is not None else [None] * len(before)
        why = told.get("error") or (item["problems"] if item is not None else "no plan")
        found += [
            _answer(f"{name}/{number}", one, other, str(why)[:300])
            for number, (one, other) in enumerate(zip(before, after, strict=True), 1)
        ]
    return found


def _answer(case: str, before: CallScore, after: CallScore | None, why: str) -> Answer:
    """Without a usable plan the tool keeps its own: the model answers nothing."""
    embedded = WRONG if before.complaints else RIGHT
    if after is None:
        return Answer(case=case, embedded=embedded, model=OPEN, why=why)
    told = "; ".join(after.complaints)[:300]
    return Answer(case=case, embedded=embedded, model=WRONG if told else RIGHT, why=told)
