"""Warnings about an upload that is accepted, but may not do what its author expects."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.guesses import MOST_WORLDS, Types, guesses_over, types_of
from pipelines.core.simulation.rules.axis import RULES, active_rules
from pipelines.core.simulation.rules.check import check
from pipelines.core.simulation.sentences import (
    MOST_SUGGESTED,
    Unenforced,
    nearest,
    shown_sentences,
    unenforced,
)
from pipelines.core.task_files.read_tasks import in_file
from pipelines.core.tasks.rule_warnings import rule_warnings, world_shape
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.verdict.lint.lint import lint_seeds

MOST_READ = 200  # behaviour texts that differ, read for one answer: each takes some hundredths of a second
MAX_WARNINGS = 1_000
MOST_SENTENCES = 200  # that are shown as they were read
MOST_TYPED = 20  # rules of one task that are not enforced, told one by one


class UploadNotes(NamedTuple):
    """What the author of an upload sees: warnings, and how each sentence was understood."""

    warnings: list[JsonObject]
    sentences: list[JsonObject]


def upload_warnings(
    seeds: Sequence[Seed],
    *,
    tools: Sequence[Tool] | None,
    ledger_schema: LedgerSchema | None,
    may_read: Callable[[], bool] = lambda: True,
    rows: Sequence[int] | None = None,
    rules: Sequence[JsonObject] = (),
) -> UploadNotes:
    """Oracles that prove nothing, rules that name what is not there, sentences of behaviour text that are not
    read, and tools whose plans are guesses, by row.

    No further text is read once `may_read` says no. `rows` are where the seeds stand in their file, `rules`
    those of the agent.
    """
    linted = list(lint_seeds(seeds, tools=tools, ledger_schema=ledger_schema, may_read=may_read))
    ruled = rule_warnings(seeds, tools=tools, ledger_schema=ledger_schema, rules=rules, may_read=may_read)
    plans = plan_warnings(seeds, tools=tools, ledger_schema=ledger_schema, may_read=may_read, rules=rules)
    texts = [*plans.unread, *ruled, *linted, *plans.others][:MAX_WARNINGS]
    warnings = [(problem if rows is None else in_file(problem, rows)).as_json() for problem in texts]
    return UploadNotes(warnings, sentences_in_file(plans.sentences, rows))


def sentences_in_file(
    sentences: Sequence[tuple[int, JsonObject]], rows: Sequence[int] | None
) -> list[JsonObject]:
    return [report | {"row": row if rows is None else rows[row - 1]} for row, report in sentences]


class PlanWarnings(NamedTuple):
    unread: list[Problem]  # that some texts were not read, if so
    others: list[Problem]  # sentences without effect, and tools that are guesses
    sentences: list[tuple[int, JsonObject]]  # as they were read, with the first row of each


def plan_warnings(
    seeds: Sequence[Seed],
    *,
    tools: Sequence[Tool] | None,
    ledger_schema: LedgerSchema | None,
    may_read: Callable[[], bool] = lambda: True,
    rules: Sequence[JsonObject] = (),
) -> PlanWarnings:
    """The first sentences come with what could be written instead, or with calls that show what they do."""
    reading = _PlanReader(tools or (), ledger_schema, may_read, rules)
    for row, seed in enumerate(seeds if tools else (), 1):
        reading.row(row, seed)
    return reading.warnings()


class _PlanReader:
    """The texts of an upload, each read once."""

    def __init__(
        self,
        tools: Sequence[Tool],
        ledger_schema: LedgerSchema | None,
        may_read: Callable[[], bool],
        rules: Sequence[JsonObject],
    ) -> None:
        self._tools, self._ledger_schema, self._rules = tools, ledger_schema, rules
        self._may_read = may_read
        self._found: list[Problem] = []
        self._read: dict[tuple[str, bytes, bytes], list[Problem]] = {}
        self._of_types: dict[
            Types, tuple[int, PlannedSimulator]
        ] = {}  # the first of each, to find guesses in
        self._sentences: dict[str, tuple[int, JsonObject]] = {}
        self._unread: list[int] = []

    def row(self, row: int, seed: Seed) -> None:
        is_new_world = (
            types_of(seed.initial_state) not in self._of_types and len(self._of_types) < MOST_WORLDS
        )
        if not seed.behavior_instructions and not is_new_world:
            return
        # Rows of one dataset mostly share their rules and the make of their worlds: each is read once.
        key = (seed.behavior_instructions or "", world_shape(seed.initial_state), dumps([*seed.rules]))
        if key not in self._read and (len(self._read) >= MOST_READ or not self._may_read()):
            self._unread += [row] if seed.behavior_instructions else []
            return
        simulator = self._simulator(seed) if key not in self._read or is_new_world else None
        if simulator is not None and key not in self._read:
            self._read[key] = self._look_at(row, simulator, seed.now)
        if simulator is not None and is_new_world:
            self._of_types[types_of(seed.initial_state)] = (row, simulator)
        self._found += (replace(problem, row=row) for problem in self._read[key])

    def _simulator(self, seed: Seed) -> PlannedSimulator:
        return build_simulator(
            self._tools,
            ledger_schema=self._ledger_schema,
            world=World.from_initial_state(seed.initial_state),
            behavior=seed.behavior_instructions,
            may_read=self._may_read,
            rules=active_rules(self._rules, seed.rules),
        )

    def _look_at(self, row: int, simulator: PlannedSimulator, now: str | None) -> list[Problem]:
        """What is told of every row that has this text."""
        suggestions_left = max(0, MOST_SUGGESTED - len(self._sentences))
        reports = shown_sentences(
            simulator,
            may_read=self._may_read,
            most_suggested=suggestions_left,
            most_by_calls=suggestions_left,
            now=now,
        )
        for one in reports[: MOST_SENTENCES - len(self._sentences)]:
            self._sentences.setdefault(str(one["sentence"]), (row, one))
        # Told of the first such world only: the next has other values, and may be on the other side.
        uniform = simulator.uniform.items()
        self._found += [_behavior_warning(row, f"{sentence} ({how})") for sentence, how in uniform]
        self._found += _finding_warnings(row, simulator)
        hints = {str(one["sentence"]): nearest(one) for one in reports}
        found = unenforced(simulator)
        return [
            *(
                _behavior_warning(row, words, hints.get(sentence))
                for sentence, words, is_typed in found
                if not is_typed
            ),
            *_typed_warnings(row, [one for one in found if one.is_typed], simulator),
        ]

    def warnings(self) -> PlanWarnings:
        others = [*self._found, *guesses_over(self._of_types.values(), self._tools)]
        unread: list[Problem] = []
        if self._unread:
            count = len(self._unread)
            says = (
                f"not checked: this check reached its limit here ({count} rows are not "
                "checked); each run has its own report"
            )
            unread = [_behavior_warning(self._unread[0], says)]
        return PlanWarnings(unread, others, [*self._sentences.values()])


def _typed_warnings(row: int, found: Sequence[Unenforced], simulator: PlannedSimulator) -> Iterator[Problem]:
    """Typed rules that are not enforced, without those that name what is not there: told elsewhere."""
    if not found:
        return
    book = simulator.rule_book
    typed = book.rules[: len(book.typed)]
    wrong = {problem.path for problem in check(typed, simulator.vocabulary, "")}
    reported = {rule.sentence for at, rule in enumerate(typed) if pointer([at]) in wrong}
    remaining = [one for one in found if one.sentence not in reported]
    for one in remaining[:MOST_TYPED]:
        yield _rule_warning(row, one.words)
    if len(remaining) > MOST_TYPED:
        yield _rule_warning(row, f"{len(remaining) - MOST_TYPED:,} more rules are not enforced")


def _finding_warnings(row: int, simulator: PlannedSimulator) -> list[Problem]:
    """What is wrong with rules themselves, unless it is told already that they do nothing."""
    book = simulator.rule_book if simulator.has_rules else None
    if book is None:
        return []
    is_told = {*simulator.not_applied, *book.uniform}
    found = [one for one in book.findings if book.rules[one.rules[0] - 1].sentence not in is_told]
    return [_behavior_warning(row, book.finding_text(one)) for one in found]


def _rule_warning(row: int, message: str) -> Problem:
    return Problem(path=pointer([RULES]), message=message, row=row, column=RULES)


def _behavior_warning(row: int, message: str, hint: str | None = None) -> Problem:
    return Problem(path="/behavior_instructions", message=message, hint=hint, row=row, column="behavior")
