"""Reads a mark strictly: reports all of its problems at once, when pytest collects the test."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.text.authored import did_you_mean, quote_names
from pipelines.core.text.json_text import JsonObject, dumps, loads
from pipelines.pytest_plugin import MARK, PENDING_OUTCOMES

MOST_REPEATS = 100
KNOWN = (
    "dataset", "agent", "tools", "ledger_schema", "repeats", "min_pass", "tags", "pending", "fault_seed",
    "serve", "url",
)  # fmt: skip
AGENT_FILE = "agent.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    dataset: Path
    agent: Path | None  # the agent's file
    tools: Path | list[Any] | None
    ledger_schema: JsonObject | None
    repeats: int
    min_pass: int
    tags: tuple[str, ...]
    pending: str
    fault_seed: int | str
    is_served: bool
    url: str | None


def read_mark(definition: pytest.Item) -> Mark:
    """The mark of a test, merged with marks of its class and module. Raises UsageError with all problems."""
    given: dict[str, Any] = {}
    problems: list[str] = []
    for mark in reversed(list(definition.iter_markers(MARK))):
        if len(mark.args) > 1:
            problems.append("only the dataset may stand without a name")
        given |= ({"dataset": mark.args[0]} if mark.args else {}) | dict(mark.kwargs)
    for name in given:
        if name not in KNOWN:
            hint = did_you_mean(name, KNOWN) or f"known are {quote_names(KNOWN)}"
            problems.append(f"unknown argument `{name}` ({hint})")
    reader = _Reader(given, definition, problems)
    marked = reader.read()
    if problems or marked is None:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise pytest.Collector.CollectError(
            f"{definition.name}: @pytest.mark.{MARK} cannot be used:\n{listed}"
        )
    return marked


class _Reader:
    def __init__(self, given: dict[str, Any], definition: pytest.Item, problems: list[str]) -> None:
        self._given = given
        self._definition = definition
        self._problems = problems

    def read(self) -> Mark | None:
        dataset = self._path("dataset")
        if "dataset" not in self._given:
            self._problems.append('`dataset` is missing: name a file, such as dataset="tasks.csv"')
        repeats = self._definition.config.getoption("--odyssey-repeats") or self._number("repeats", 1)
        min_pass = self._number("min_pass", repeats)
        if self._definition.config.getoption("--odyssey-repeats"):
            min_pass = min(min_pass, repeats)
        elif min_pass > repeats:
            self._problems.append(f"`min_pass` is {min_pass}, but there are {repeats} repeats")
        if dataset is None:
            return None
        return Mark(
            dataset=dataset,
            agent=self._agent(dataset),
            tools=self._tools(),
            ledger_schema=self._given.get("ledger_schema"),
            repeats=repeats,
            min_pass=min_pass,
            tags=self._tags(),
            pending=self._pending(),
            fault_seed=self._fault_seed(),
            is_served=self._is_served(),
            url=self._given.get("url"),
        )

    def _file_place(self, given: str | Path) -> Path:
        """The path relative to the test's file, else relative to the root directory."""
        sibling, root = self._definition.path.parent / given, self._definition.config.rootpath / given
        return sibling if sibling.exists() or not root.exists() else root

    def _path(self, name: str) -> Path | None:
        given = self._given.get(name)
        if given is None:
            return None
        if not isinstance(given, str | Path):
            self._problems.append(f"`{name}` must be the path of a file, not {type(given).__name__}")
            return None
        found = self._file_place(given)
        if not found.exists():
            self._problems.append(f"`{name}`: there is no {given} beside {self._definition.path.name}")
        return found

    def _agent(self, dataset: Path) -> Path | None:
        agent = self._path("agent")
        if agent is None and "tools" not in self._given:
            for folder in (dataset.parent, self._definition.path.parent):
                if (folder / AGENT_FILE).is_file():
                    return folder / AGENT_FILE
            self._problems.append(
                "which tools has the agent? Give agent= (a folder with agent.json) or tools="
            )
        return agent / AGENT_FILE if agent is not None and agent.is_dir() else agent

    def _tools(self) -> Path | list[Any] | None:
        given = self._given.get("tools")
        if isinstance(given, Sequence) and not isinstance(given, str):
            listed = loads(dumps(list(given)))
            assert isinstance(listed, list)
            return listed
        return self._path("tools")

    def _number(self, name: str, default: int) -> int:
        given = self._given.get(name)
        if given is None:
            return default
        if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST_REPEATS:
            self._problems.append(f"`{name}` must be a whole number from 1 to {MOST_REPEATS}, not {given!r}")
            return default
        return given

    def _tags(self) -> tuple[str, ...]:
        given = self._given.get("tags") or ()
        tags = (given,) if isinstance(given, str) else tuple(given)
        if not all(isinstance(tag, str) for tag in tags):
            self._problems.append("`tags` must be a list of strings")
        return tags

    def _pending(self) -> str:
        given = self._given.get("pending", self._definition.config.getini("odyssey_pending"))
        if given not in PENDING_OUTCOMES:
            self._problems.append(f"`pending` must be {quote_names(PENDING_OUTCOMES)}, not {given!r}")
        return str(given)

    def _fault_seed(self) -> int | str:
        given = self._given.get("fault_seed", 0)
        is_number = isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**31
        if not is_number and given != "repeat":
            self._problems.append(f'`fault_seed` must be a whole number or "repeat", not {given!r}')
        return given  # type: ignore[no-any-return]

    def _is_served(self) -> bool:
        url, serve = self._given.get("url"), self._given.get("serve", False)
        if not isinstance(serve, bool) or not (url is None or isinstance(url, str)):
            self._problems.append("`serve` is True or False, and `url` the address of a running agent")
        if serve and url is not None:
            self._problems.append("give `serve` or `url`, not both: an agent at a url is served already")
        if (serve or url is not None) and "tools" in self._given:
            self._problems.append("an agent that is served is described by agent=, not by tools=")
        return bool(serve) or url is not None
