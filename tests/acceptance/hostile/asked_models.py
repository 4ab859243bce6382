"""K: models of the tenant's own that judge, simulate, play the user and write rules, with hostile answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hostile.kind import kind
from hostile.responses import ORDER, TASK, TOOLS, texts
from hostile.services import service
from hostile.tenant import Row, Tenant, tool
from support.played_agents import Dispatch, played

SIZE = 1_000_000


def completion(content: str) -> bytes:
    """As an API of OpenAI's kind says it."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps(body | {"choices": [choice], "usage": usage}).encode()


def _world() -> Row:
    """As one is asked for, with as many and as long records as are taken."""
    fields = {f"field_{at}": "x" * 120 for at in range(4)} | {"status": "open"}
    return {f"thing{at}": {f"t{number}": fields for number in range(60)} for at in range(6)}


def _contents() -> dict[str, bytes]:
    small = 250_000  # characters: just what is taken
    nested = '{"a":' * 20_000 + "1" + "}" * 20_000
    return {
        "a text": completion("x" * SIZE),
        "values": completion('{"criteria":[' + "1," * (small // 2 - 20) + "1]}"),
        "objects": completion('{"criteria":[' + "{}," * (small // 3 - 20) + "{}]}"),
        "keys": completion(json.dumps({f"k{at}": 1 for at in range(20_000)})),
        "deep": completion(nested),
        "brackets": completion("[" * small),
        "fences": completion("```json\n" * (small // 8)),
        "escapes": completion('"' + "\\u00e9" * (small // 6) + '"'),
        "a number": completion("9" * small),
        "many choices": b'{"choices":[' + b'{"index":0,"message":{"content":"x"}},' * 30_000 + b"{}]}",
        "other values": b'{"choices":[],"usage":[' + b"{}," * 340_000 + b"1]}",
        "no JSON": b"\xff\xfe" * (SIZE // 2),
        "very large": completion("x" * 12_000_000),
        "steps": completion(json.dumps({"why": "w", "steps": [{"return": "args.x + " * 1_000 + "1"}] * 20})),
        "a message": completion(
            json.dumps(
                {"message": "4521 " * 20_000, "stop": False, "reason": "r", "facts_used": ["F1"] * 9_000}
            )
        ),
        "a world": completion(json.dumps({"world": _world(), "notes": ["n" * 400] * 20})),
        "a reply": completion(json.dumps({"status": 200, "body": {"x": ["y" * 100] * 2_000}, "updates": []})),
    }


@contextmanager
def model(tenant: Tenant, *first: str) -> Iterator[tuple[str, list[str]]]:
    """Its base URL, and what it can be asked to say, by path."""
    answers = _contents()
    names = [name for name, _ in tenant.shuffled(answers, *first)]
    with service({name.replace(" ", "-"): answers[name] for name in answers}) as url:
        yield url, [name.replace(" ", "-") for name in names]


def named_model(url: str, name: str) -> str:
    return f"{url}/{name}/v1#m"


def _told(tenant: Tenant) -> dict[str, str]:
    return {name: text for name, text in texts(tenant, 40_000).items() if text.strip()}


@kind("K-judges", seconds=2.0)
def hostile_judges(tenant: Tenant) -> None:
    """Runs with long answers and long rubrics, judged again and again by models that answer anything."""
    lines = [{"id": f"r{at}", "text": f"{at} is said. " + "x" * 400} for at in range(20)]
    agent_id, task = tenant.agent(TOOLS), tenant.tasks(TASK)["task_ids"][0]
    runs = []
    for name, text in tenant.shuffled(_told(tenant))[: tenant.size(3, 10)]:
        run = tenant.run(agent_id, task)
        for _ in range(20):
            run.call("refund_order", {"order_id": "4521", "reason": text[:5_000]}, what=f"a call of {name}")
        run.finish(text, what=f"finish with {name}")
        runs.append(run.id)
    with model(tenant, "objects", "other values", "deep") as (url, names):

        def judge(at: int) -> None:
            body = {"model": named_model(url, names[at % len(names)]), "rubric": lines, "beside": at % 2 == 0}
            tenant.post(
                f"/api/runs/{runs[at % len(runs)]}/judge", body, what=f"judge by {names[at % len(names)]}"
            )

        tenant.together(judge, range(tenant.size(8, 40)), at_once=4)
        too_much: list[Row] = [
            {"rubric": ["x" * 900_000]},
            {"rubric": [{"id": f"r{at}", "text": "x"} for at in range(25_000)]},
            {"model": "openai:" + "m" * 1_000_000},
        ]
        for body in too_much:
            tenant.post(f"/api/runs/{runs[0]}/judge", body, what="judge by too much")
        tenant.get("/api/runs?needs_review=true", what="what is left to people")


@kind("K-replies", seconds=2.0)
def hostile_simulators(tenant: Tenant) -> None:
    """Tool calls that a model answers: with a mebibyte, with what is no JSON, with what does not fit."""
    world = {"order": {f"{at}": {"note": "x" * 500, "status": "open"} for at in range(3_000)}}
    unclear = tool("ponder", {"x": {"type": "string"}}, description="Ponders it deeply.")
    with model(tenant, "a reply", "objects", "other values") as (url, names):

        def call(name: str) -> None:
            config = {"models": {"simulator": named_model(url, name)}}
            agent_id = tenant.agent([unclear], config=config, what=f"an agent simulated by {name}")
            run = tenant.run(agent_id, tenant.tasks({"user": "Ponder.", "state": world})["task_ids"][0])
            for text in ("x", "ä" * 100_000, "order 4521 " * 20_000):
                run.call("ponder", {"x": text}, what=f"a call answered by {name}")

        tenant.together(call, names[: tenant.size(6, 16)], at_once=4)


@kind("K-users", seconds=2.0)
def hostile_conversations(tenant: Tenant) -> None:
    """Personas of many facts who talk with agents that write at length."""
    persona = "\n".join(f"Known: the number {at} is {at * 7919}" for at in range(1_500))
    said = list(texts(tenant, 100_000).values())
    turns = threading.local()

    def behave(dispatch: Dispatch) -> None:
        turns.at = getattr(turns, "at", 0) + 1
        dispatch.answer(said[(dispatch.run_id + turns.at) % len(said)])

    with model(tenant, "a message", "objects") as (url, names), played(behave) as agent:
        for name in names[: tenant.size(2, 6)]:
            config = {"models": {"user": named_model(url, name)}}
            agent_id = tenant.agent(TOOLS, endpoint_url=agent.url, config=config)
            more = {"turn_mode": "model_as_user", "user_simulator_persona": persona, "max_turns": 20}
            dataset = tenant.tasks({"user": "Hi.", "state": ORDER} | more)
            asked: Row = {"dataset_id": dataset["id"], "repeats": tenant.size(4, 20)}
            with tenant.batch(agent_id, what=f"talk with {name}", **asked) as batch_id:
                tenant.wait_for(batch_id)


@kind("K-authors", seconds=2.0)
def waited_for(tenant: Tenant, path: str, body: Any, *, what: str) -> None:
    """A question to the author's model, until its job has ended."""
    reply = tenant.post(path, body, what=what)
    while reply.status in (200, 202) and (job := json.loads(reply.body))["status"] == "running":
        reply = tenant.get(f"/api/author-jobs/{job['id']}?wait_s=25", what=f"the end of {what}")


def hostile_authors(tenant: Tenant) -> None:
    """Rules and plans that a model proposes from long texts, large worlds and large recordings."""
    world = {"order": {f"{at}": {"note": "x" * 100, "status": "open"} for at in range(3_000)}}
    behavior = "Whoever asks thrice about the moon is told to wait until the tide has turned. " * 400
    calls = [
        {"tool": "ponder0", "args": {"x": "y" * 50}, "status": "ok", "response": {"z": at}}
        for at in range(4_000)
    ]
    unclear = [tool(f"ponder{at}", {"x": {"type": "string"}}, description="Ponders.") for at in range(40)]
    with model(tenant, "steps", "objects", "keys") as (url, names):

        def author(name: str) -> None:
            agent_id = tenant.agent(unclear, config={"models": {"author": named_model(url, name)}})
            dataset = tenant.tasks(
                {"user": "u", "state": world, "behavior": behavior[:32_000]}, agent_id=agent_id
            )
            waited_for(tenant, f"/api/datasets/{dataset['id']}/rules/propose", {}, what=f"rules by {name}")
            own = f"/api/agents/{agent_id}/plans"
            bodies: dict[str, Any] = {
                "plans": {"task_id": dataset["task_ids"][0]},
                "a behaviour": {"behavior": "Never. " * 4_000},
                "a recording": {"recording": {"state": world, "tasks": [{"id": "a", "calls": calls}]}},
                "odd recordings": {
                    "recording": {"state": world, "tasks": [{"id": at} for at in range(20_000)]}
                },
                "tools": {"tools": [f"ponder{at}" for at in range(60_000)]},
            }
            for what, body in bodies.items():
                waited_for(tenant, f"{own}/propose", body, what=f"{what} by {name}")
            steps = [{"return": "args.x"}] * 400
            tenant.post(f"{own}/accept", {"plans": {f"p{at}": steps for at in range(20)}}, what="accept")

        tenant.together(author, names[: tenant.size(2, 8)], at_once=2)
