"""The records that a tool's arguments pick, each found once under a name of its own."""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import arg
from pipelines.core.simulation.expr.nodes import Expr, Name
from pipelines.core.simulation.reading.records import noun_of
from pipelines.core.simulation.reading.steps import Bound, Step, bind
from pipelines.core.simulation.reading.targets import subject_of
from pipelines.core.simulation.reading.tool_reading import Reading


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """A record that an argument picks."""

    noun: str
    id: Expr
    collection: Collection
    argument: Argument

    @property
    def value(self) -> Expr:
        return Name(self.noun)

    @property
    def bound(self) -> Bound:
        return Bound(steps=(), noun=self.noun, id=self.id, collection=self.collection, holder=self.noun)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    steps: tuple[Step, ...]
    things: tuple[Thing, ...]
    arguments: tuple[Argument, ...]  # those that pick nothing


def scope_of(reading: Reading) -> Scope:
    """Every required argument that is an id picks its record; no two go by one name."""
    steps: list[Step] = []
    things: list[Thing] = []
    rest: list[Argument] = []
    for argument in reading.arguments:
        found = subject_of(reading.name, [argument], reading.known, reading.service)
        is_picked = found is not None and argument.is_required and (argument.is_key or not found.is_taken)
        if found is None or not is_picked or found.collection.form != "table" or found.collection.is_empty:
            rest.append(argument)
            continue
        noun = noun_of(found.collection)
        while any(one.noun == noun for one in things):
            noun = f"other_{noun}"
        bound = bind(found.collection, arg(argument.name), noun)
        steps += bound.steps
        things.append(Thing(noun=noun, id=bound.id, collection=found.collection, argument=argument))
    return Scope(steps=tuple(steps), things=tuple(things), arguments=tuple(rest))


def stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(singular(word)) for word in words)


def nouns_of(collection: Collection) -> frozenset[str]:
    named = (collection.words, *collection.called, tokens(collection.entity_type))
    return frozenset(stem(singular(word)) for noun in named for word in noun)
