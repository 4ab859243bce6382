"""Parses a coding scenario strictly and collects all problems."""

import re

from pipelines.core.code.allowed_hosts import read_allow_hosts
from pipelines.core.code.code_secrets import name_complaint
from pipelines.core.coding.read_scorers import LONGEST_COMMAND, read_scorers
from pipelines.core.coding.scenario_values import APP, DEFAULT_SETUP_S, LONGEST_SETUP_S
from pipelines.core.coding.scenario_values import CodingScenario as CodingScenario
from pipelines.core.coding.scenario_values import Timeouts as Timeouts
from pipelines.core.coding.scorers import TESTS_FOLDER, Scorer
from pipelines.core.coding.workspace_seed import ArchiveSeed as ArchiveSeed
from pipelines.core.coding.workspace_seed import EmptySeed as EmptySeed
from pipelines.core.coding.workspace_seed import FilesSeed as FilesSeed
from pipelines.core.coding.workspace_seed import GitSeed as GitSeed
from pipelines.core.coding.workspace_seed import read_texts, read_workspace_seed
from pipelines.core.text.authored import Fields, as_object
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem

LONGEST_NAME = 128
LONGEST_INSTRUCTION = 262_144
LONGEST_REQUIREMENTS = 100_000
MOST_VARIABLES = 100
LONGEST_AGENT_S = 3_600
FIELDS = (
    *("name", "user_instruction", "workspace_seed", "setup_command", "setup_instructions", "scorers"),
    *("requirements", "env_vars", "network", "timeouts", "workdir", "test_files"),
)
#: Folders of the system and of the sandbox itself: another name of the workspace cannot lie there.
_RESERVED_FOLDERS = frozenset(
    (
        *("bin", "boot", "deps", "dev", "env", "etc", "given", "job", "lib", "lib32", "lib64", "logs", "opt"),
        *("proc", "run", "sbin", "sbx", "solution", "sys", "tests", "tmp", "usr", "var"),
    )
)
_WORKDIR = re.compile(r"(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,63}){1,8}")


def read_scenario(
    value: Json, problems: list[Problem], *, path: str = "", allow_http: bool = False
) -> CodingScenario | None:
    """The scenario, or None where something is wrong: that is added to `problems`."""
    before = len(problems)
    body = as_object(value, path, problems, "a coding scenario")
    if body is None:
        return None
    fields = Fields(body, path, problems)
    fields.refuse_unknown(FIELDS)
    fields.require("name", "tasks use it as `scenario_ref`")
    fields.require("user_instruction", "what the user asks of the agent")
    fields.require("scorers", 'such as [{"name": "tests", "type": "command", "command": "make test"}]')
    name = fields.text("name", longest=LONGEST_NAME)
    if name is not None and (not name.isprintable() or name != name.strip() or name.isdigit()):
        fields.refuse("name", "`name` must be printable, without spaces around it, and not only digits")
    seed_at = fields.at("workspace_seed")
    seed = (
        read_workspace_seed(fields.get("workspace_seed"), seed_at, problems, allow_http=allow_http)
        if fields.has("workspace_seed")
        else EmptySeed()
    )
    if fields.has("setup_command") and fields.has("setup_instructions"):
        hint = "give one: the command runs before the agent starts; the instructions are for the agent"
        fields.refuse("setup_instructions", "both `setup_command` and `setup_instructions` are given", hint)
    scenario = CodingScenario(
        name=name or "",
        user_instruction=fields.text("user_instruction", longest=LONGEST_INSTRUCTION) or "",
        workspace_seed=seed or EmptySeed(),
        setup_command=fields.text("setup_command", longest=LONGEST_COMMAND),
        setup_instructions=fields.text("setup_instructions", longest=LONGEST_COMMAND),
        scorers=_scorers(fields),
        requirements=_requirements(fields),
        env_vars=_variables(fields),
        network=_network(fields),
        timeouts=_timeouts(fields),
        workdir=_workdir(fields),
        test_files=read_texts(fields, "test_files", also_below=TESTS_FOLDER)
        if fields.has("test_files")
        else {},
    )
    return scenario if len(problems) == before else None


def read_eval(value: Json, path: str, problems: list[Problem]) -> tuple[Scorer, ...] | str | None:
    """A row's `eval`: a command as text, an array of scorers, or `{"scorers": […]}`."""
    if isinstance(value, str):
        if len(value) > LONGEST_COMMAND:
            message = f"has {len(value):,} characters; at most {LONGEST_COMMAND:,} are allowed"
            problems.append(Problem(path=path, message=message))
        return value
    if isinstance(value, dict):
        fields = Fields(value, path, problems)
        fields.refuse_unknown(("scorers",))
        fields.require("scorers")
        return _scorers(fields)
    return _require_scorers(read_scorers(value, path, problems), value, path, problems)


def _scorers(fields: Fields) -> tuple[Scorer, ...]:
    value, at = fields.get("scorers"), fields.at("scorers")
    if value is None:
        return ()
    return _require_scorers(read_scorers(value, at, fields.problems), value, at, fields.problems)


def _require_scorers(
    scorers: tuple[Scorer, ...], value: Json, path: str, problems: list[Problem]
) -> tuple[Scorer, ...]:
    if value == []:
        hint = 'such as [{"name": "tests", "type": "command", "command": "make test"}]'
        problems.append(
            Problem(path=path, message="there is no scorer, so nothing would be graded", hint=hint)
        )
    return scorers


def _requirements(fields: Fields) -> str:
    """Text as in requirements.txt, or an array of its lines. Whoever installs them checks each."""
    if isinstance(fields.get("requirements"), list):
        return "".join(f"{line}\n" for line in fields.texts("requirements"))
    return fields.text("requirements", longest=LONGEST_REQUIREMENTS, may_be_blank=True) or ""


def _variables(fields: Fields) -> dict[str, str]:
    if not fields.has("env_vars"):
        return {}
    body = as_object(fields.get("env_vars"), fields.at("env_vars"), fields.problems, "`env_vars`") or {}
    variables = Fields(body, fields.at("env_vars"), fields.problems)
    if len(body) > MOST_VARIABLES:
        fields.refuse(
            "env_vars", f"`env_vars` has {len(body)} variables; at most {MOST_VARIABLES} are allowed"
        )
        return {}
    found: dict[str, str] = {}
    for name in body:
        complaint = (
            name_complaint(name) if name != "PYTHONPATH" else None
        )  # of a project whose source is in src
        text = variables.text(name, longest=32_768, may_be_blank=True)
        if complaint is not None:
            variables.refuse(name, f"`{name[:80]}` {complaint}")
        elif text is not None:
            found[name] = text
    return found


def _network(fields: Fields) -> tuple[str, ...]:
    value = fields.get("network")
    if value is None or value == "none":
        return ()
    hint = '"none", or {"setup": ["packages.example"]}: the hosts that the setup command may reach'
    if not isinstance(value, dict):
        fields.refuse("network", "`network` must be `none` or an object", hint)
        return ()
    network = Fields(value, fields.at("network"), fields.problems)
    for key in ("agent", "scorers"):
        if network.has(key):
            who = (
                "an agent reaches only its run's proxy and its models"
                if key == "agent"
                else "a scorer has no network"
            )
            network.refuse(key, f"`{key}` cannot have hosts: {who}", hint)
    network.refuse_unknown(("setup", "agent", "scorers"))
    hosts = network.texts("setup")
    read_allow_hosts(hosts, network.at("setup"), fields.problems)
    return hosts


def _workdir(fields: Fields) -> str:
    path = fields.text("workdir")
    if path is None:
        return APP
    if _WORKDIR.fullmatch(path) is None or path.split("/")[1] in _RESERVED_FOLDERS:
        hint = "an absolute path such as /app or /home/dev/project, outside of system folders"
        fields.refuse("workdir", f"`{path[:80]}` cannot be another name of the workspace", hint)
    return path


def _timeouts(fields: Fields) -> Timeouts:
    if not fields.has("timeouts"):
        return Timeouts()
    body = as_object(fields.get("timeouts"), fields.at("timeouts"), fields.problems, "`timeouts`") or {}
    limits = Fields(body, fields.at("timeouts"), fields.problems)
    limits.refuse_unknown(("setup_s", "agent_s"))
    agent_s = limits.whole_number("agent_s", 0, least=1, most=LONGEST_AGENT_S)
    return Timeouts(
        setup_s=limits.whole_number("setup_s", DEFAULT_SETUP_S, least=1, most=LONGEST_SETUP_S),
        agent_s=agent_s or None,
    )
