"""The simulator of an agent's tools over a world: authored plans where they exist, else inferred ones."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.domain.shapes import Survey
from pipelines.core.simulation.guessed_refusals import Refusal, inferred_refusals, refusal_in
from pipelines.core.simulation.language import Origin, Plan, parse_plan, read_latency
from pipelines.core.simulation.reading.assemble import ReadPlan, read_plan, survey_for
from pipelines.core.simulation.reply_check import ANY_FIELD, computed_in, with_ledger_values
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.apply_rules import UnappliedRule, apply_rules
from pipelines.core.simulation.rules.book import RuleBook
from pipelines.core.simulation.rules.description_rules import DescribedRules, may_restrict, read_description
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import Vocabulary, build_vocabulary
from pipelines.core.simulation.run_plan import answered
from pipelines.core.simulation.simulator import Moment, Question, SimulatedReply, SimulationFailed
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.tools_schema import Tool

# Reading gives less to tools whose effect is not clear, that nothing in the world answers to, or that make
# records of a type nobody seeded. On the blind tools, plans above this were on the right side in 98 of 100.
GUESS_BELOW = 0.5
LONGEST_READ = 2_000  # characters of a description in which amounts are looked for
_BY_AMOUNT = re.compile(r"\bby \D?(\d{1,9})(?:\.\d{1,9})?(?: ?%| [a-z]{1,20}\b)?")
_CHANGES = ("set", "unset", "add", "append", "remove", "flag", "unflag")
NOT_ENFORCED = "the behaviour text is not enforced"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolPlan:
    """The plan of a tool. Without a plan, `notes` say why no call can be answered."""

    plan: Plan | None
    origin: Origin
    notes: tuple[str, ...] = ()
    confidence: float = 1.0
    unapplied: tuple[UnappliedRule, ...] = ()  # rules that found no place in it, and why
    computed: frozenset[str] = frozenset()  # fields of the reply that the plan works out itself
    guessed_refusals: Mapping[Refusal, str] = field(default_factory=dict)  # what is told with each
    assumed: tuple[str, ...] = ()  # those of the notes that say what reading took for granted
    remarks: tuple[str, ...] = ()  # those that only say where it keeps what the caller gives
    grounds: tuple[str, ...] = ()  # of a plan that was read: what it rests on, and what speaks against it

    @property
    def doubts(self) -> tuple[str, ...]:
        """The notes that somebody should see before a run."""
        return tuple(note for note in self.notes if note not in self.remarks)

    @property
    def is_guess(self) -> bool:
        return self.origin == "read" and self.confidence < GUESS_BELOW


class PlannedSimulator:
    """Implements `Simulator`. A tool's plan is inferred and compiled when it is first needed, then cached."""

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        ledger_schema: LedgerSchema | None,
        world: World,
        behavior: str | None,
        may_read: Callable[[], bool],
        is_strict: bool,
        translated: Mapping[str, Sequence[Json]],
        rules: Sequence[Rule],
    ) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self._ledger_schema = ledger_schema
        self._world = world
        self._behavior_text = behavior
        self._may_read = may_read
        self._is_strict = is_strict
        self._translated = translated
        self.typed_rules = tuple(rules)
        self._read_plans: dict[str, ReadPlan] = {}
        self._plans: dict[str, ToolPlan] = {}
        self.plans: Mapping[str, ToolPlan] = _Plans(self)

    @property
    def has_rules(self) -> bool:
        return bool(self._behavior_text or self.typed_rules)

    @property
    def not_understood(self) -> tuple[str, ...]:
        """Sentences that are not enforced, or only in part, each with the reason in parentheses."""
        return tuple(f"{sentence} ({why})" for sentence, why in self.not_applied.items())

    @property
    def not_applied(self) -> Mapping[str, str]:
        """Sentences that are not enforced, or only in part, and why."""
        return {**self.rule_book.not_applied, **self._unplaced} if self.has_rules else {}

    @property
    def uniform(self) -> Mapping[str, str]:
        """Sentences that are enforced and come out the same for every record of the seeded world, and how."""
        return self.rule_book.uniform if self.has_rules else {}

    @property
    def enforced(self) -> tuple[Rule, ...]:
        """Rules that have a place in the plan of some tool."""
        if not self.has_rules:
            return ()
        unapplied = self._unapplied
        rules = self.rule_book.applied
        return tuple(
            rule for rule in rules if any(rule not in unapplied.get(one, (rule,)) for one in rule.tools)
        )

    @property
    def _unapplied(self) -> Mapping[str, Mapping[Rule, str]]:
        """By tool: the rules that found no place in its plan, and why."""
        return {
            name: {one.rule.original or one.rule: one.reason for one in self.plan_of(name).unapplied}
            for name in self.tools
        }

    def answer(self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment) -> SimulatedReply:
        found = self._plans.get(tool) or self.plan_of(tool)
        if found.plan is None:
            raise SimulationFailed("no_plan", f"`{tool}` has no usable plan: {'; '.join(found.notes)}")
        if self._is_strict and found.is_guess:
            why = "; ".join(found.notes) or f"its confidence is {found.confidence:.2f}"
            raise SimulationFailed("not_certain", f"the plan of `{tool}` is only a guess: {why}")
        reply = answered(found.plan.code, Call(arguments, ledger, moment), found.computed, found.notes)
        if reply.status >= 400 and found.guessed_refusals:
            refusal = refusal_in(reply.status, reply.response)
            guess = found.guessed_refusals.get(refusal) if refusal is not None else None
            return reply._replace(notes=(*reply.notes, guess)) if guess is not None else reply
        return reply

    def settle(self, question: Question, reply: object, ledger: Ledger, moment: Moment) -> SimulatedReply:
        raise SimulationFailed("never_asked", "plans ask nothing")

    def again(
        self, tool: str, ledger: Ledger, refused: SimulatedReply, problems: Sequence[Problem]
    ) -> SimulatedReply:
        """A plan that was read is a guess, and the ledger knows better. What an author wrote is not changed,
        and answers the same however often it is run."""
        if self.plan_of(tool).origin != "read":
            raise SimulationFailed("contradiction", "an author's plan gives the same answer each time")
        after = ledger.draft()
        after.apply(refused.updates)
        says = "answered from the ledger instead of the inferred plan: "
        return refused._replace(
            response=with_ledger_values(refused.response, after, refused.computed, refused.updates),
            notes=(*refused.notes, *(f"{says}{each.path} {each.message}" for each in problems)),
        )

    def reads_world(self, tool: str) -> bool:
        return True

    @cached_property
    def latencies_ms(self) -> Mapping[str, int]:
        """Only an author's own plan says how long its tool takes."""
        found = {name: read_latency(tool.simulation) for name, tool in self.tools.items()}
        return {name: latency_ms for name, latency_ms in found.items() if latency_ms}

    @cached_property
    def remembered_tools(self) -> frozenset[str]:
        """Without rules only an author's plan can look back: nothing is read to find out."""
        names = [
            name for name, tool in self.tools.items() if self.has_rules or _may_look_back(tool.simulation)
        ]
        plans = (self.plan_of(name).plan for name in names)
        return frozenset().union(*(plan.remembered_tools for plan in plans if plan is not None))

    def plan_of(self, name: str) -> ToolPlan:
        known = self._plans.get(name)
        if known is None:
            tool = self.tools.get(name)
            if tool is None:
                raise SimulationFailed("tool_not_declared", f"there is no tool `{name}`")
            known = self._plans[name] = self._compiled(tool)
        return known

    def why_not_covered(self, name: str) -> str | None:
        """Why the plan of a tool is not all that there is to say of it. None: it covers the tool, and every
        sentence of the behaviour text that may be about it.

        What is not read may be about any tool, unless it names some.
        """
        found = self.plan_of(name)
        if found.plan is None:
            return "it has no usable plan"
        if found.is_guess:
            return f"its plan is only a guess (confidence {found.confidence:.2f})"
        if any(note.startswith(NOT_ENFORCED) for note in found.notes):
            return NOT_ENFORCED
        unread = next((one.rule.sentence for one in found.unapplied), None)
        unread = unread or next((one for one in self.not_understood if self._may_be_about(one, name)), None)
        return f"its plan does not enforce: {unread}" if unread is not None else None

    def _may_be_about(self, sentence: str, name: str) -> bool:
        named = [tool for tool in self.tools if re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", sentence)]
        return name in named or not named

    @property
    def unread(self) -> tuple[str, ...]:
        """Sentences of the behaviour text that could not be read, as written."""
        readings = self.rule_book.readings if self._behavior_text else ()
        return tuple(dict.fromkeys(one.sentence for one in readings if one.stop is not None))

    @property
    def unenforced(self) -> tuple[str, ...]:
        """Sentences that are not enforced, or only in part, as written."""
        return tuple(self.not_applied)

    def translated_as(self, sentence: str, bodies: Sequence[Json]) -> "PlannedSimulator":
        """The same with these rules for a sentence of the text; with none the sentence says nothing."""
        return self._under_book(self.rule_book.translated_as(sentence, bodies))

    def without(self, rule: Rule) -> "PlannedSimulator":
        """The same without one rule of the text."""
        return self._under_book(self.rule_book.without(rule))

    def _under_book(self, book: RuleBook) -> "PlannedSimulator":
        """What was read of the tools and the world is shared."""
        other = copy(self)
        other._plans = {}
        other.plans = _Plans(other)
        for name in ("_unplaced", "remembered_tools"):
            other.__dict__.pop(name, None)
        other.__dict__["rule_book"] = book
        return other

    @property
    def survey(self) -> Survey:
        return self._survey

    @property
    def world(self) -> World:
        return self._world

    @property
    def behavior_text(self) -> str:
        return self._behavior_text or ""

    def shaped_fields(self, name: str) -> frozenset[str]:
        """Fields of its reply that rules let differ from the ledger."""
        rules = self.rule_book.rules_for(name) if self.has_rules else ()
        return frozenset(rule.form.name for rule in rules if isinstance(rule.form, (r.Put, r.Mask)))

    def tool_names(self) -> list[str]:
        return list(self.tools)

    @cached_property
    def _survey(self) -> Survey:
        tools = list(self.tools.values())
        return survey_for(tools, world=self._world, ledger_schema=self._ledger_schema)

    @cached_property
    def rule_book(self) -> RuleBook:
        return RuleBook(
            text=self.behavior_text,
            typed=self.typed_rules,
            translated=self._translated,
            vocabulary=self.vocabulary,
            world=self._world,
            may_read=self._may_read,
        )

    @cached_property
    def _unplaced(self) -> dict[str, str]:
        """Sentences of which a rule found no place in the plan of any tool that it is about, and why."""
        reasons: dict[str, str] = {}
        unapplied = self._unapplied
        for rule in self.rule_book.applied:
            lost = [unapplied[name].get(rule) for name in rule.tools if name in unapplied]
            if None not in lost:
                reasons.setdefault(rule.sentence, str(lost[0]) if lost else "no tool of this agent")
        return reasons

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The nouns that rules may use."""
        return build_vocabulary(
            [*self.tools.values()], self._survey, plans=self._plans_without_rules, flags=self._world.flags
        )

    @cached_property
    def _plans_without_rules(self) -> Mapping[str, Json]:
        """What the tools do by themselves: what rules speak of. Of guesses nothing is known."""
        found: dict[str, Json] = {}
        for name, tool in self.tools.items():
            if tool.simulation is not None:
                found[name] = tool.simulation
            elif self._may_read() and (read := self._read(tool)).confidence >= GUESS_BELOW:
                found[name] = [*read.body]
        return found

    def _read(self, tool: Tool) -> ReadPlan:
        if tool.name not in self._read_plans:
            self._read_plans[tool.name] = read_plan(
                tool,
                tools=list(self.tools.values()),
                world=self._world,
                ledger_schema=self._ledger_schema,
                known=self._survey,
            )
        return self._read_plans[tool.name]

    def _compiled(self, tool: Tool) -> ToolPlan:
        if tool.simulation is not None:
            return self._under_rules(tool, tool.simulation, "authored", (), 1.0)
        described = self._described(tool)
        plan = self._as_read(tool, described)
        lost = {one.rule.sentence for one in plan.unapplied} & {rule.sentence for rule in described.rules}
        if lost:
            # What found no place in the plan is left to the reader of tools.
            applied = tuple(rule for rule in described.rules if rule.sentence not in lost)
            plan = self._as_read(tool, DescribedRules(applied, (*described.not_read, *sorted(lost))))
        return plan

    def _as_read(self, tool: Tool, described: DescribedRules) -> ToolPlan:
        """None of the description is read twice: what the language of rules has read is a rule."""
        found = self._read(tool)
        described = described if _has_change(list(found.body)) else DescribedRules()
        notes = (*found.notes, *_unread_amounts(tool.description, found.body))
        untold = [
            refused_by
            for refused_by in described.not_read
            if not any(refused_by in note for note in found.notes)
        ]
        notes += tuple(f"“{refused_by}” in its description is not enforced" for refused_by in untold)
        notes_and_remarks = (*notes, *found.remarks)
        plan = self._under_rules(
            tool, list(found.body), "read", notes_and_remarks, found.confidence, described.rules
        )
        lost = {one.rule.sentence for one in plan.unapplied}
        enforced = dict.fromkeys(rule.sentence for rule in described.rules if rule.sentence not in lost)
        says = tuple(f"refuses calls as its description says: “{refused_by}”" for refused_by in enforced)
        return replace(
            plan,
            notes=(*plan.notes, *says),
            assumed=notes,
            remarks=(*found.remarks, *says),
            grounds=found.grounds.lines,
        )

    def _described(self, tool: Tool) -> DescribedRules:
        reads = self._survey.tools[tool.name].name.reads()
        if reads or not may_restrict(tool.description):
            return DescribedRules()
        return read_description(tool, self.vocabulary, self._world, self._may_read)

    def _under_rules(
        self,
        tool: Tool,
        body: Json,
        origin: Origin,
        notes: tuple[str, ...],
        confidence: float,
        described: tuple[Rule, ...] = (),
    ) -> ToolPlan:
        """The plan with the rules of its description and those that are active, added in this one place."""
        plain = _parse_tool_plan(body, origin, notes, confidence)
        rules = (*described, *(self.rule_book.rules_for(tool.name) if self.has_rules else ()))
        steps = body.get("steps") if isinstance(body, dict) else body
        if not rules or plain.plan is None or not isinstance(steps, list):
            return plain
        if not self._may_read():
            why = f"{NOT_ENFORCED}: it takes too long to read"
            return replace(plain, notes=(*plain.notes, why))
        # What the author says replaces what reading guessed.
        is_inferred = origin == "read"
        vocabulary = self.vocabulary
        applied = apply_rules(
            steps, tool=tool.name, rules=rules, vocabulary=vocabulary, is_inferred=is_inferred
        )
        notes_kept = [
            f"not enforced by this tool: {one.rule.sentence} ({one.reason})" for one in applied.unapplied
        ]
        enforced = _parse_tool_plan(applied.body, origin, (*notes, *notes_kept), confidence)
        if enforced.plan is not None:
            computed = ANY_FIELD if plain.computed is ANY_FIELD else enforced.computed
            return replace(enforced, computed=computed, unapplied=applied.unapplied)
        notes_kept = [NOT_ENFORCED, *enforced.notes]
        lost = tuple(UnappliedRule(rule, NOT_ENFORCED) for rule in rules)
        return replace(plain, notes=(*plain.notes, *notes_kept), unapplied=lost)


def build_simulator(
    tools: Sequence[Tool],
    *,
    ledger_schema: LedgerSchema | None = None,
    world: World,
    behavior: str | None = None,
    may_read: Callable[[], bool] = lambda: True,
    is_strict: bool = False,
    translated: Mapping[str, Sequence[Json]] | None = None,
    rules: Sequence[Rule] = (),
) -> PlannedSimulator:
    """Once `may_read` says no, what is left of the behaviour text is not read, and the plans say so.

    A strict one answers no call whose plan is a guess. `translated` are rules that somebody accepted for
    sentences of the text. `rules` are the typed ones in force.
    """
    return PlannedSimulator(
        tools,
        ledger_schema=ledger_schema,
        world=world,
        behavior=behavior,
        may_read=may_read,
        is_strict=is_strict,
        translated=translated or {},
        rules=rules,
    )


def _may_look_back(plan: Json) -> bool:
    """Whether a plan may use `calls`: only those that may are compiled to find out."""
    return plan is not None and b"calls" in dumps(plan)


class _PlanBody:
    """A plan's body, known by its text: tasks whose worlds differ mostly share their plans all the same."""

    __slots__ = ("body", "text")

    def __init__(self, body: Json) -> None:
        self.body = body
        self.text = dumps(body)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PlanBody) and other.text == self.text


@lru_cache(maxsize=2_048)  # a plan takes some tens of kilobytes
def _plan(written: _PlanBody, origin: Origin) -> Plan:
    return parse_plan(written.body, origin=origin)


def _has_change(block: Json) -> bool:
    steps = [step for step in block if isinstance(step, dict)] if isinstance(block, list) else []
    inner = (step.get(key) for step in steps for key in ("then", "else", "do"))
    return any(verb in step for step in steps for verb in _CHANGES) or any(map(_has_change, inner))


def _unread_amounts(description: str, body: Sequence[JsonObject]) -> list[str]:
    """`by 14 days` of a change that is made without it: whoever reads the plan should not have to notice."""
    if not any(verb in step for step in body for verb in _CHANGES):
        return []
    steps = dumps(list(body)).decode()
    found = [each for each in _BY_AMOUNT.finditer(description[:LONGEST_READ]) if each[1] not in steps]
    return [f"“{each[0]}” in its description is not in any step" for each in found]


def _parse_tool_plan(body: Json, origin: Origin, notes: tuple[str, ...], confidence: float) -> ToolPlan:
    try:
        plan = _plan(_PlanBody(body), origin)
    except Refused as refused:
        problems_told = tuple(
            f"{problem.path}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")
            for problem in refused.problems
        )
        return ToolPlan(plan=None, origin=origin, notes=(*notes, *problems_told), confidence=0.0)
    return ToolPlan(
        plan=plan,
        origin=origin,
        notes=notes,
        confidence=confidence,
        computed=computed_in(body),
        guessed_refusals=inferred_refusals(body) if origin == "read" else {},
    )


class _Plans(Mapping[str, ToolPlan]):
    """Every tool's plan; reading happens on looking."""

    def __init__(self, simulator: PlannedSimulator) -> None:
        self._simulator = simulator

    def __getitem__(self, name: str) -> ToolPlan:
        try:
            return self._simulator.plan_of(name)
        except SimulationFailed:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._simulator.tool_names())

    def __len__(self) -> int:
        return len(self._simulator.tool_names())
