"""What is taken of an upload, but may not do what its author hopes."""

from collections.abc import Callable, Sequence

from pipelines.core.json_text import JsonObject, dumps
from pipelines.core.ledger import World
from pipelines.core.ledger_schema import LedgerSchema
from pipelines.core.problems import Problem
from pipelines.core.seed import Seed
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.guesses import MOST_WORLDS, Types, guesses_over, types_of
from pipelines.core.tasks_csv import in_file
from pipelines.core.tools_schema import Tool
from pipelines.core.verdict.lint import lint_seeds

MOST_READ = 200  # behaviour texts that differ, read for one answer: each takes some hundredths of a second
MAX_WARNINGS = 1_000


def upload_warnings(
    seeds: Sequence[Seed],
    *,
    tools: Sequence[Tool] | None,
    ledger_schema: LedgerSchema | None,
    may_read: Callable[[], bool] = lambda: True,
    rows: Sequence[int] | None = None,
) -> list[JsonObject]:
    """Oracles that prove nothing, sentences of behaviour text that no rule was read from, and tools whose
    plans are guesses, by row.

    No further text is read once `may_read` says no. `rows` are where the seeds stand in their file.
    """
    linted = list(lint_seeds(seeds, tools=tools, ledger_schema=ledger_schema, may_read=may_read))
    unread, others = plan_warnings(seeds, tools=tools, ledger_schema=ledger_schema, may_read=may_read)
    told = [*unread, *linted, *others][:MAX_WARNINGS]
    return [(problem if rows is None else in_file(problem, rows)).as_json() for problem in told]


def plan_warnings(
    seeds: Sequence[Seed],
    *,
    tools: Sequence[Tool] | None,
    ledger_schema: LedgerSchema | None,
    may_read: Callable[[], bool] = lambda: True,
) -> tuple[list[Problem], list[Problem]]:
    """That some texts were not read, if so; then sentences without effect, and tools that are guesses."""
    found: list[Problem] = []
    read: dict[tuple[str, bytes], PlannedSimulator] = {}
    of_types: dict[Types, tuple[int, PlannedSimulator]] = {}  # the first of each, to look for guesses in
    unread: list[int] = []
    for row, seed in enumerate(seeds if tools else (), 1):
        is_new_world = types_of(seed) not in of_types and len(of_types) < MOST_WORLDS
        if not seed.behavior_instructions and not is_new_world:
            continue
        # Rows of one dataset mostly share their rules and the make of their worlds: each is read once.
        key = (seed.behavior_instructions or "", _make_of(seed.initial_state))
        if key not in read and (len(read) >= MOST_READ or not may_read()):
            unread += [row] if seed.behavior_instructions else []
            continue
        if key not in read:
            read[key] = build_simulator(
                tools or (),
                ledger_schema=ledger_schema,
                world=World.from_initial_state(seed.initial_state),
                behavior=seed.behavior_instructions,
                may_read=may_read,
            )
            # Told of the first such world only: the next has other values, and may be on the other side.
            says = "without effect in the world of this row: "
            found += [_behavior_warning(row, says + one) for one in read[key].without_effect]
        if is_new_world:
            of_types[types_of(seed)] = (row, read[key])
        says = "not understood, so not enforced without a model: "
        found += [_behavior_warning(row, says + sentence) for sentence in read[key].not_understood]
    found += guesses_over(of_types.values(), tools or ())
    if not unread:
        return [], found
    says = f"not read for this answer, as in {len(unread)} rows from here on; each run says what it lacks"
    return [_behavior_warning(unread[0], says)], found


def _behavior_warning(row: int, message: str) -> Problem:
    return Problem(path="/behavior_instructions", message=message, row=row, column="behavior")


def _make_of(state: JsonObject) -> bytes:
    """Its types and their fields, without ids and values."""
    make: JsonObject = {}
    for kind, of_kind in state.items():
        named = of_kind.values() if isinstance(of_kind, dict) else ()
        fields = sorted({name for attrs in named if isinstance(attrs, dict) for name in attrs})
        make[kind] = list(fields)
    return dumps(make)
