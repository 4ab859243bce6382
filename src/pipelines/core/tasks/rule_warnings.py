"""Warnings about typed rules of an upload that do not fit the worlds of its rows or the agent."""

from collections.abc import Callable, Sequence
from itertools import islice

from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules import axis
from pipelines.core.simulation.rules.axis import RULES
from pipelines.core.simulation.rules.check import MOST_HINTED, check
from pipelines.core.simulation.rules.forms import AuthoredRules, active_rules
from pipelines.core.simulation.rules.known_fields import MOST_COMPARED
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import Vocabulary, build_vocabulary
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.authored import nearest_names
from pipelines.core.text.json_text import JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool

MOST_SHAPES = 200  # worlds whose types and fields differ, looked at for one answer
MOST_NAMED = 5  # names of rules in a hint


def rule_warnings(
    seeds: Sequence[Seed],
    *,
    tools: Sequence[Tool] | None,
    ledger_schema: LedgerSchema | None,
    rules: Sequence[JsonObject] = (),
    may_read: Callable[[], bool] = lambda: True,
) -> list[Problem]:
    """By row. `rules` are the agent's: what one of them names may be missing in some worlds, and is told of
    only where it is in none."""
    checking = _RuleChecker(tools or (), ledger_schema, axis.authored_rules(rules).rules, may_read)
    for row, seed in enumerate(seeds if tools else (), 1):
        if seed.rules or rules:
            checking.row(row, seed)
    return checking.problems()


class _RuleChecker:
    def __init__(
        self,
        tools: Sequence[Tool],
        ledger_schema: LedgerSchema | None,
        inherited: tuple[Rule, ...],
        may_read: Callable[[], bool],
    ) -> None:
        self._tools = tools
        self._ledger_schema = ledger_schema
        self._inherited = inherited
        self._may_read = may_read
        self._found: list[Problem] = []
        self._worlds: dict[bytes, Vocabulary] = {}
        self._checked: dict[tuple[bytes, bytes], list[Problem]] = {}
        self._first = 0  # the first row that was looked at, and
        self._of_agent: dict[str, Problem] | None = None  # what no world so far has, by its message
        self._unread: list[int] = []

    def row(self, row: int, seed: Seed) -> None:
        own = axis.authored_rules(seed.rules)
        self._found += (_in_row(row, problem) for problem in _unknown_names(seed.rules, self._inherited))
        # Rows of one dataset mostly share their rules and the make of their worlds: each is checked once.
        make = world_shape(seed.initial_state)
        key = make, dumps([*seed.rules])
        is_too_many = make not in self._worlds and len(self._worlds) >= MOST_SHAPES
        if key not in self._checked and (is_too_many or not self._may_read()):
            self._unread.append(row)
            return
        if make not in self._worlds:
            self._worlds[make] = self._vocabulary(seed)
            self._look_at_inherited(row, make)
        if key not in self._checked:
            self._checked[key] = self._own_problems(own, seed.rules, make)
        self._found += (_in_row(row, problem) for problem in self._checked[key])

    def problems(self) -> list[Problem]:
        of_agent = [_in_row(self._first, one) for one in (self._of_agent or {}).values()]
        if not self._unread:
            return [*of_agent, *self._found]
        says = f"not checked: this check reached its limit here ({len(self._unread)} rows are not checked)"
        unread = Problem(path=pointer([RULES]), message=says)
        return [_in_row(self._unread[0], unread), *of_agent, *self._found]

    def _own_problems(self, own: AuthoredRules, entries: Sequence[JsonObject], make: bytes) -> list[Problem]:
        rules_around = active_rules(self._inherited, AuthoredRules(off=own.off))
        places = axis.places_of(entries)
        return check(own.rules, self._worlds[make], pointer([RULES]), beside=rules_around, places=places)

    def _look_at_inherited(self, row: int, make: bytes) -> None:
        if self._inherited and (self._of_agent is None or self._of_agent):
            found = {one.message: one for one in check(self._inherited, self._worlds[make], pointer([RULES]))}
            self._first = self._first or row
            before = self._of_agent
            self._of_agent = {
                warning: _agent_rule_problem(one) if before is None else before[warning]
                for warning, one in found.items()
                if before is None or warning in before
            }

    def _vocabulary(self, seed: Seed) -> Vocabulary:
        world = World.from_initial_state(seed.initial_state)
        survey = survey_for(list(self._tools), world=world, ledger_schema=self._ledger_schema)
        plans = {tool.name: tool.simulation for tool in self._tools if tool.simulation is not None}
        return build_vocabulary(self._tools, survey, plans=plans)


def _unknown_names(entries: Sequence[JsonObject], inherited: Sequence[Rule]) -> list[Problem]:
    """Names that are switched off, and that no rule of the agent has."""
    names = {rule.name: None for rule in inherited if rule.name is not None}
    found: list[Problem] = []
    for at, entry in enumerate(entries):
        off = entry.get("off")
        if isinstance(off, str) and off not in names:
            message = f"the agent has no rule called `{off}`, so nothing is switched off"
            near = nearest_names(off, islice(names, MOST_COMPARED)) if len(found) < MOST_HINTED else []
            hint = (
                f"did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else _names_hint([*names])
            )
            found.append(Problem(path=pointer([RULES, at]), message=message, hint=hint))
    return found


def _names_hint(names: Sequence[str]) -> str:
    if not names:
        return "none of the agent's rules has a name"
    return f"the agent's rules are called {', '.join(f'`{one}`' for one in names[:MOST_NAMED])}"


def _agent_rule_problem(problem: Problem) -> Problem:
    rule, _, reason = problem.message.partition(": ")
    return Problem(path=problem.path, message=f"{rule} of the agent: {reason}", hint=problem.hint)


def _in_row(row: int, problem: Problem) -> Problem:
    return Problem(path=problem.path, message=problem.message, hint=problem.hint, row=row, column=RULES)


def world_shape(state: JsonObject) -> bytes:
    """The types of a world and their fields, without ids and values."""
    make: JsonObject = {}
    for kind, of_kind in state.items():
        named = of_kind.values() if isinstance(of_kind, dict) else ()
        fields = sorted({name for attrs in named if isinstance(attrs, dict) for name in attrs})
        make[kind] = list(fields)
    return dumps(make)
