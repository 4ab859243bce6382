"""Findings about rules that hold in any world: conditions that are never or always true, rules that
contradict each other, and rules that an earlier rule makes redundant. Only certain findings are reported.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

from pipelines.core.simulation.expr import Expr, regions
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.regions import Condition
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.dependency_cycles import unresolvable
from pipelines.core.simulation.rules.forms import to_text
from pipelines.core.simulation.rules.rule import Rule

_TOGETHER = 16  # rules on one value that are compared at a time
_TIGHTEST = 8  # of them, compared with those to come as well


class FindingKind(StrEnum):
    NEVER_TRUE = "never_true"
    ALWAYS_TRUE = "always_true"
    CONTRADICTS = "contradicts"
    SHADOWED = "shadowed"  # an earlier rule leaves it nothing to do


class Finding(NamedTuple):
    kind: FindingKind
    rules: tuple[int, ...]  # their numbers, from 1; first the one that it is about
    says: str


def findings(rules: Sequence[Rule]) -> list[Finding]:
    """In the order of the rules that they are about. `rules` are all that hold for one agent, in order."""
    found: dict[tuple[int, ...], Finding] = {}
    for one in (
        *_constant_conditions(rules),
        *_blocked_tools(rules),
        *_conflicting_effects(rules),
        *_conflicting_requirements(rules),
    ):
        found.setdefault(one.rules, one)
    return sorted(found.values(), key=lambda one: one.rules)


def _constant_conditions(rules: Sequence[Rule]) -> Iterator[Finding]:
    for number, rule in enumerate(rules, 1):
        is_need = isinstance(rule.form, (r.Require, r.Keep))
        expr = getattr(rule.form, "need" if is_need else "when", None)
        if expr is None or isinstance(expr, n.Constant):  # `require: false` is meant so
            continue
        says = f"rule {number}: `{to_text(expr)}` is"
        if regions.is_never_true(expr):
            does = "refuses every call" if is_need else "never does anything"
            yield Finding(FindingKind.NEVER_TRUE, (number,), f"{says} never true, so it {does}")
        elif regions.is_always_true(expr):
            does = "never refuses a call" if is_need else "does not need the condition"
            yield Finding(FindingKind.ALWAYS_TRUE, (number,), f"{says} always true, so it {does}")


def _blocked_tools(rules: Sequence[Rule]) -> Iterator[Finding]:
    """Tools that may only be called after each other, so that none of them ever is."""
    waits: dict[str, list[tuple[str, int]]] = {}
    for number, rule in enumerate(rules, 1):
        if isinstance(rule.form, r.After):
            for tool in rule.tools:
                waits.setdefault(tool, []).append((rule.form.tool, number))
    never = unresolvable(
        {tool: [name for name, _ in after if name in waits] for tool, after in waits.items()}
    )
    reported: set[int] = set()
    for tool in (one for one in waits if one in never):
        name, number = next(one for one in waits[tool] if one[0] in never)
        if number not in reported:
            reported.add(number)
            says = f"rule {number}: {tool} waits for {name}, which can never be called before it"
            yield Finding(FindingKind.NEVER_TRUE, (number,), says)


# -- one thing done in two ways


def _effects(form: r.Form) -> Iterator[tuple[str, Expr | None, Any]]:
    """What is done, under which condition, and how."""
    match form:
        case r.Set(target=target, value=value, when=when, where=where):
            of = f" where `{to_text(where)}`" if where is not None else ""
            yield f"set `{to_text(m.path(target.root, *target.keys))}`{of}", when, value or m.NULL
        case r.Put(name=name, value=value, when=when):
            yield f"answer `{name}`", when, value
        case r.Flag(flag=flag, on=on, when=when):
            yield f"set the flag `{flag}`", when, m.constant(on)
        case r.NotFound(entity_type=kind, answer=answer):
            yield f"answer for an unknown {kind}", None, answer
        case r.Only(names=names) | r.Without(names=names):
            yield from ((f"decide whether `{name}` is shown", None, type(form)) for name in names)


def _conflicting_effects(rules: Sequence[Rule]) -> Iterator[Finding]:
    first: dict[tuple[str, str, Expr | None], tuple[int, Any]] = {}
    for number, rule in enumerate(rules, 1):
        for does, when, how in _effects(rule.form):
            for tool in rule.tools:
                other, before = first.setdefault((tool, does, when), (number, how))
                is_known = not any(
                    isinstance(one, Expr) and not isinstance(one, n.Constant) for one in (how, before)
                )
                pair, both = (number, other), f"both {does} in {tool} under the same condition"
                if how != before and is_known:
                    says = f"rule {number} contradicts rule {other}: {both}, to different values"
                    yield Finding(FindingKind.CONTRADICTS, pair, says)
                elif how == before and other != number and not isinstance(how, type):
                    says = f"rule {number} repeats rule {other}: {both}, to the same value"
                    yield Finding(FindingKind.SHADOWED, pair, says)


# -- what is asked of one value


class _Requirement(NamedTuple):
    number: int
    condition: Condition
    is_all: bool  # its rule asks nothing else

    def __str__(self) -> str:
        return f"`{to_text(self.condition.test.replaced({'x': self.condition.of}))}`"


def _conflicting_requirements(rules: Sequence[Rule]) -> Iterator[Finding]:
    requirements: dict[tuple[str, str, Expr], list[_Requirement]] = {}
    for number, rule in enumerate(rules, 1):
        when = f"{type(rule.form).__name__} {getattr(rule.form, 'after_changes', '')}"
        found = regions.conditions(rule.form.need) if isinstance(rule.form, (r.Require, r.Keep)) else []
        for one in found:
            for tool in rule.tools:
                requirements.setdefault((tool, when, one.of), []).append(
                    _Requirement(number, one, len(found) == 1)
                )
    # Tools of which all the same is asked are looked at once.
    groups = {(at[1:], tuple(one.number for one in each)): (at[0], each) for at, each in requirements.items()}
    for tool, each in groups.values():
        yield from _compare_requirements(each, tool)


def _compare_requirements(asked: Sequence[_Requirement], tool: str) -> Iterator[Finding]:
    first: dict[Expr, _Requirement] = {}
    for one in asked:
        earlier = first.setdefault(one.condition.test, one)
        if earlier is not one and one.is_all:
            yield _shadowed_finding(one, earlier, tool)
    telling = [one for one in first.values() if _is_telling(one.condition)]
    tight: list[_Requirement] = []
    for start in range(0, len(telling), _TOGETHER):
        some = [*tight, *telling[start : start + _TOGETHER]]
        true = regions.truths([one.condition for one in some])
        for at in range(len(tight), len(some)):
            found = (_between(some[at], some[before], true[at], true[before], tool) for before in range(at))
            yield from islice((one for one in found if one is not None), 1)
        tightest = {
            at: one
            for at, one in enumerate(some)
            if not any(t != true[at] and t & ~true[at] == 0 for t in true)
        }
        tight = [*tightest.values()][:_TIGHTEST]


def _is_telling(one: Condition) -> bool:
    return regions.truths([one]) != [0] and not regions.is_everywhere(one)


def _between(one: _Requirement, earlier: _Requirement, true: int, before: int, tool: str) -> Finding | None:
    if true & before == 0:
        why = f"in {tool} no call passes both {one} and {earlier}"
        says = f"rule {one.number} contradicts rule {earlier.number}: {why}"
        return Finding(FindingKind.CONTRADICTS, (one.number, earlier.number), says)
    return _shadowed_finding(one, earlier, tool) if one.is_all and before & ~true == 0 else None


def _shadowed_finding(one: _Requirement, earlier: _Requirement, tool: str) -> Finding:
    why = f"every call that passes rule {earlier.number} ({earlier}) also passes it"
    says = f"rule {one.number} never refuses a call of {tool}: {why}"
    return Finding(FindingKind.SHADOWED, (one.number, earlier.number), says)
