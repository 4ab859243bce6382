"""The task seed: what one task asks, the world it starts in, what goes wrong in it and what counts as right.

Read from axis names with JSON values; the CSV's own names are core.tasks_csv's. What `workspace_seed` and
`eval` mean is for `core.coding`: here only their shape.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from pipelines.core.ledger.initial_state import read_initial_state
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.oracles.constraint_check import read_check
from pipelines.core.oracles.expected_answer import read_expected_answer
from pipelines.core.oracles.expected_calls import read_expected_calls
from pipelines.core.oracles.expected_state import read_expected_state
from pipelines.core.simulation.rules.axis import RULES, read_axis
from pipelines.core.tasks.rubric_lines import RubricLine, read_rubric
from pipelines.core.tasks.seed_limits import size_problems
from pipelines.core.text.authored import Fields, as_list, kind
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import known_fields, stored_list
from pipelines.core.text.world_time import read_now
from pipelines.core.tools.failure_rules import FailureRule, read_failure_rules, rule_from_stored
from pipelines.core.tools.rule_names import undeclared_names
from pipelines.core.tools.tools_schema import Tool

EXPECTED_OUTCOMES = ("completion", "refusal", "no_change")
CONVERSATION = "model_as_user"
ONE_TURN = "single_shot"
TURN_MODES = (ONE_TURN, CONVERSATION)
MEMORY_MODES = ("replay", "stateful")
SIMULATOR_MODES = ("persona", "scripted")
MAX_TURNS = 50
DEFAULT_TURNS = 10
LONGEST_ID = 100  # characters: it stands in tables, file names and test names


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedConstraint:
    """Something the agent must keep to over all turns; `check` is a rule for it, read elsewhere."""

    id: str
    description: str
    check: Json = None

    def as_json(self) -> JsonObject:
        body: JsonObject = {"id": self.id, "description": self.description}
        return body | ({"check": self.check} if self.check is not None else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class Seed:
    """One task, complete: every axis has its value or its default."""

    user_instruction: str
    #: Business rules of the simulated backend. Never sent to the agent.
    behavior_instructions: str | None = None
    #: {entity_type: {entity_id: attributes}}, and flags as {"flags": {name: true}}.
    initial_state: JsonObject = field(default_factory=dict)
    #: What time it is there when a run starts, as a UTC timestamp. None is the run's own start.
    now: str | None = None
    failure_rules: tuple[FailureRule, ...] = ()
    #: None leaves the judge to infer; "completion" and "refusal" tell it, and "no_change" that nothing may
    #: change, which is no refusal: the user gives up.
    expected_outcome: str | None = None
    turn_mode: str = "single_shot"
    max_turns: int = DEFAULT_TURNS  # user turns
    memory_mode: str = "replay"
    simulator_mode: str = "persona"
    user_simulator_persona: str | None = None
    scripted_user_turns: tuple[str, ...] = ()  # the turns after user_instruction
    tracked_constraints: tuple[TrackedConstraint, ...] = ()
    rubric: tuple[RubricLine, ...] = ()
    termination_keyword: str | None = None
    scenario_ref: str | None = None
    workspace_seed: Json = None
    setup_command: str | None = None
    eval: Json = None
    expected_state: Json = None
    expected_calls: Json = None
    expected_answer: Json = None  # values that the answer must give
    task_input: Json = None  # becomes the inner `input` of the dispatch
    #: What its author knows it by, over uploads. None: a key by content is made for it.
    id: str | None = None
    tags: tuple[str, ...] = ()
    strict_simulation: bool = False  # a call whose plan would be a guess is an error
    #: Typed rules of the simulated backend, as written: added to the agent's, or switching one of them off.
    rules: tuple[JsonObject, ...] = ()
    #: The coding scenario as it was when the task was made, whole, with what its row says otherwise.
    coding_scenario: JsonObject | None = None
    #: An eval run under a variation: what is added to the agent's system prompt, and which variation it is.
    system_prompt_addition: str | None = None
    variation: JsonObject | None = None
    #: The same text where tools tell it instead: it stands in every successful reply of a simulated tool.
    tool_result_addition: str | None = None
    #: What its chance is drawn under, where that is another seed's: that of its baseline.
    drawn_as: str | None = None

    def as_json(self) -> JsonObject:
        """The odyssey_seed blob: the axes that say something, under their axis names."""
        always = CONVERSATION_AXES if self.is_conversation else ()
        values = {axis: _as_stored(getattr(self, axis)) for axis in (*AXES, *OWN_PARTS)}
        return {axis: value for axis, value in values.items() if axis in always or value != _DEFAULTS[axis]}

    @classmethod
    def from_stored(cls, body: JsonObject) -> "Seed":
        """From what `as_json` wrote, with or without its initial_state."""
        read = known_fields(cls, body)
        for axis, entry_from_stored in _ENTRIES_FROM_STORED.items():
            if axis in read:
                read[axis] = tuple(map(entry_from_stored, stored_list(read[axis])))
        return cls(**read)

    @property
    def is_conversation(self) -> bool:
        return self.turn_mode == CONVERSATION

    @property
    def needs_model(self) -> bool:
        """Whether somebody has to play the user."""
        return self.is_conversation and self.simulator_mode != "scripted"


#: Filled in by the platform. No author writes them: an upload that has one is refused.
EVAL_PARTS = ("system_prompt_addition", "variation", "tool_result_addition", "drawn_as")  # of an eval run
OWN_PARTS = ("coding_scenario", *EVAL_PARTS)
AXES = tuple(each.name for each in fields(Seed) if each.name not in OWN_PARTS)
#: Written out in every conversation, so that a reader of the seed need not know the defaults.
CONVERSATION_AXES = ("turn_mode", "max_turns", "memory_mode", "simulator_mode")


def _as_stored(value: Json | tuple[object, ...]) -> Json:
    if not isinstance(value, tuple):
        return value
    return [item if isinstance(item, str | dict) else item.as_json() for item in value]  # type: ignore[attr-defined]


def _constraint_from_stored(entry: Any) -> TrackedConstraint:
    return TrackedConstraint(**known_fields(TrackedConstraint, entry))


_ENTRIES_FROM_STORED: dict[str, Callable[[Any], object]] = {
    "failure_rules": rule_from_stored,
    "scripted_user_turns": str,
    "tracked_constraints": _constraint_from_stored,
    "rubric": RubricLine.from_stored,
    "tags": str,
    RULES: dict,
}
_EMPTY = Seed(user_instruction="")
_DEFAULTS = {axis: _as_stored(getattr(_EMPTY, axis)) for axis in (*AXES, *OWN_PARTS)}


def parse_seed(
    row: JsonObject,
    *,
    tools: Sequence[Tool] | None = None,
    ledger_schema: LedgerSchema | None = None,
    path: str = "",
) -> Seed:
    """The seed, or Refused with everything wrong with it. Without `tools` no tool name is checked."""
    problems: list[Problem] = []
    too_large = size_problems(row, path)
    # What is too large is complained about once, and not looked into.
    axes = Fields({axis: value for axis, value in row.items() if axis not in too_large}, path, problems)
    problems += too_large.values()
    axes.refuse_unknown(AXES)
    names = frozenset(tool.name for tool in tools) if tools is not None else None
    state_at = axes.at("initial_state")
    seed = Seed(
        user_instruction=_read_user_instruction(axes),
        behavior_instructions=_read_text(axes, "behavior_instructions"),
        initial_state=read_initial_state(
            axes.get("initial_state"), ledger_schema=ledger_schema, path=state_at, problems=problems
        ),
        now=read_now(axes),
        failure_rules=_read_rules(axes, names, ledger_schema),
        expected_outcome=_read_choice(axes, "expected_outcome", EXPECTED_OUTCOMES),
        turn_mode=_read_choice(axes, "turn_mode", TURN_MODES) or TURN_MODES[0],
        max_turns=axes.whole_number("max_turns", DEFAULT_TURNS, least=1, most=MAX_TURNS),
        memory_mode=_read_choice(axes, "memory_mode", MEMORY_MODES) or MEMORY_MODES[0],
        simulator_mode=_read_choice(axes, "simulator_mode", SIMULATOR_MODES) or SIMULATOR_MODES[0],
        user_simulator_persona=_read_text(axes, "user_simulator_persona"),
        scripted_user_turns=axes.texts("scripted_user_turns"),
        tracked_constraints=_read_constraints(axes),
        rubric=read_rubric(axes),
        termination_keyword=_read_text(axes, "termination_keyword"),
        scenario_ref=_read_text(axes, "scenario_ref"),
        workspace_seed=_read_json(axes, "workspace_seed", may_be_text=True),
        setup_command=_read_text(axes, "setup_command"),
        eval=_read_json(axes, "eval", may_be_text=True),
        expected_state=_read_json(axes, "expected_state"),
        expected_calls=_read_json(axes, "expected_calls"),
        expected_answer=_read_json(axes, "expected_answer"),
        task_input=_read_json(axes, "task_input"),
        id=_read_own_id(axes),
        tags=_read_tags(axes),
        strict_simulation=_read_flag(axes, "strict_simulation"),
        rules=read_axis(axes.get(RULES), axes.at(RULES), problems, tools=names),
    )
    _check_conversation(axes, seed)
    _check_oracles(axes, seed, names)
    if problems:
        raise Refused(problems, "the seed")
    return seed


def _read_user_instruction(axes: Fields) -> str:
    if not any(problem.path == axes.at("user_instruction") for problem in axes.problems):
        axes.require("user_instruction", "what the user asks of the agent")
    return axes.text("user_instruction") or ""


def _read_text(axes: Fields, axis: str) -> str | None:
    """Blank text counts as not given: a spreadsheet has no other way to say so."""
    text = axes.text(axis, may_be_blank=True)
    return text if text is not None and text.strip() else None


def _read_choice(axes: Fields, axis: str, options: Sequence[str]) -> str | None:
    value = axes.get(axis)
    is_blank = isinstance(value, str) and not value.strip()
    return None if is_blank else axes.choice(axis, options, any_case=True)


def _read_json(axes: Fields, axis: str, *, may_be_text: bool = False) -> Json:
    value = axes.get(axis)
    if value is None or isinstance(value, (dict, list)):
        return value
    if isinstance(value, str) and may_be_text:
        return _read_text(axes, axis)
    allowed = "an object, an array or a string" if may_be_text else "a JSON object or array"
    axes.refuse(axis, f"`{axis}` must be {allowed}, not {kind(value)}")
    return None


def _read_flag(axes: Fields, axis: str) -> bool:
    """True or false; the words too, since a spreadsheet has no others."""
    value = axes.get(axis)
    if value is None or isinstance(value, bool):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else None
    if word not in ("true", "false", ""):
        axes.refuse(axis, f"`{axis}` must be true or false, not {kind(value)}")
    return word == "true"


def own_id_of(value: Json) -> str | None:
    """Text without the space around it; JSON may write a number. None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value.strip() or None if isinstance(value, str) else None


def _read_own_id(axes: Fields) -> str | None:
    value = axes.get("id")
    own_id = own_id_of(value)
    if own_id is None and value is not None and not isinstance(value, str):
        axes.refuse("id", f"`id` must be a string, not {kind(value)}")
    elif own_id is not None and len(own_id) > LONGEST_ID:
        message = f"`id` has {len(own_id):,} characters; at most {LONGEST_ID} are allowed"
        axes.refuse("id", message, "a short name, such as refund-late-order")
    elif own_id is not None and not own_id.isprintable():
        axes.refuse("id", "`id` must not have a line break or another unprintable character")
    return own_id


def _read_tags(axes: Fields) -> tuple[str, ...]:
    """An array of strings, or text with commas between them."""
    value = axes.get("tags")
    if isinstance(value, str) and "\0" not in value:
        tags = [tag.strip() for tag in value.split(",") if tag.strip()]
    else:
        tags = [tag.strip() for tag in axes.texts("tags")]
    return tuple(dict.fromkeys(tags))


def _read_rules(
    axes: Fields, tools: Collection[str] | None, ledger_schema: LedgerSchema | None
) -> tuple[FailureRule, ...]:
    path = axes.at("failure_rules")
    rules = read_failure_rules(axes.get("failure_rules"), tools=tools, path=path, problems=axes.problems)
    axes.problems += undeclared_names(rules, tools=None, ledger_schema=ledger_schema, path=path)
    return rules


def _read_constraints(axes: Fields) -> tuple[TrackedConstraint, ...]:
    """Strings or `{id, description, check?}`; a string is named by its place."""
    axis = "tracked_constraints"
    if not axes.has(axis):
        return ()
    read: dict[str, TrackedConstraint] = {}
    for index, entry in enumerate(as_list(axes.get(axis), axes.at(axis), axes.problems, f"`{axis}`") or ()):
        place = axes.at(axis) + pointer([index])
        constraint = _read_constraint(entry, index, place, axes.problems)
        if constraint is None:
            continue
        if constraint.id in read:
            message = f"two constraints have the id `{constraint.id}`"
            axes.problems.append(Problem(path=place, message=message))
        read[constraint.id] = constraint
    return tuple(read.values())


def _read_constraint(entry: Json, index: int, path: str, problems: list[Problem]) -> TrackedConstraint | None:
    if isinstance(entry, str):
        entry = {"id": f"constraint_{index + 1}", "description": entry}
    if not isinstance(entry, dict):
        message = f"a constraint is a string or {{id, description, check?}}, not {kind(entry)}"
        problems.append(Problem(path=path, message=message))
        return None
    parts = Fields(entry, path, problems)
    parts.refuse_unknown(("id", "description", "check"))
    parts.require("id")
    parts.require("description")
    id, description = parts.text("id"), parts.text("description")
    if id is None or description is None:
        return None
    return TrackedConstraint(id=id, description=description, check=parts.get("check"))


def _check_oracles(axes: Fields, seed: Seed, tools: Collection[str] | None) -> None:
    """An oracle that cannot be read would grade nothing: it is refused here, not found out by a run."""
    if seed.expected_state is not None:
        read_expected_state(seed.expected_state, path=axes.at("expected_state"), problems=axes.problems)
    if seed.expected_calls is not None:
        at = axes.at("expected_calls")
        read_expected_calls(seed.expected_calls, tools=tools, path=at, problems=axes.problems)
    if seed.expected_answer is not None:
        read_expected_answer(seed.expected_answer, path=axes.at("expected_answer"), problems=axes.problems)
    for index, constraint in enumerate(seed.tracked_constraints):
        if constraint.check is not None:
            at = f"{axes.at('tracked_constraints')}/{index}/check"
            read_check(constraint.check, tools=tools, path=at, problems=axes.problems)


def _check_conversation(axes: Fields, seed: Seed) -> None:
    is_scripted = seed.is_conversation and seed.simulator_mode == "scripted"
    if is_scripted and not axes.has("scripted_user_turns"):
        hint = 'a JSON array of strings, such as ["Yes, go ahead."]'
        axes.refuse("scripted_user_turns", "a scripted user needs `scripted_user_turns`", hint)
