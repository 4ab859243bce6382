"""Fields of a reply that rules compute from each other, so that none of them can be computed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import ToolNouns


class DependencyCycle(NamedTuple):
    tool: str
    names: tuple[str, ...]  # in the order in which each needs the next
    rules: tuple[int, ...]  # which rule puts each


def dependency_cycles(rules: Sequence[Rule], tools: Mapping[str, ToolNouns]) -> Iterator[DependencyCycle]:
    put: dict[str, dict[str, int]] = {}  # by tool: which rule puts a field
    for at, rule in enumerate(rules):
        if isinstance(rule.form, r.Put):
            for tool in rule.tools:
                put.setdefault(tool, {})[rule.form.name] = at
    for tool, rule_of in put.items():
        needs = {
            name: _needed_names(rules[at].form, tools.get(tool), rule_of) for name, at in rule_of.items()
        }
        for names in _cycles(needs):
            yield DependencyCycle(tool, tuple(names), tuple(rule_of[name] for name in names))


def _needed_names(form: r.Form, tool: ToolNouns | None, put: Mapping[str, int]) -> list[str]:
    """Other fields that the same tool puts. A tool that writes keeps them in its record, too; and a field may
    always be worked out from what it was before."""
    assert isinstance(form, r.Put)
    written = {tool.about, tool.makes} if tool is not None and not tool.reads else set()
    read = [path for path in form.value.refs() if path.root == r.REPLY or path.root in written]
    named = (".".join(path.keys) for path in read)
    return [name for name in dict.fromkeys(named) if name in put and name != form.name]


def _cycles(needs: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """One for each group of names that need each other, in time linear in what is needed."""
    unresolved = unresolvable(needs)
    seen: set[str] = set()
    for start in needs:
        name, trail = start, dict[str, int]()
        while name in unresolved and name not in seen:
            seen.add(name)
            trail[name] = len(trail)
            name = next(one for one in needs[name] if one in unresolved)
        if name in trail:
            yield [*trail][trail[name] :]


def unresolvable(needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Names that are in a circle, or wait for one."""
    waits = {name: len(needed) for name, needed in needs.items()}
    users: dict[str, list[str]] = {}
    for name, needed in needs.items():
        for one in needed:
            users.setdefault(one, []).append(name)
    ready = [name for name, count in waits.items() if count == 0]
    while ready:
        for user in users.get(ready.pop(), ()):
            waits[user] -= 1
            if waits[user] == 0:
                ready.append(user)
    return {name for name, count in waits.items() if count}
