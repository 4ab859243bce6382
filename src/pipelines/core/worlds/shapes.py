"""The records of synthetic generation, for whoever makes, stores or shows worlds and rows.

    make_world.py          make_world(toolset, *, size, rng_seed, now) -> MadeWorld; raises Refused
    review/advisories.py   advisories(toolset, state, *, now) -> list[Advisory]
    changes/refine.py      refine(toolset, state, prompt, *, rng_seed, now, size) -> Refined;
                           raises NotUnderstood
    review/check_pasted.py check_pasted(toolset, state) -> list[Problem]
    rows/draft_rows.py     draft_rows(toolset, state, bucket, *, rng_seed, now, axes) -> Iterator[DraftRow]
                           bucket_notes(toolset, state, bucket, *, now, axes) -> tuple[str, ...]
    rows/prove_row.py      prove_row(toolset, state, draft, *, now, earlier_texts) -> ProvedRow | RejectedRow
    rows/coverage.py       coverage(rows, toolset) -> Coverage
    ground.py              ground_of(toolset, state) -> Ground: plans read and compiled once. Many rows of one
                           frozen world: make one and pass it as `ground=` to the three above.

`now` is ISO-8601, in UTC, as `core/text/world_time.py` writes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import stored_list
from pipelines.core.tools.failure_rules import FailureRule, rule_from_stored
from pipelines.core.tools.tools_schema import Tool

WorldSize = Literal["compact", "standard", "rich"]
WORLD_SIZES: tuple[WorldSize, ...] = get_args(WorldSize)
#: Entities per type, about: a type with a longer enum, or more sides of rules, gets more.
ENTITIES: Mapping[WorldSize, int] = {"compact": 6, "standard": 12, "rich": 20}

#: What of a seed rows may fill; `user_instruction` and the world are always there.
ROW_AXES = ("user_instruction", "behavior_instructions", "initial_state", "failure_rules", "expected_outcome")
MOST_ROWS = 1_000  # of one bucket

#: What becomes of the request, as coverage counts it.
Outcome = Literal[
    "changed",  # the backend does what is asked, and the world changes
    "answered",  # something is looked up
    "refused",  # the thing is in no state for it
    "forbidden",  # a sentence of the behaviour text does not allow it
    "not_found",  # there is no such thing
    "recovered",  # the backend fails for a while, and then does it
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

RejectionCode = Literal[
    "near_duplicate",  # the text is nearly that of a row before it
    "answer_given_away",  # the text says what only the backend should
    "invalid_arguments",  # a reference call does not fit its tool's schema
    "id_from_nowhere",  # a reference call names what an agent could not know
    "call_failed",  # a reference call was not answered as the row needs it
    "oracle_not_met",  # after the reference calls the oracle does not hold
    "met_by_nothing",  # an agent that does nothing would pass
    "not_refused",  # the backend does what should be refused, and no rule forbids it
    "guessed",  # it rests on what reading a tool only guessed
    "invalid_oracle",  # the oracle or a failure rule cannot be read
]


class _Stored:
    """As JSON: its fields, in their order."""

    __slots__ = ()

    def as_json(self) -> JsonObject:
        return {one.name: _plain(getattr(self, one.name)) for one in fields(self)}  # type: ignore[arg-type]


def _plain(value: Any) -> Json:
    if isinstance(value, tuple):
        return [each.as_json() if hasattr(each, "as_json") else each for each in value]
    return dict(value) if isinstance(value, Mapping) else value


@dataclass(frozen=True, kw_only=True, slots=True)
class Toolset:
    """What worlds and rows are made from: an agent as far as its backend is concerned."""

    tools: tuple[Tool, ...]
    ledger_schema: LedgerSchema | None = None
    #: Behaviour text that holds for the whole session: every row carries it.
    behavior: str | None = None
    #: What the author wants of the world, in words; read by a model author, and in part by the embedded one.
    instructions: str | None = None
    #: Typed rules in force there.
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MadeWorld:
    state: JsonObject  # {entity_type: {id: attributes}}
    notes: tuple[str, ...] = ()  # what was guessed, left out or not understood, a sentence each


@dataclass(frozen=True, kw_only=True, slots=True)
class Advisory(_Stored):
    """Something about a world that its author should look at."""

    name: str  # stable, snake_case: `unused_enum_value`
    message: str
    places: tuple[str, ...] = ()  # JSON Pointers into the state, the first few
    fix: str | None = None  # a sentence that `refine` accepts


@dataclass(frozen=True, kw_only=True, slots=True)
class Refined:
    state: JsonObject
    changes_text: str  # what was done, in a sentence


class NotUnderstood(Refused):
    """A prompt that cannot be followed: what was not understood, or what it contradicts."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems, "the prompt")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    name: str
    theme: str  # in the author's words: "refunds", "not allowed", "backend trouble"
    rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceCall(_Stored):
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftRow(_Stored):
    """One task over the shared world, before it is proved."""

    user_instruction: str
    failure_rules: tuple[FailureRule, ...] = ()
    expected_outcome: str | None = None  # completion or refusal
    expected_state: Json = None
    expected_calls: Json = None
    reference_calls: tuple[ReferenceCall, ...] = ()
    behavior: str | None = None
    bucket: str = ""
    #: For coverage: the tool that is asked for, and what becomes of it.
    tool: str = ""
    outcome: Outcome = "changed"
    #: The entities it is about, as `type/id`: rows of a bucket are spread over them.
    about: tuple[str, ...] = ()
    #: Sentences of the behaviour text that it is a case of.
    sentences: tuple[str, ...] = ()

    @classmethod
    def from_stored(cls, body: Any) -> "DraftRow":
        """From what `as_json` wrote."""
        return cls(
            user_instruction=body["user_instruction"],
            failure_rules=tuple(map(rule_from_stored, stored_list(body.get("failure_rules")))),
            expected_outcome=body.get("expected_outcome"),
            expected_state=body.get("expected_state"),
            expected_calls=body.get("expected_calls"),
            reference_calls=tuple(
                ReferenceCall(tool=call["tool"], arguments=call["arguments"])
                for call in stored_list(body.get("reference_calls"))
            ),
            behavior=body.get("behavior"),
            bucket=body.get("bucket", ""),
            tool=body.get("tool", ""),
            outcome=body.get("outcome", "changed"),
            about=tuple(stored_list(body.get("about"))),
            sentences=tuple(stored_list(body.get("sentences"))),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MadeCall(_Stored):
    """A reference call as the backend answered it when the row was proved."""

    tool: str
    arguments: JsonObject
    status: int | None
    response: Json
    is_injected: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ProvedRow:
    draft: DraftRow
    calls: tuple[MadeCall, ...]  # what was made to prove it, retries of injected failures included
    proof: str  # in a sentence: what was shown


@dataclass(frozen=True, kw_only=True, slots=True)
class RejectedRow:
    draft: DraftRow
    reason_code: RejectionCode
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage(_Stored):
    """What rows are about, counted, and what none is about."""

    rows: int = 0
    by_tool: Mapping[str, int] = field(default_factory=dict)
    by_outcome: Mapping[str, int] = field(default_factory=dict)  # Outcome
    by_expected_outcome: Mapping[str, int] = field(default_factory=dict)  # completion, refusal
    by_trigger: Mapping[str, int] = field(default_factory=dict)  # of failure rules
    by_calls: Mapping[str, int] = field(default_factory=dict)  # "one", "several"
    by_sentence: Mapping[str, int] = field(default_factory=dict)  # of the behaviour text
    missing_tools: tuple[str, ...] = ()  # no row asks for them
    notes: tuple[str, ...] = ()  # why, where it is known: what such a tool does is only guessed
