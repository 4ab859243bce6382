"""The `rules` of an agent or a task, and which rules are active together.

They are stored as the author wrote them and parsed where they are needed, once for each text, since the tasks
of a dataset often share theirs.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pipelines.core.limits.weighed_cache import WeighedCache
from pipelines.core.simulation.rules import forms
from pipelines.core.simulation.rules.forms import AuthoredRules
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.text.authored import did_you_mean
from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem, Refused

RULES = "rules"
MOST_HINTED = 50  # unknown tools with a hint
BYTES_PER_CHARACTER = 15  # of a rule that was read: some 3 kB where its text has 200 characters


class _ReadAxis(NamedTuple):
    authored: AuthoredRules
    problems: tuple[Problem, ...]  # by their places in the list


_READ = WeighedCache[_ReadAxis](most_bytes=64 * 1024 * 1024, most_things=256)


def read_axis(
    value: Json, path: str, problems: list[Problem], *, tools: Collection[str] | None = None
) -> tuple[JsonObject, ...]:
    """The entries as they are, with everything noted that is wrong with them: also, with `tools`, a tool that
    is not one of these."""
    if value is None or value == [] or (isinstance(value, str) and not value.strip()):
        return ()
    problems += (replace(one, path=path + one.path) for one in _read(value).problems)
    entries = value if isinstance(value, list) else []
    if tools is not None:
        problems += undeclared_tools(entries, path, tools)
    return tuple(entry for entry in entries if isinstance(entry, dict))


def read_agent_rules(
    value: Json, path: str, problems: list[Problem], *, tools: Collection[str]
) -> tuple[JsonObject, ...]:
    """The axis of an agent, which inherits nothing that it could switch off."""
    entries = read_axis(value, path, problems, tools=tools)
    message = "`off` is for tasks only: an agent inherits no rules"
    off = (at for at, entry in enumerate(entries) if "off" in entry)
    problems += (Problem(path=path + pointer([at]), message=message) for at in off)
    return entries


def parse_agent_rules(value: Json, *, tools: Collection[str]) -> tuple[JsonObject, ...]:
    """The rules in an agent's file, or Refused with everything wrong with them."""
    problems: list[Problem] = []
    entries = read_agent_rules(value, pointer([RULES]), problems, tools=tools)
    if problems:
        raise Refused(problems, "the rules")
    return entries


def authored_rules(entries: Sequence[JsonObject]) -> AuthoredRules:
    """Parse entries that were accepted before."""
    return _read([*entries]).authored if entries else AuthoredRules()


def active_rules(agent: Sequence[JsonObject], task: Sequence[JsonObject]) -> tuple[Rule, ...]:
    """The agent's rules without those that the task switches off, then the task's own."""
    return forms.active_rules(authored_rules(agent).rules, authored_rules(task)) if agent or task else ()


def places_of(entries: Sequence[JsonObject]) -> list[int]:
    """Where each rule stands among the entries, of which some only switch others off."""
    return [at for at, entry in enumerate(entries) if "off" not in entry]


def _read(value: Json) -> _ReadAxis:
    text = dumps(value)

    def read() -> tuple[_ReadAxis, int]:
        problems: list[Problem] = []
        return _ReadAxis(forms.read_rules(value, "", problems), tuple(problems)), len(
            text
        ) * BYTES_PER_CHARACTER

    return _READ.get(text, read)


def undeclared_tools(entries: Sequence[Json], path: str, tools: Collection[str]) -> Iterator[Problem]:
    """Tools that entries name, and that are not among these."""
    found = ((at, *one) for at, entry in enumerate(entries) for one in _tools_in(entry))
    unknown = ((at, key, name) for at, key, name in found if name not in tools)
    for count, (at, key, name) in enumerate(unknown):
        message = f"the agent declares no tool `{name[:80]}`"
        hint = did_you_mean(name, tools) if count < MOST_HINTED else None
        yield Problem(path=path + pointer([at, key]), message=message, hint=hint)


def _tools_in(entry: Json) -> Iterator[tuple[str, str]]:
    """Each tool that an entry names, and under which key, whatever else is wrong with it."""
    if isinstance(entry, dict):
        named = entry.get("tools")
        listed = named if isinstance(named, list) else [named]
        yield from (("tools", one) for one in listed if isinstance(one, str))
        if entry.get("form") == "after" and isinstance(target := entry.get("target"), str):
            yield "target", target
