"""The oracle of a task from its gold calls: replayed on its own world, what they change is what is right.

Failure rules stay off: they say what goes wrong on the way, not what is right in the end.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from pipelines.core.calls.run_moment import seed_name, world_name
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.proposed_oracles.propose_oracle import VACUOUS_NOTE, is_vacuous_oracle, oracle_from_run
from pipelines.core.proposed_oracles.value_origins import leaves_of
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.authored import Fields, kind
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.worlds.ground import Answer, Ground, called, ground_of
from pipelines.core.worlds.shapes import Toolset

DEFAULT_NOW = "2026-01-01T12:00:00Z"
LATER = timedelta(days=3, minutes=97, seconds=13)  # another day, hour, minute and second
MOST_CALLS = 200  # of one task: as many as `expected_calls` lists
_SHAPE = '[{"tool": "refund_order", "arguments": {"order_id": "4521"}}]'


class GoldCall(NamedTuple):
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldOracle:
    """What some gold calls prove, or why they prove nothing."""

    axes: JsonObject | None = None  # expected_state and expected_calls
    notes: tuple[str, ...] = ()
    is_vacuous: bool = False  # an agent that does nothing meets it
    failures: tuple[str, ...] = ()  # of calls; then there is no oracle


def read_gold_calls(body: Json, path: str, problems: list[Problem]) -> list[GoldCall]:
    """The calls of one task, in their order; what is wrong with them is added to `problems`."""
    if not isinstance(body, list):
        problems.append(
            Problem(path=path, message=f"must be an array of calls, not {kind(body)}", hint=_SHAPE)
        )
        return []
    if len(body) > MOST_CALLS:
        problems.append(
            Problem(path=path, message=f"has {len(body):,} calls; at most {MOST_CALLS} are taken")
        )
        return []
    return [call for at, entry in enumerate(body) if (call := _read(entry, f"{path}/{at}", problems))]


def _read(entry: Json, path: str, problems: list[Problem]) -> GoldCall | None:
    if not isinstance(entry, dict):
        message = f"a call must be an object with `tool` and `arguments`, not {kind(entry)}"
        problems.append(Problem(path=path, message=message, hint=_SHAPE))
        return None
    fields = Fields(entry, path, problems)
    fields.refuse_unknown(("tool", "arguments"))
    fields.require("tool", "the name of a tool")
    tool, arguments = fields.text("tool"), entry.get("arguments") or {}
    if not isinstance(arguments, dict):
        fields.refuse(
            "arguments", f"`arguments` must be an object of arguments by name, not {kind(arguments)}"
        )
        return None
    return GoldCall(tool, arguments) if tool is not None else None


def oracle_of_calls(
    seed: Seed,
    calls: Sequence[GoldCall],
    tools: Sequence[Tool],
    ledger_schema: LedgerSchema | None,
    rules: Sequence[JsonObject] = (),
) -> GoldOracle:
    """`rules` are the agent's; the task's own come to them."""
    toolset = Toolset(
        tools=tuple(tools),
        ledger_schema=ledger_schema,
        behavior=seed.behavior_instructions,
        rules=active_rules(rules, seed.rules),
    )
    ground = ground_of(toolset, seed.initial_state)
    now = seed.now or DEFAULT_NOW
    replay = _replayed(ground, calls, now, _name_of(seed))
    failures = tuple(_failures(calls, replay))
    if failures:
        return GoldOracle(failures=failures)
    later = (datetime.fromisoformat(now) + LATER).isoformat()
    again = _replayed(ground, calls, later, "another run")
    evidence = RunEvidence.from_seed(
        seed, tools=toolset.tools, world=ground.world, trace=tuple(one.row for one in replay), now=now
    )
    return _derived(evidence, _differing(replay, again))


def _derived(evidence: RunEvidence, differing: frozenset[str]) -> GoldOracle:
    found = oracle_from_run(evidence, made=differing)
    calls = found.axes["expected_calls"]
    if calls is None:  # nothing is changed: then it has to be looked up
        tools = dict.fromkeys(row.tool for row in evidence.calls)
        calls = {"must": [{"tool": tool} for tool in tools]}
    axes: JsonObject = {"expected_state": found.axes["expected_state"], "expected_calls": calls}
    is_vacuous = is_vacuous_oracle(evidence, axes | {"expected_outcome": evidence.expected_outcome})
    notes = tuple(note for note in found.notes if note != VACUOUS_NOTE)
    return GoldOracle(axes=axes, notes=notes, is_vacuous=is_vacuous)


def _replayed(ground: Ground, calls: Iterable[GoldCall], now: str, name: str) -> list[Answer]:
    run = ground.opened(now=now, name=name)
    return [called(run, call.tool, call.arguments) for call in calls]


def _name_of(seed: Seed) -> str:
    """What a run of the task draws its ids under."""
    axes = seed.as_json()
    state = axes.pop("initial_state", None)
    return seed_name(axes, world_name(state) if isinstance(state, dict) else None)


def _failures(calls: Sequence[GoldCall], made: Sequence[Answer]) -> Iterator[str]:
    for number, (call, answer) in enumerate(zip(calls, made, strict=True), start=1):
        if not answer.succeeded:
            yield f"call {number}, {call.tool}: {_reason(answer)}"


def _reason(answer: Answer) -> str:
    error = answer.response.get("error") if isinstance(answer.response, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    code = " ".join(str(each) for each in (answer.status, answer.error) if each is not None)
    return f"{code}: {message}" if isinstance(message, str) and code else str(message or code or "no answer")


def _differing(made: Sequence[Answer], again: Sequence[Answer]) -> frozenset[str]:
    """Values that the same calls wrote otherwise at another moment. That is not known where one then fails,
    because it names an id that was drawn."""
    if not all(answer.succeeded for answer in again):
        return frozenset()
    return _written(made) - _written(again)


def _written(answers: Sequence[Answer]) -> frozenset[str]:
    values: set[str] = set()
    for update in (update for answer in answers for update in answer.updates):
        values |= {str(leaf) for leaf in leaves_of(update.as_json()) if isinstance(leaf, str)}
    return frozenset(values)
