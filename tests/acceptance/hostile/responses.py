"""C2: final responses, and everything else that is read when a run is judged."""

from collections.abc import Callable
from typing import Any

from hostile.kind import kind
from hostile.tenant import Row, Tenant, tool
from support.played_agents import Dispatch, played

ORDER = {
    "order": {"4521": {"status": "shipped", "amount": 79.5}, "7001": {"status": "pending", "amount": 20}}
}
TASK: Row = {
    "user": "Refund order #4521.",
    "state": ORDER,
    "behavior": "Never refund an order that is not shipped.",
    "expected_state": {"order.4521.status": "refunded"},
    "tracked_constraints": [
        {"id": "a", "description": "says no code", "check": {"responses": {"$not": {"$regex": "(a+)+$"}}}}
    ],
}
TOOLS = [
    tool("get_order", {"order_id": {"type": "string"}}),
    tool("refund_order", {"order_id": {"type": "string"}, "reason": {"type": "string"}}),
]
UNITS = [
    "\n", "\n\n- ", " ", "\t", "\u00a0", "\u2003", "\u200b", "\r", '"', "'", "“", "`", "(", ")", "[", "{",
    "<", "|", "*", "# ", "9", "9,", "9.", "$1", "#4521 ", "4521", "order 4521 ", "I refunded ",
    "refunded ", "I have refunded order #4521. ", "I could not ", "not ", "no, ", "a", "aa ", "a.", "A.B.",
    "e.g. ", "é", "🙂", "ﬀ", "İ", "ß", "and ", ", and ", "if ", "because ", "- ", "1. ", "?", "!", "...",
    "…", "—", "2026-04-01", "2026-04-01T00:00:00Z ", "REF-1234-", "the status is shipped ", "http://a.b/",
    "€ 79.50 ", "79.5 79.50 ", "cannot can't couldn't ", "sorry, ", "unable to refund because ",
    "I will I would I did ", "\\n", "\\",
]  # fmt: skip


def texts(tenant: Tenant, length: int) -> dict[str, str]:
    """Units repeated, units mixed, and repetitions that almost end."""
    found = {f"{unit!r} again and again": unit * (length // len(unit)) for unit in UNITS}
    for at in range(12):
        units = tenant.chance.sample(UNITS, 3)
        mixed = "".join(tenant.chance.choice(units) for _ in range(length // 4))
        found[f"a mixture {at} of {units}"] = mixed[:length]
        first, last = tenant.chance.sample(UNITS, 2)
        found[f"{first!r} to a last {last!r}"] = first * (length // len(first)) + last
    return found


@kind("C2-finish", seconds=1.5)
def answers_by_hand(tenant: Tenant) -> None:
    """Runs by hand that end with texts of many shapes; each is judged once more."""
    agent_id, task = tenant.agent(TOOLS), tenant.tasks(TASK)["task_ids"][0]

    def end(item: tuple[str, str]) -> None:
        run = tenant.run(agent_id, task)
        run.call("refund_order", {"order_id": "4521"})
        run.finish(item[1], what=f"finish with {item[0]}")
        if tenant.is_long:
            tenant.post(f"/api/runs/{run.id}/judge", what=f"judge {item[0]}")

    shapes = texts(tenant, 50_000) | {
        "20,000 newlines": "\n" * 20_000,
        "a megabyte": "I refunded it. " * 69_000,
    }
    tenant.together(end, tenant.shuffled(shapes), at_once=3)


@kind("C2-dispatch", seconds=1.0)
def answers_of_agents(tenant: Tenant) -> None:
    """The same from an agent behind a URL, several runs at once."""
    shapes = list(texts(tenant, tenant.size(50_000, 500_000)).values())
    _dispatched(tenant, lambda dispatch: dispatch.answer(shapes[dispatch.run_id % len(shapes)]))


@kind("C2-arguments", seconds=0.8)
def words_in_the_log(tenant: Tenant) -> None:
    """Calls whose arguments are such texts: the judge reads the log, too."""
    agent_id, task = tenant.agent(TOOLS), tenant.tasks(TASK)["task_ids"][0]
    for name, text in tenant.in_turn(texts(tenant, 50_000)):
        run = tenant.run(agent_id, task)
        for _ in range(4):
            run.call("refund_order", {"order_id": "4521", "reason": text}, what=f"a reason of {name}")
        run.call("get_order", {"order_id": text}, what=f"an id of {name}")
        run.finish(f"I refunded order {text[:40_000]}", what=f"finish after {name}")


@kind("C2-oracles", seconds=0.8)
def large_oracles(tenant: Tenant) -> None:
    """Many expectations over a log of many calls."""
    arguments = {"order_id": {"$regex": "(4|5|45)+21!?$"}, "reason": {"$regex": "(a+)+$"}}
    must = [{"tool": "*", "arguments": arguments, "count": {"$gte": 1}} for _ in range(100)]
    wanted: Row = {f"order.{at}.status": {"$regex": "^(a|aa)+$"} for at in range(500)}
    task = TASK | {"expected_calls": {"must": must, "in_order": True}, "expected_state": wanted}
    agent_id, uploaded = tenant.agent(TOOLS), tenant.tasks(task)
    while True:
        run = tenant.run(agent_id, uploaded["task_ids"][0])
        tenant.together(
            lambda at, run=run: run.call("get_order", {"order_id": "45" * 20, "reason": "a" * 30_000 + "!"}),
            range(tenant.size(60, 400)),
        )
        run.finish("a" * 49_000 + "!", what="finish with large oracles")
        if not tenant.has_time:
            return


@kind("C2-conversation", seconds=0.8)
def long_conversations(tenant: Tenant) -> None:
    """Fifty turns, each answered at length; the transcript is sent, kept and judged."""
    text = "I refunded order 4521 for $79.50. " * tenant.size(1_000, 20_000)
    more = {
        "turn_mode": "model_as_user",
        "simulator_mode": "scripted",
        "max_turns": 50,
        "scripted_user_turns": ["And now? " * 500] * 49,
    }
    _dispatched(tenant, lambda dispatch: dispatch.answer(text), **more)


def _dispatched(tenant: Tenant, behave: Callable[[Dispatch], Any], **more: Any) -> None:
    with played(behave) as agent:
        agent_id = tenant.agent(TOOLS, endpoint_url=agent.url)
        dataset = tenant.tasks(TASK | more)
        with tenant.batch(agent_id, dataset_id=dataset["id"], repeats=tenant.size(20, 100)) as batch_id:
            tenant.wait_for(batch_id)
        if tenant.is_long:
            tenant.post(f"/api/batches/{batch_id}/judge", what="judge the batch")
