"""The fields that rules may name: those of the world's records, of schemas, and those that rules create.

Of a type or a reply of which no field is declared, every field may be there.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import Keys, Kind, ToolNouns, Vocabulary
from pipelines.core.text.authored import nearest_names

MOST_COMPARED = 500  # names that a misspelled one is held against
MOST_LISTED = 5


class NameProblem(NamedTuple):
    """An unknown name in a rule; `there` are the known names."""

    message: str
    name: str = ""
    there: Iterable[str] = ()
    advice: str | None = None

    def hint(self) -> str | None:
        there = [*islice(self.there, MOST_COMPARED)]
        if near := nearest_names(self.name, there, most=1):
            return f"did you mean `{near[0]}`?"
        return "there is " + ", ".join(f"`{one}`" for one in there[:MOST_LISTED]) if there else self.advice


class _Fields(NamedTuple):
    names: Mapping[Keys, None]
    below: Mapping[Keys, list[str]]  # the fields directly inside a field, where these are known


class KnownFields:
    """Each type and each tool is looked at once, however many rules name it."""

    def __init__(self, vocabulary: Vocabulary, rules: Iterable[Rule]) -> None:
        self._vocabulary = vocabulary
        self._made: dict[str, list[Keys]] = {}  # by type
        self._put: dict[str, list[str]] = {}  # by tool
        for rule in rules:
            self._note(rule)
        self._fields: dict[str, _Fields] = {}
        self._replies: dict[str, dict[str, None]] = {}

    def has_type(self, kind: str) -> bool:
        return kind in self._vocabulary.kinds or kind in self._made

    def absent_in_type(self, kind: str, keys: Keys) -> Iterator[NameProblem]:
        known = self._vocabulary.kinds.get(kind)
        if known is None or not known.fields:
            return
        if kind not in self._fields:
            written_fields = (*self._made.get(kind, ()), *((name,) for name in sorted(known.written)))
            self._fields[kind] = _fields(known, written_fields)
        names, below = self._fields[kind]
        depth = next((at for at in range(1, len(keys) + 1) if keys[:at] not in names), None)
        if depth is not None and (there := below.get(keys[: depth - 1])):
            complaint = f"`{kind}` has no field `{'.'.join(keys[:depth])}`"
            yield NameProblem(complaint, keys[depth - 1], there)

    def absent_in_replies(self, name: str, tools: Iterable[ToolNouns]) -> Iterator[NameProblem]:
        for tool in tools:
            if tool.name not in self._replies:
                self._replies[tool.name] = dict.fromkeys(self._reply(tool))
            there = self._replies[tool.name]
            if there and name not in there:
                yield NameProblem(f"the reply of `{tool.name}` has no field `{name}`", name, there)

    def _reply(self, tool: ToolNouns) -> Iterator[str]:
        kinds = [self._vocabulary.kinds[one] for one in (tool.about, tool.makes, tool.lists) if one]
        declared = [*tool.output, *(keys[0] for kind in kinds for keys in kind.fields)]
        if declared:
            yield from ("id", *declared, *self._put.get(tool.name, ()))
            yield from (keys[0] for kind in kinds for keys in self._made.get(kind.name, ()))

    def _note(self, rule: Rule) -> None:
        match rule.form:
            case r.Set(target=target, value=value) if value is not None:
                self._made.setdefault(target.root, []).append(target.keys)
            case r.Add(entity_type=kind, fields=fields):
                self._made.setdefault(kind, []).extend((name,) for name, _ in fields)
            case r.Put(name=name):
                for tool in rule.tools:
                    self._put.setdefault(tool, []).append(name.partition(".")[0])
                    nouns = self._vocabulary.tools.get(tool)
                    about = (nouns.makes or nouns.about) if nouns is not None and not nouns.reads else None
                    if about is not None:  # a tool that writes keeps it in the record
                        self._made.setdefault(about, []).append(tuple(name.split(".")))


def _fields(kind: Kind, made: Iterable[Keys]) -> _Fields:
    names: dict[Keys, None] = {("id",): None}
    for keys in (*kind.fields, *made):
        names.update((keys[:depth], None) for depth in range(1, len(keys) + 1))
    below: dict[Keys, list[str]] = {}
    for keys in names:
        below.setdefault(keys[:-1], []).append(keys[-1])
    return _Fields(names, below)
