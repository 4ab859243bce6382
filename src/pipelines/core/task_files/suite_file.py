"""pipelines.yaml: the agents of a repository and the suites that they are tested with.

agents:
  desk: {folder: agents/desk}
suites:
  refunds: {agent: desk, dataset: tasks.csv, repeats: 5, min_pass: 4}
  pressure: {agent: desk, scenarios: scenarios.yaml, fail_on: critical}
"""

from dataclasses import dataclass, field

from pipelines.core.models.honesty_level import read_honesty
from pipelines.core.text.authored import Fields, as_object, did_you_mean, quote_names
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import read_yaml
from pipelines.core.tools.passthrough_choice import Passthrough, read_passthrough

LARGEST = 256 * 1024
MOST_REPEATS = 100
GATES = ("critical", "susceptible", "inconclusive", "never")
TOP = ("agents", "suites", "server")
AGENT = ("folder", "id", "name", "url", "serve", "token_env")
BOTH = ("agent", "repeats")
PASSTHROUGH = ("passthrough", "cassette")
TASKS = (
    *BOTH,
    "dataset",
    "min_pass",
    "fail_under",
    "tags",
    "concurrency",
    "fault_seed",
    "honesty",
    *PASSTHROUGH,
)
EVALS = (*BOTH, "scenarios", "variations", "baseline_repeats", "intensity", "fail_on")
TOKEN_ENV = "AGENT_TOKEN"


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteAgent:
    """Where an agent comes from: a folder with agent.json, or one that the server has already."""

    label: str
    folder: str | None = None
    known_as: str | None = None  # its id or name on the server
    url: str | None = None  # where it runs already; else it is served from its folder
    serve: str | None = None  # the command that starts it, in its folder
    token_env: str = TOKEN_ENV


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskSuite:
    name: str
    agent: SuiteAgent
    datasets: tuple[str, ...]
    repeats: int = 1
    min_pass: int | None = None  # of a task's repeats; None: single runs are counted
    fail_under: float = 1.0  # share of tasks, or without min_pass of runs
    tags: tuple[str, ...] = ()
    concurrency: int | None = None
    fault_seed: str | None = None
    honesty: str | None = None
    passthrough: Passthrough = field(default_factory=Passthrough)


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalSuite:
    name: str
    agent: SuiteAgent
    scenarios: tuple[str, ...]
    variations: tuple[str, ...] = ()  # none are all that are built in
    repeats: int = 5
    baseline_repeats: int | None = None
    intensity: int | None = None
    fail_on: str = "critical"


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteFile:
    suites: tuple[TaskSuite | EvalSuite, ...]
    server_url: str | None = None


def read_suite_file(text: str) -> SuiteFile:
    """What the file says, or Refused with every problem and its line."""
    read = read_yaml(text, what="suite", most_bytes=LARGEST)
    problems: list[Problem] = []
    body = as_object(read.value if read.value is not None else {}, "", problems, "the file")
    file = _read(Fields(body or {}, "", problems))
    if problems:
        raise Refused([read.placed(problem) for problem in problems], "the file")
    return file


def _read(top: Fields) -> SuiteFile:
    top.refuse_unknown(TOP)
    agents = {name: _agent(name, fields) for name, fields in _entries(top, "agents", "an agent")}
    suites = [_suite(name, fields, agents) for name, fields in _entries(top, "suites", "a suite")]
    if not suites and not top.problems:
        top.refuse("suites", "the file has no suites", "suites: {NAME: {agent: …, dataset: tasks.csv}}")
    server = as_object(top.get("server") or {}, "/server", top.problems, "`server`") or {}
    settings = Fields(server, "/server", top.problems)
    settings.refuse_unknown(("url",))
    return SuiteFile(
        suites=tuple(each for each in suites if each is not None), server_url=settings.text("url")
    )


def _entries(top: Fields, key: str, what: str) -> list[tuple[str, Fields]]:
    body = as_object(top.get(key) if top.has(key) else {}, top.at(key), top.problems, f"`{key}`") or {}
    section = Fields(body, top.at(key), top.problems)
    found = []
    for name in body:
        entry = as_object(body[name], section.at(name), top.problems, f"{what} (`{name}`)")
        if entry is not None:
            found.append((name, Fields(entry, section.at(name), top.problems, subject=f"`{name}`: ")))
    return found


def _agent(name: str, fields: Fields) -> SuiteAgent:
    fields.refuse_unknown(AGENT)
    sources = [key for key in ("folder", "id", "name") if fields.has(key)]
    if len(sources) != 1:
        hint = "folder: a folder with agent.json, or the id or name of an agent that the server has"
        fields.refuse("folder", "give one of `folder`, `id` and `name`", hint)
    for key in ("url", "serve"):
        if fields.has(key) and not fields.has("folder"):
            fields.refuse(key, f"`{key}` needs `folder`: the server already knows where its other agents are")
    if fields.has("url") and fields.has("serve"):
        fields.refuse("serve", "give `url` or `serve`, not both: an agent at a URL is already running")
    known_as = str(fields.id("id", "an agent") or "") if fields.has("id") else fields.text("name")
    return SuiteAgent(
        label=name,
        folder=fields.text("folder"),
        known_as=known_as or None,
        url=fields.text("url"),
        serve=fields.text("serve"),
        token_env=fields.text("token_env") or TOKEN_ENV,
    )


def _suite(name: str, fields: Fields, agents: dict[str, SuiteAgent]) -> TaskSuite | EvalSuite | None:
    is_eval = fields.has("scenarios")
    fields.refuse_unknown(EVALS if is_eval else TASKS)
    if is_eval == fields.has("dataset"):
        fields.refuse(
            "dataset", "give `dataset` (tasks with verdicts) or `scenarios` (an eval under pressure)"
        )
    agent = _agent_of(fields, agents)
    return (_eval_suite if is_eval else _task_suite)(name, fields, agent or SuiteAgent(label=""))


def _agent_of(fields: Fields, agents: dict[str, SuiteAgent]) -> SuiteAgent | None:
    label = fields.text("agent")
    if label is None and not fields.has("agent") and len(agents) == 1:
        return next(iter(agents.values()))  # there is no other that could be meant
    if not fields.has("agent"):
        fields.refuse("agent", "`agent` is missing", "name one of `agents`")
    elif label is not None and label not in agents:
        there = f"there are {quote_names(agents)}" if agents else "write it in `agents`"
        hint = did_you_mean(label, agents) or there
        fields.refuse("agent", f"there is no agent `{label[:80]}` in this file", hint)
    return agents.get(label) if label is not None else None


def _task_suite(name: str, fields: Fields, agent: SuiteAgent) -> TaskSuite:
    repeats = fields.whole_number("repeats", 1, least=1, most=MOST_REPEATS)
    min_pass = fields.whole_number("min_pass", repeats, least=1, most=MOST_REPEATS)
    if min_pass > repeats:
        fields.refuse("min_pass", f"`min_pass` is {min_pass}, but `repeats` is only {repeats}")
    return TaskSuite(
        name=name,
        agent=agent,
        datasets=_one_or_more(fields, "dataset"),
        repeats=repeats,
        min_pass=min_pass if fields.has("min_pass") else None,
        fail_under=_share(fields, "fail_under"),
        tags=_one_or_more(fields, "tags"),
        concurrency=fields.whole_number("concurrency", 1, least=1) if fields.has("concurrency") else None,
        fault_seed=_fault_seed(fields),
        honesty=read_honesty(fields),
        passthrough=read_passthrough(fields),
    )


def _eval_suite(name: str, fields: Fields, agent: SuiteAgent) -> EvalSuite:
    def number(key: str, most: int) -> int | None:
        return fields.whole_number(key, 1, least=1, most=most) if fields.has(key) else None

    return EvalSuite(
        name=name,
        agent=agent,
        scenarios=_one_or_more(fields, "scenarios"),
        variations=_one_or_more(fields, "variations"),
        repeats=fields.whole_number("repeats", 5, least=1, most=MOST_REPEATS),
        baseline_repeats=number("baseline_repeats", 2 * MOST_REPEATS),
        intensity=number("intensity", 3),
        fail_on=fields.choice("fail_on", GATES, "critical") or "critical",
    )


def _one_or_more(fields: Fields, key: str) -> tuple[str, ...]:
    if isinstance(fields.get(key), str):
        text = fields.text(key)
        return (text,) if text is not None else ()
    found = fields.texts(key)
    if fields.get(key) == []:
        fields.refuse(key, f"`{key}` is an empty list: remove it, or add entries")
    return found


def _share(fields: Fields, key: str) -> float:
    value: Json = fields.get(key)
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        fields.refuse(key, f"`{key}` must be a number from 0 to 1")
        return 1.0
    return float(value)


def _fault_seed(fields: Fields) -> str | None:
    value = fields.get("fault_seed")
    if value is None or value == "repeat":
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return str(value)
    fields.refuse("fault_seed", '`fault_seed` must be a whole number of 0 or more, or "repeat"')
    return None
