"""A scenario: given this input, the agent should produce this behaviour. Parsing collects all problems.

`as_json` gives the stored form; scoring uses its `contract`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, cast

from pipelines.core.evals.scenarios.contract import Contract, LeafRule, contract_problems
from pipelines.core.evals.scenarios.leaf_rules import read_leaf_rule, rule_from_stored
from pipelines.core.evals.scenarios.pair import is_known_variation
from pipelines.core.evals.scenarios.sizes import json_problem
from pipelines.core.evals.scenarios.variation import read_target
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.matchers.matching import check_expectation
from pipelines.core.tasks.seed import EVAL_PARTS, parse_seed
from pipelines.core.text.authored import Fields, as_list, as_object, did_you_mean, is_id, kind
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import known_fields, stored_list
from pipelines.core.tools.tools_schema import Tool
from pipelines.wire.records import As, Id, Omitted, Record, one_of

RISK_LEVELS = ("low", "medium", "high", "critical")
MATCH_MODES = ("subset", "exact")
OBSERVED = ("final_response", "tool_calls")
EXPECTATIONS = ("invariant", "directional", "exempt")

LONGEST_NAME = 255
LONGEST_DESCRIPTION = 5_000
LONGEST_INSTRUCTION = 20_000
LONGEST_LABEL = 500
MOST_ENTRIES = 50  # tags, prohibited outputs, decision fields and labels, phrases of one label
MOST_VARIATIONS = 200

Expectation = Literal["invariant", "directional", "exempt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CellExpectation(Record, component=""):
    """What the scenario's author expects under one variation; by default that nothing changes."""

    expectation: Expectation = "invariant"
    #: Takes the place of the scenario's own; asking back may be right under contradictory instructions.
    expected_behavior: Omitted[JsonObject | None] = None
    #: What this pressure asks for in this scenario, as a partial output.
    pushes_toward: Omitted[JsonObject | None] = None

    @classmethod
    def from_stored(cls, body: Any) -> "CellExpectation":
        return cls(**known_fields(cls, body))


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario(Record, component=""):
    name: str
    description: str = ""
    risk_level: Annotated[str, one_of(RISK_LEVELS)]
    input_context: JsonObject
    expected_behavior: Annotated[JsonObject, "leaves are literals or matchers"]
    match_mode: Omitted[Literal["subset", "exact"]] = "subset"
    prohibited: Omitted[tuple[JsonObject, ...]] = ()  # partial outputs that must never hold
    decision_fields: Omitted[tuple[str, ...] | None] = (
        None  # JSON Pointers or top-level names; None: by their names
    )
    fields: Annotated[Omitted[Mapping[str, LeafRule]], As(JsonObject)] = field(
        default_factory=dict
    )  # how a path is compared, by JSON Pointer
    decision_labels: Omitted[Mapping[str, tuple[str, ...]]] = field(
        default_factory=dict
    )  # label -> phrases or /patterns/
    observe: Omitted[Literal["final_response", "tool_calls"]] = "final_response"
    instruction: Omitted[str | None] = None  # stands ahead of the input in what the agent is asked
    agent_id: Omitted[Id | None] = None
    odyssey_seed: Omitted[JsonObject | None] = None  # the simulated world of the run, if it has one
    tags: Omitted[tuple[str, ...]] = ()
    variations: Annotated[
        Omitted[Mapping[str, CellExpectation]],
        As(dict[str, JsonObject]),
        "what is expected under a variation, by its id",
    ] = field(default_factory=dict)

    @property
    def contract(self) -> Contract:
        return Contract(
            expected_behavior=self.expected_behavior,
            match_mode=self.match_mode,
            prohibited=self.prohibited,
            decision_fields=self.decision_fields,
            fields=self.fields,
            decision_labels=self.decision_labels,
            today=self.today,
        )

    @property
    def today(self) -> str | None:
        """What day it is in the scenario's world, where its seed says so."""
        now = (self.odyssey_seed or {}).get("now")
        return now if isinstance(now, str) else None

    def contract_under(self, variation_id: str | None) -> Contract:
        """The contract of one column; None is the baseline."""
        cell = self.variations.get(variation_id) if variation_id is not None else None
        if cell is None or cell.expected_behavior is None:
            return self.contract
        return replace(self, expected_behavior=cell.expected_behavior).contract

    @classmethod
    def from_stored(cls, body: JsonObject) -> "Scenario":
        """From what `as_json` wrote."""
        read = known_fields(cls, body)
        for key in ("prohibited", "tags"):
            read[key] = tuple(stored_list(read.get(key)))
        named = read.get("decision_fields")
        read["decision_fields"] = tuple(named) if named is not None else None
        read["fields"] = {path: rule_from_stored(rule) for path, rule in read.get("fields", {}).items()}
        read["decision_labels"] = {
            label: tuple(aliases) for label, aliases in read.get("decision_labels", {}).items()
        }
        cells = read.get("variations", {}).items()
        read["variations"] = {id: CellExpectation.from_stored(cell) for id, cell in cells}
        return cls(**read)


FIELDS = tuple(Scenario.__dataclass_fields__)


def read_scenario(
    body: Json,
    *,
    path: str = "",
    variations: Collection[str] | None = None,
    tools: Sequence[Tool] | None = None,
    ledger_schema: LedgerSchema | None = None,
) -> Scenario:
    """The scenario, or Refused with everything wrong with it.

    `variations` are the ids that its `variations` may name, `tools` and `ledger_schema` those of its agent:
    what is not given is not checked.
    """
    problems: list[Problem] = []
    read = as_object(body, path, problems, "a scenario")
    if read is None:
        raise Refused(problems, "the scenario")
    fields = Fields(read, path, problems)
    fields.refuse_unknown(FIELDS)
    fields.require("name")
    fields.require("risk_level", "`low`, `medium`, `high` or `critical`")
    expected = _read_behavior(fields, "expected_behavior", is_required=True) or {}
    cells = _read_cells(fields, variations)
    scenario = Scenario(
        name=fields.text("name", longest=LONGEST_NAME) or "",
        description=fields.text("description", longest=LONGEST_DESCRIPTION, may_be_blank=True) or "",
        risk_level=fields.choice("risk_level", RISK_LEVELS) or "low",
        input_context=_read_input(fields),
        expected_behavior=expected,
        match_mode=cast(Any, fields.choice("match_mode", MATCH_MODES, MATCH_MODES[0])),
        prohibited=_read_prohibited(fields),
        decision_fields=_read_decision_fields(fields),
        fields=_read_rules(fields),
        decision_labels=_read_labels(fields),
        observe=cast(Any, fields.choice("observe", OBSERVED, OBSERVED[0])),
        instruction=fields.text("instruction", longest=LONGEST_INSTRUCTION),
        agent_id=_read_agent_id(fields),
        odyssey_seed=_read_seed(fields, tools, ledger_schema),
        tags=_read_tags(fields),
        variations=cells,
    )
    if expected:  # else it is refused already, and has no leaves that anything could name
        reported_paths = {problem.path for problem in problems}
        found = _with_path(contract_problems(scenario.contract), path)
        problems += [problem for problem in found if problem.path not in reported_paths]
    if problems:
        raise Refused(problems, "the scenario")
    return scenario


def _with_path(found: list[Problem], path: str) -> list[Problem]:
    return [replace(problem, path=path + problem.path) for problem in found]


def _read_object(
    fields: Fields, key: str, *, is_required: bool, hint: str | None = None
) -> JsonObject | None:
    if is_required and key not in fields.body:
        fields.require(key, hint)
        return None
    if fields.get(key) is None and not is_required:
        return None
    value = as_object(fields.get(key), fields.at(key), fields.problems, f"`{key}`")
    problem = json_problem(value, fields.at(key), f"`{key}`")
    if problem is None:
        return value
    fields.problems.append(problem)
    return None


def _read_input(fields: Fields) -> JsonObject:
    hint = "the object that the agent is given"
    return _read_object(fields, "input_context", is_required=True, hint=hint) or {}


def _read_behavior(fields: Fields, key: str, *, is_required: bool = False) -> JsonObject | None:
    hint = 'the object that the agent should answer with, such as {"action": "escalate_to_owner"}'
    expected = _read_object(fields, key, is_required=is_required, hint=hint)
    if expected == {}:
        fields.refuse(key, f"`{key}` is empty, so every answer would match", hint)
    return expected


def _read_prohibited(fields: Fields) -> tuple[JsonObject, ...]:
    """Partial outputs; {} would forbid every answer."""
    read = []
    for index, entry in _entries(fields, "prohibited"):
        at = fields.at("prohibited") + pointer([index])
        partial = as_object(entry, at, fields.problems, "a prohibited output")
        problem = json_problem(partial, at, "a prohibited output")
        if partial == {}:
            problem = Problem(path=at, message="an empty prohibited output would forbid every answer")
        if problem is not None:
            fields.problems.append(problem)
        elif partial is not None:
            read.append(partial)
    return tuple(read)


def _entries(fields: Fields, key: str, most: int = MOST_ENTRIES) -> Sequence[tuple[int, Json]]:
    if not fields.has(key):
        return ()
    entries = as_list(fields.get(key), fields.at(key), fields.problems, f"`{key}`") or []
    if len(entries) > most:
        fields.refuse(key, f"`{key}` has {len(entries):,} entries; at most {most} are allowed")
        return ()
    return list(enumerate(entries))


def _read_texts(fields: Fields, key: str, longest: int = LONGEST_LABEL) -> tuple[str, ...]:
    """Up to MOST_ENTRIES texts, each once."""
    value = fields.get(key)
    if isinstance(value, list) and not _entries(fields, key):
        return ()
    texts = fields.texts(key)
    for text in texts:
        if len(text) > longest:
            fields.refuse(key, f"`{key}` has an entry of {len(text):,} characters; at most {longest:,}")
    return tuple(dict.fromkeys(texts))


def _read_tags(fields: Fields) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in _read_texts(fields, "tags")))


def _read_agent_id(fields: Fields) -> int | None:
    value = fields.get("agent_id")
    if value is None or is_id(value):
        return value
    fields.refuse("agent_id", f"`agent_id` must be the id of an agent, not {kind(value)}")
    return None


# How the behaviour is compared


def _read_decision_fields(fields: Fields) -> tuple[str, ...] | None:
    return _read_texts(fields, "decision_fields") if fields.has("decision_fields") else None


def _read_rules(fields: Fields) -> dict[str, LeafRule]:
    """By JSON Pointer: a top-level name is kept as the pointer to it."""
    rules = _read_object(fields, "fields", is_required=False) or {}
    read: dict[str, LeafRule] = {}
    for name, body in rules.items():
        at, place = fields.at("fields") + pointer([name]), name if name[:1] == "/" else pointer([name])
        if place in read:
            message = f"`{name}` is given twice: by its name and by its pointer"
            fields.problems.append(Problem(path=at, message=message))
        read[place] = read_leaf_rule(body, at, fields.problems)
    return read


def _read_labels(fields: Fields) -> dict[str, tuple[str, ...]]:
    """Label -> phrases or /patterns/ that stand for it in free text."""
    key = "decision_labels"
    body = _read_object(fields, key, is_required=False) or {}
    if len(body) > MOST_ENTRIES:
        fields.refuse(key, f"`{key}` has {len(body):,} labels; at most {MOST_ENTRIES} are allowed")
        return {}
    labels = Fields(body, fields.at(key), fields.problems, subject=f"`{key}`: ")
    read: dict[str, tuple[str, ...]] = {}
    for label in body:
        if not isinstance(body[label], list) or not body[label]:
            labels.refuse(label, f"the label `{label[:80]}` needs an array of phrases or /patterns/")
            continue
        read[label] = _read_texts(labels, label)
    return read


def _read_cells(fields: Fields, known: Collection[str] | None) -> dict[str, CellExpectation]:
    key = "variations"
    if not fields.has(key):
        return {}
    cells = as_object(fields.get(key), fields.at(key), fields.problems, f"`{key}`") or {}
    if len(cells) > MOST_VARIATIONS:
        fields.refuse(key, f"`{key}` has {len(cells):,} entries; at most {MOST_VARIATIONS} are allowed")
        return {}
    read: dict[str, CellExpectation] = {}
    for id, body in cells.items():
        at = fields.at(key) + pointer([id])
        if known is not None and not is_known_variation(id, known):
            message, near = f"there is no variation `{id[:80]}`", did_you_mean(id, known)
            fields.problems.append(Problem(path=at, message=message, hint=near))
        cell = as_object(body, at, fields.problems, "what is expected under a variation")
        if cell is not None:
            read[id] = _read_cell(Fields(cell, at, fields.problems))
    return read


def _read_cell(fields: Fields) -> CellExpectation:
    fields.refuse_unknown(CellExpectation.__dataclass_fields__)
    if not fields.body:
        hint = '{"expectation": "exempt"}, for example'
        fields.problems.append(Problem(path=fields.path, message="the entry is empty", hint=hint))
    expected = _read_behavior(fields, "expected_behavior")
    fields.problems += check_expectation(expected, path=fields.at("expected_behavior"))
    return CellExpectation(
        expectation=cast(Any, fields.choice("expectation", EXPECTATIONS, EXPECTATIONS[0])),
        expected_behavior=expected,
        pushes_toward=read_target(fields, "pushes_toward"),
    )


def _read_seed(
    fields: Fields, tools: Sequence[Tool] | None, ledger_schema: LedgerSchema | None
) -> JsonObject | None:
    """The world of the run, in its normal form. What the agent is asked comes from the scenario."""
    key = "odyssey_seed"
    if not fields.has(key):
        return None
    body = as_object(fields.get(key), fields.at(key), fields.problems, f"`{key}`")
    if body is None:
        return None
    for part, instead in _FROM_SCENARIO.items():
        if part in body:
            message = f"`{part}` comes from the scenario"
            at = fields.at(key) + pointer([part])
            fields.problems.append(Problem(path=at, message=message, hint=instead))
    own = {part: value for part, value in body.items() if part not in _FROM_SCENARIO}
    try:
        whole: JsonObject = {"user_instruction": "-", **own}
        seed = parse_seed(whole, tools=tools, ledger_schema=ledger_schema, path=fields.at(key))
    except Refused as refused:
        fields.problems += refused.problems
        return None
    return {part: value for part, value in seed.as_json().items() if part != "user_instruction"}


_FROM_SCENARIO = {
    "user_instruction": "write it as `instruction` of the scenario",
    "task_input": "write it as `input_context` of the scenario",
    **dict.fromkeys(EVAL_PARTS, "remove it: runs of a variation fill it in"),
    **dict.fromkeys(
        ("scenario_ref", "workspace_seed", "setup_command", "eval", "coding_scenario"),
        "remove it: coding tasks run from a dataset",
    ),
}
