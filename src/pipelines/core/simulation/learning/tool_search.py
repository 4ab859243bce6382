"""The search for the plan of one tool: what it sees, which calls it refuses, what it changes and answers."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pipelines.core.ledger.ledger import Add, Ledger
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning import guards
from pipelines.core.simulation.learning.changes import Changes, explain_changes
from pipelines.core.simulation.learning.draft import Draft, written_plan
from pipelines.core.simulation.learning.examples import Example
from pipelines.core.simulation.learning.found import Found
from pipelines.core.simulation.learning.growth import Growth, Root, lookup_in
from pipelines.core.simulation.learning.makers import MAKERS
from pipelines.core.simulation.learning.numbering import Numbering, Value
from pipelines.core.simulation.learning.records import best_fields, keys_of
from pipelines.core.simulation.learning.related import related
from pipelines.core.simulation.learning.scene import Scene
from pipelines.core.simulation.learning.search import Search, Target
from pipelines.core.simulation.library.world import next_id
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.values import MISSING, Stopped, entity_of
from pipelines.core.text.json_text import JsonObject, dumps

ALIKE = 0.6  # of the words of two refusals that are one
REFUSED = 400
STANDING = 2.6  # the only record of a type: an argument that names it is a little shorter
WAS = "was"
MOMENT = Moment(seed="learning", call_number=1, now="2026-01-15T10:30:00Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    """A plan that a search found, and how many of its examples it leaves unexplained."""

    plan: JsonObject
    missed: int
    steps: int


def search_plan(examples: Sequence[Example], *, is_over: Callable[[], bool]) -> Searched:
    """The plan that explains most of these calls of one tool, in the fewest words."""
    numbering = Numbering()
    scene = _before(numbering, examples)
    search = Search(scene=scene, makers=MAKERS, is_over=is_over)
    labels, kinds = _labels(examples)
    tree = guards.separate(scene, dict(enumerate(labels)))
    missed = set(guards.missed(tree))
    refusals: dict[int, tuple[int, Found]] = {}
    for label in sorted(set(labels) - {0}):
        rows = [row for row, one in enumerate(labels) if one == label]
        found = _settled(search, [one.call.response for one in examples], rows)
        refusals[label] = (REFUSED, found)
    taken = [row for row, label in enumerate(labels) if label == 0]
    changes, reply, was = Changes(), None, {}
    if taken:
        updates = [one.call.updates for one in examples]
        changes = explain_changes(search, updates, [one.after for one in examples], taken)
        later = _after(scene, numbering, examples, changes)
        answering = Search(scene=later, makers=MAKERS, is_over=is_over, steps=search.steps)
        reply = _settled(answering, [one.call.response for one in examples], taken)
        missed |= changes.missed | reply.missed
        was = later.was
    draft = Draft(
        tree=tree,
        refusals=refusals,
        changes=changes,
        reply=reply if taken else None,
        was=was,
        is_error_text=frozenset(label for label, is_text in kinds.items() if is_text),
    )
    return Searched(plan=written_plan(draft), missed=len(missed), steps=search.steps[0])


def _settled(search: Search, values: Sequence[Value], rows: Sequence[int]) -> Found:
    target = Target(values=values, rows=rows)
    found = search.explain(target)
    if found is not None:
        return found
    if all(isinstance(values[row], dict) for row in rows) and keys_of(target) is not None:
        return best_fields(search, target)
    return search.settle(target)


# -- scenes


def _before(numbering: Numbering, examples: Sequence[Example]) -> Scene:
    ledgers = [one.before for one in examples]
    scene = Scene(numbering, ledgers)
    given = list(_given(examples))
    Growth(scene, lookup_in(ledgers, ledgers)).grow(
        [*given, *_standing(ledgers, ledgers), *_ids(examples), *related(scene, given)]
    )
    return scene


def _given(examples: Sequence[Example]) -> Iterator[Root]:
    for name in dict.fromkeys(name for one in examples for name in one.call.arguments):
        values = [one.call.arguments.get(name, MISSING) for one in examples]
        yield Root(m.arg(name), values, 1.0, name, True)


def _standing(ledgers: Sequence[Ledger], later: Sequence[Ledger]) -> Iterator[Root]:
    """What is there whatever the arguments are: the only record of a type, and how many a type has."""
    for kind in dict.fromkeys(kind for ledger in ledgers for kind in ledger.entity_types()):
        counts = [ledger.count(kind) for ledger in ledgers]
        if max(counts) == 1:
            ids = {id for ledger in ledgers for id, _ in ledger.entities(kind)}
            if len(ids) == 1:
                [id] = ids
                values = [
                    _entity(ledger, read, kind, id) for ledger, read in zip(ledgers, later, strict=True)
                ]
                yield Root(m.entity(kind, n.Constant(id)), values, STANDING, kind)
        elif len(set(counts)) > 1:
            after = [ledger.count(kind) for ledger in later]
            yield Root(m.call("len", m.entities(kind)), after, 2.5, f"{kind} count")


def _entity(ledger: Ledger, read: Ledger, kind: str, id: str) -> Value:
    attrs = read.get(kind, id)
    attrs = attrs if attrs is not None else ledger.get(kind, id)
    return None if attrs is None else entity_of(kind, id, attrs, attrs)


def _ids(examples: Sequence[Example]) -> Iterator[Root]:
    kinds = dict.fromkeys(
        update.entity_type for one in examples for update in one.call.updates if isinstance(update, Add)
    )
    for kind in kinds:
        try:
            values = [next_id(Call(one.call.arguments, one.before, MOMENT), kind) for one in examples]
        except Stopped:
            continue
        yield Root(m.call("new_id", n.Constant(kind)), values, 2.5, "id")


def _after(scene: Scene, numbering: Numbering, examples: Sequence[Example], changes: Changes) -> Scene:
    """The world as it is when the reply is made. What a change overwrites keeps a name."""
    if not any(one.call.updates for one in examples):
        return scene
    before, after = [one.before for one in examples], [one.after for one in examples]
    later = Scene(numbering, after)
    given = list(_given(examples))
    roots = [*given, *_standing(before, after), *_added(examples, changes), *related(later, given)]
    Growth(later, lookup_in(before, after)).grow(roots)
    for number, term in enumerate(scene.terms):
        if not later.has(tuple(term.numbers)) and not any(
            isinstance(call, n.Call) and call.function in ("new_id",) for call in term.expr.calls()
        ):
            name = f"{WAS}_{number}"
            if later.add(n.Name(name), term.values, term.cost + 0.5, term.name) is not None:
                later.was[name] = term.expr
    return later


def _added(examples: Sequence[Example], changes: Changes) -> Iterator[Root]:
    for number, adding in enumerate(changes.addings):
        added = [
            next((u for u in one.call.updates if isinstance(u, Add) and u.entity_type == adding.kind), None)
            for one in examples
        ]
        attrs = [MISSING if one is None else one.attrs for one in added]
        yield Root(n.Name(f"attrs_{number + 1}"), attrs, 1.0, adding.kind)
        ids = [MISSING if one is None else one.id for one in added]
        yield Root(n.Name(f"new_id_{number + 1}"), ids, 1.2, f"{adding.kind}_id")


# -- refusals


def _labels(examples: Sequence[Example]) -> tuple[list[int], dict[int, bool]]:
    """0 for calls that were not refused; a label for each kind of refusal, and whether it came as a text."""
    heads: list[list[str]] = []
    labels: list[int] = []
    kinds: dict[int, bool] = {}
    for example in examples:
        if not example.is_error:
            labels.append(0)
            continue
        words = _words(example)
        at = next((index for index, head in enumerate(heads) if _are_alike(head, words)), None)
        if at is None:
            at = len(heads)
            heads.append(words)
        labels.append(at + 1)
        kinds[at + 1] = not example.call.is_error
    return labels, kinds


def _words(example: Example) -> list[str]:
    """Of a refusal, without what the call gave."""
    text = dumps(example.call.response).decode()
    for value in sorted(map(str, _scalars(example.call.arguments)), key=len, reverse=True):
        if len(value) > 1 or value.isdigit():
            text = text.replace(value, " ")
    return re.findall(r"[^\W\d_]+", text)


def _scalars(arguments: JsonObject) -> list[object]:
    return [value for value in arguments.values() if isinstance(value, (str, int, float))]


def _are_alike(one: list[str], other: list[str]) -> bool:
    return one == other or SequenceMatcher(None, one, other, autojunk=False).ratio() > ALIKE
