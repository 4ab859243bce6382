"""Plans as people see them: what each tool does, who wrote it, how rules are read; and a dry check."""

from collections.abc import Collection, Mapping, Sequence

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.plan_listing import shown_plans
from pipelines.core.simulation.plan_text import parse_plans_text
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.tools_schema import Tool
from pipelines.engine.find import find_agent, task_in
from pipelines.engine.live.live_runs import MOST_READING_S
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.platform import Platform
from pipelines.storage.agents.authored_rules import rules_now
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets

MOST_TEXT = 65_536  # characters of YAML: a page for each of some fifty tools; reading takes a second
MOST_PLANS = 1_000  # as many as an agent may have tools


async def read_plans(
    platform: Platform,
    org_id: int,
    agent_id: int,
    task_id: int | None,
    only: Collection[str] | None = None,
    *,
    with_examples: bool = False,
) -> JsonObject:
    """Every tool's plan, or those of some, over a task's world and behaviour text or an empty world."""
    agent = await find_agent(platform, org_id, agent_id)
    seed: Seed | None = None
    rules: Mapping[str, Sequence[Json]] = {}
    if task_id is not None:
        seed, rules = await platform.database.read(
            lambda connection: _seed_and_rules(connection, org_id, task_id)
        )
    # Reading a thousand tools takes its time.
    return await platform.plan_readers.run(
        lambda: _plans_json(agent.definition, seed, only, rules, with_examples=with_examples), owner=org_id
    )


async def seed_of_task(platform: Platform, org_id: int, task_id: int) -> Seed:
    seed, _ = await platform.database.read(lambda connection: _seed_and_rules(connection, org_id, task_id))
    return seed


async def check_plans(platform: Platform, org_id: int, agent_id: int, body: JsonObject) -> JsonObject:
    """`{ok, problems}` for plans that are not saved: `plans` (steps by tool) or `text` (YAML)."""
    agent = await find_agent(platform, org_id, agent_id)
    tools = {tool.name: tool for tool in agent.definition.tools}
    given = [name for name in ("plans", "text") if name in body]
    problems: list[Problem] = []
    Fields(body, "", problems).refuse_unknown(("plans", "text"))
    if len(given) != 1:
        problems.append(Problem(path="", message="give either `plans` (steps by tool) or `text` (YAML)"))
    if problems:
        raise Refused(problems, "the check")
    check = _text_problems if "text" in body else _plan_problems
    found = await platform.plan_readers.run(lambda: check(body[given[0]], tools), owner=org_id)
    return {"ok": not found, "problems": [problem.as_json() for problem in found]}


def _plans_json(
    definition: AgentDefinition,
    seed: Seed | None,
    only: Collection[str] | None,
    rules: Mapping[str, Sequence[Json]],
    *,
    with_examples: bool,
) -> JsonObject:
    may_read = has_time(MOST_READING_S)
    simulator = build_simulator(
        definition.tools,
        ledger_schema=definition.ledger_schema,
        world=World.from_initial_state(seed.initial_state if seed is not None else {}),
        behavior=seed.behavior_instructions if seed is not None else None,
        may_read=may_read,
        translated=rules,
        rules=active_rules(definition.rules, seed.rules if seed is not None else ()),
    )
    now = seed.now if seed is not None else None
    return shown_plans(simulator, only, may_read=may_read, with_examples=with_examples, now=now)


def _text_problems(text: Json, tools: dict[str, Tool]) -> list[Problem]:
    if not isinstance(text, str):
        return [Problem(path="/text", message="must be text: the plans as YAML")]
    if len(text) > MOST_TEXT:
        complaint = f"has {len(text):,} characters; at most {MOST_TEXT:,} are read at once"
        return [Problem(path="/text", message=complaint, hint="check the plans of some tools at a time")]
    try:
        plans = parse_plans_text(text, tool_names=tools)
    except Refused as refused:
        return refused.problems
    return [_undeclared(name, name) for name in plans if name not in tools]


def _plan_problems(plans: Json, tools: dict[str, Tool]) -> list[Problem]:
    if not isinstance(plans, dict):
        return [Problem(path="/plans", message="must be an object: steps by tool name")]
    if len(plans) > MOST_PLANS:
        complaint = f"has {len(plans):,} plans; at most {MOST_PLANS:,} are checked at once"
        return [Problem(path="/plans", message=complaint)]
    found: list[Problem] = []
    for name, plan in plans.items():
        path = f"/plans/{name}"
        if name not in tools:
            found.append(_undeclared(path, name))
        try:
            parse_plan(plan, origin="authored", path=path, tool_names=tools)
        except Refused as refused:
            found += refused.problems
    return found


def _undeclared(path: str, name: str) -> Problem:
    return Problem(path=path, message=f"the agent declares no tool named {name!r}")


def _seed_and_rules(
    connection: Connection, org_id: int, task_id: int
) -> tuple[Seed, Mapping[str, Sequence[Json]]]:
    """A task's seed, and the translated rules that its runs have."""
    task = task_in(connection, org_id, task_id)
    seed = datasets.whole_seed(connection, task)
    return seed, rules_now(connection, task.dataset_id, seed.behavior_instructions)
