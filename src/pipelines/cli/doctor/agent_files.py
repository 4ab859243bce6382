"""Checks of an agent's files: registration, plans of its tools, tasks, installed requirements."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from pipelines import __version__
from pipelines.cli.doctor.findings import Finding, Level, list_problems, ok, problem, warning
from pipelines.cli.doctor.sentences import ReadSentences
from pipelines.cli.project import Project
from pipelines.core.agents.agent_definition import parse_agent_definition
from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import LedgerSchema, read_ledger_schema
from pipelines.core.simulation.build import PlannedSimulator, ToolPlan, build_simulator
from pipelines.core.simulation.guesses import guess_of
from pipelines.core.simulation.rules.axis import active_rules, read_agent_rules
from pipelines.core.task_files.read_tasks import ReadTasks, format_of, read_tasks
from pipelines.core.tasks.rule_warnings import rule_warnings
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused, said_of
from pipelines.core.tools.tools_schema import Tool, read_tools_schema
from pipelines.core.verdict.lint.lint import lint_seeds

AGENT, PLANS, TASKS, RULES, NEEDS = "agent file", "plans", "tasks", "rules", "requirements"
WRITE_A_PLAN = "see `pipelines odyssey plan`; write what it does beside the tool as `simulation`"
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def environment_findings(directory: Path) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield ok("versions", f"pipelines {__version__}, Python {version}")
    path = directory / "requirements.txt"
    if not path.is_file():
        return
    missing = [name for name in _requirement_names(path) if not _is_installed(name)]
    if missing:
        yield warning(NEEDS, f"not installed here: {', '.join(missing)}", "pip install -r requirements.txt")
    else:
        yield ok(NEEDS, "all of requirements.txt is installed here")


def _requirement_names(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    matches = [_REQUIREMENT.match(line) for line in lines if "://" not in line]
    return [match[1] for match in matches if match is not None]


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


# The registration


def agent_findings(project: Project) -> Iterator[Finding]:
    path, body = project.agent, project.definition
    if path is None:
        yield warning(AGENT, "there is no agent.json, so no tools are checked", "name it: --agent FILE")
        return
    if project.unreadable is not None:
        yield problem(AGENT, said_of(path.name, project.unreadable))
        return
    is_tools_only = set(body) == {"tools_schema"}
    problems = _tools_problems(project) if is_tools_only else _definition_problems(project)
    yield from list_problems(AGENT, problems)
    if not problems:
        tools = body.get("tools_schema")
        count = len(tools) if isinstance(tools, list) else 0
        yield ok(AGENT, f"{path.name} can be registered: {count} tool{'s' if count != 1 else ''}")
    yield from _agent_warnings(project, is_tools_only=is_tools_only)


def _definition_problems(project: Project) -> list[Problem]:
    # Beside the definition itself: whether it is published, and where code comes from.
    body = {name: value for name, value in project.definition.items() if name not in ("status", "code")}
    try:
        parse_agent_definition(body)
    except Refused as refused:
        return refused.problems
    return []


def _tools_problems(project: Project) -> list[Problem]:
    problems: list[Problem] = []
    declared_tools(project, problems)
    return problems


def _agent_warnings(project: Project, *, is_tools_only: bool) -> Iterator[Finding]:
    body = project.definition
    if not body.get("tools_schema"):
        yield warning(
            AGENT, "it declares no tools, so every call is answered 404", "list them in `tools_schema`"
        )
    if is_tools_only or project.is_code:
        return
    if not body.get("auth_header_name"):
        yield warning(
            AGENT,
            "it names no auth header, so dispatches carry no token",
            '"auth_header_name": "Authorization"',
        )
    if body.get("auth_header_value"):
        change = "keep it in the environment; `pipelines odyssey register` adds it from AGENT_TOKEN"
        yield warning(AGENT, "it holds a secret: auth_header_value", change)


def declared_tools(project: Project, problems: list[Problem] | None = None) -> tuple[Tool, ...]:
    """The valid tools; adds what is wrong with the others to `problems`."""
    found: list[Problem] = [] if problems is None else problems
    return read_tools_schema(
        project.definition.get("tools_schema") or [],
        ledger_schema=_ledger_schema(project),
        endpoints=None,  # see doctor_endpoints
        path="/tools_schema",
        problems=found,
    )


def _ledger_schema(project: Project) -> LedgerSchema | None:
    return read_ledger_schema(project.definition.get("ledger_schema"), path="/ledger_schema", problems=[])


# The tasks and what the tools will do in them


def task_findings(project: Project) -> Iterator[Finding]:
    """The CSV, its oracles, and the plans of the tools over its worlds."""
    problems: list[Problem] = []
    tools = declared_tools(project, problems)
    schema = _ledger_schema(project)
    # What is wrong with the agent's rules is told with the agent's file.
    rules = read_agent_rules(
        project.definition.get("rules"), "/rules", [], tools={tool.name for tool in tools}
    )
    # A tool that cannot be read is told of once; that tasks name it is no second problem.
    known = tools if tools and not problems else None
    if project.dataset is None:
        yield warning(
            TASKS,
            "there is no tasks.csv, .yaml or .jsonl, so no tasks are checked",
            "name it: --dataset FILE",
        )
        yield from _plan_findings(tools, schema, [], rules=rules)
        return
    read: ReadTasks | None = None
    try:
        read = read_tasks(
            project.dataset.read_bytes(),
            format=format_of(project.dataset.name),
            tools=known,
            ledger_schema=schema,
        )
    except OSError as error:
        yield problem(TASKS, f"{project.dataset}: {error.strerror or error}")
    except Refused as refused:
        yield from list_problems(TASKS, refused.problems)
    if read is None:
        yield from _plan_findings(tools, schema, [], rules=rules)
        return
    yield from _oracle_findings(project.dataset.name, read, known, schema)
    ruled = rule_warnings(read.seeds, tools=known, ledger_schema=schema, rules=rules)
    yield from list_problems(RULES, read.in_file(ruled), Level.WARNING)
    yield from _plan_findings(tools, schema, read.seeds, read.rows, rules=rules)


def _oracle_findings(
    name: str, read: ReadTasks, tools: Sequence[Tool] | None, schema: LedgerSchema | None
) -> Iterator[Finding]:
    seeds = read.seeds
    yield ok(TASKS, f"{name}: {len(seeds)} task{'s' if len(seeds) != 1 else ''} can be read")
    for note in read.notes:
        yield ok(TASKS, note)
    linted = read.in_file(lint_seeds(seeds, tools=tools, ledger_schema=schema))
    yield from list_problems(TASKS, linted, Level.WARNING)


def _plan_findings(
    tools: Sequence[Tool],
    schema: LedgerSchema | None,
    seeds: Sequence[Seed],
    rows: Sequence[int] = (),
    *,
    rules: Sequence[JsonObject],
) -> Iterator[Finding]:
    """Plans every tool over every world that the tasks start from, and keeps its best plan."""
    if not tools:
        return
    best: dict[str, ToolPlan] = {}
    read = ReadSentences()
    for row, now, simulator in _simulators(tools, schema, seeds, rows, rules):
        for name, plan in simulator.plans.items():
            if name not in best or plan.confidence > best[name].confidence:
                best[name] = plan
        read.look_at(row, simulator, now)
    yield from _plan_findings_by_tool(best, {tool.name: tool for tool in tools})
    yield from read.findings()


def _simulators(
    tools: Sequence[Tool],
    schema: LedgerSchema | None,
    seeds: Sequence[Seed],
    rows: Sequence[int],
    rules: Sequence[JsonObject],
) -> Iterator[tuple[int, str | None, PlannedSimulator]]:
    """One simulator for each distinct combination of world, behaviour text and rules."""
    seen: set[tuple[tuple[str, ...], str, bytes]] = set()
    if not seeds:
        empty = World.from_initial_state({})
        yield (
            0,
            None,
            build_simulator(tools, ledger_schema=schema, world=empty, rules=active_rules(rules, ())),
        )
    for row, seed in zip(rows, seeds, strict=True):
        kind = (tuple(sorted(seed.initial_state)), seed.behavior_instructions or "", dumps([*seed.rules]))
        if kind not in seen:
            seen.add(kind)
            world = World.from_initial_state(seed.initial_state)
            yield (
                row,
                seed.now,
                build_simulator(
                    tools,
                    ledger_schema=schema,
                    world=world,
                    behavior=seed.behavior_instructions,
                    rules=active_rules(rules, seed.rules),
                ),
            )


def _plan_findings_by_tool(best: dict[str, ToolPlan], tools: Mapping[str, Tool]) -> Iterator[Finding]:
    sure = []
    for name, plan in best.items():
        notes = "; ".join(plan.notes)
        if plan.plan is None:
            yield problem(PLANS, f"{name} has no plan: {notes}", WRITE_A_PLAN)
        elif (guess := guess_of(tools[name], plan)) is not None:
            yield warning(PLANS, guess.as_text(), f"to confirm it, give {guess.settled_by}; {WRITE_A_PLAN}")
        else:
            sure.append(f"{name} ({plan.origin})")
            if plan.doubts:
                yield warning(PLANS, f"{name}: {'; '.join(plan.doubts)}", WRITE_A_PLAN)
    if sure:
        yield ok(PLANS, f"answered without a model: {', '.join(sure)}")
