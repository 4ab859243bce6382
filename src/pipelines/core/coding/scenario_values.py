"""A coding scenario: the repository a task starts from, how it is set up, and how a change to it is graded.

    {"name": "fix-sum", "user_instruction": "…",
     "workspace_seed": {"type": "git", "url": "https://…", "ref": "v1"}, "setup_command": "make deps",
     "scorers": [{"name": "tests", "type": "tests", "fail_to_pass": ["…"]}]}

A task copies its scenario whole when it is made, with what its row says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pipelines.core.coding.scorers import CommandScorer, Scorer, TestsScorer, scorer_from_stored
from pipelines.core.coding.workspace_seed import EmptySeed, WorkspaceSeed, seed_from_stored
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.stored import known_fields, stored_list
from pipelines.wire.records import As, Omitted, Record, Via

APP = "/app"
DEFAULT_SETUP_S, LONGEST_SETUP_S = 600, 3_600
SHOWN_INSTRUCTION = 300  # characters of it in a list


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeouts(Record, component=""):
    setup_s: int = DEFAULT_SETUP_S
    agent_s: Omitted[int | None] = (
        None  # None: what the agent's own definition says; it is never longer than that
    )


def _of_setup(hosts: tuple[str, ...]) -> JsonObject:
    return {"setup": [*hosts]}


@dataclass(frozen=True, kw_only=True, slots=True)
class CodingScenario(Record, component=""):
    name: str
    user_instruction: str
    workspace_seed: Annotated[WorkspaceSeed, As(JsonObject), "in a list without its files"] = field(
        default_factory=EmptySeed
    )
    setup_command: Omitted[str | None] = None  # run in the workspace before its baseline is committed
    setup_instructions: Omitted[str | None] = None  # told to the agent instead
    scorers: Annotated[tuple[Scorer, ...], As(list[JsonObject])] = ()
    requirements: Omitted[str] = ""  # packages for setup, agent and scorers, one on a line; read-only
    env_vars: Omitted[Mapping[str, str]] = field(default_factory=dict)
    #: Host names that the setup command may reach. An agent reaches its run's proxy and its models, a scorer
    #: nothing.
    network: Annotated[Omitted[tuple[str, ...]], Via(_of_setup)] = ()
    timeouts: Annotated[Omitted[Timeouts], As(JsonObject)] = field(default_factory=Timeouts)
    #: Where else the workspace is seen: tasks of other ranges say their folder by its whole path.
    workdir: Omitted[str] = APP
    #: Files that come only when a change is graded, whatever the agent left at their paths.
    test_files: Omitted[Mapping[str, str]] = field(default_factory=dict)

    @property
    def all_requirements(self) -> str:
        """With pytest, where a scorer runs it and nobody names it."""
        runs_pytest = any(isinstance(one, TestsScorer) and one.command is None for one in self.scorers)
        names = [line.strip().lower() for line in self.requirements.splitlines()]
        is_named = any(name.startswith("pytest") and name[6:7] not in ("-", "_") for name in names)
        if not runs_pytest or is_named:
            return self.requirements
        return f"{self.requirements.rstrip()}\npytest\n".lstrip()

    def head(self) -> JsonObject:
        """What a list tells of it beside its name: no files, no archive."""
        seed = self.workspace_seed.as_json()
        files = seed.get("files")
        short: JsonObject = {key: seed[key] for key in ("type", "url", "ref") if key in seed}
        short |= {"files": len(files)} if isinstance(files, dict) else {}
        scorers: list[Json] = [
            {"name": one.name, "type": one.type, "required": one.required} for one in self.scorers
        ]
        instruction = self.user_instruction[:SHOWN_INSTRUCTION]
        return {"user_instruction": instruction, "workspace_seed": short, "scorers": scorers}

    @classmethod
    def from_stored(cls, body: Any) -> "CodingScenario":
        """From what `as_json` wrote."""
        read = known_fields(cls, body)
        read["workspace_seed"] = seed_from_stored(body["workspace_seed"])
        read["scorers"] = tuple(map(scorer_from_stored, stored_list(body.get("scorers"))))
        network = body.get("network") or {}
        read["network"] = tuple(map(str, stored_list(network.get("setup"))))
        read["timeouts"] = Timeouts(**known_fields(Timeouts, body.get("timeouts") or {}))
        return cls(**read)

    def with_overrides(
        self,
        *,
        workspace_seed: WorkspaceSeed | None = None,
        setup_command: str | None = None,
        eval: tuple[Scorer, ...] | str | None = None,
    ) -> "CodingScenario":
        """As a row has it. An `eval` replaces all scorers; text is one command."""
        scorers: tuple[Scorer, ...] = self.scorers
        if isinstance(eval, str):
            scorers = (CommandScorer(name="eval", type="command", command=eval),)
        elif eval is not None:
            scorers = eval
        return replace(
            self,
            workspace_seed=workspace_seed if workspace_seed is not None else self.workspace_seed,
            setup_command=setup_command if setup_command is not None else self.setup_command,
            scorers=scorers,
        )
