"""Tasks asked of a world: requests in plain English with the calls that serve them and an oracle each."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from pipelines.core.english.words import singular, tokens
from pipelines.core.ledger.ledger import SetFlag
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.failure_rules import AfterNCalls, AfterStateChange, FailureRule, ForcedReply
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Ground, ground_of
from pipelines.core.worlds.rows.oracle import SOME_CALL, UNCHANGED, call_oracle, state_oracle
from pipelines.core.worlds.rows.themes import Steering, steering
from pipelines.core.worlds.rows.tool_in_world import CallLimits, ToolInWorld, tool_in_world
from pipelines.core.worlds.rows.trials import Found, Trial, found_by, trials, untried
from pipelines.core.worlds.rows.wording import PLACES, Request, Writer
from pipelines.core.worlds.shapes import Bucket, DraftRow, Outcome, ReferenceCall, Toolset

_REFUSALS: tuple[Outcome, ...] = ("forbidden", "refused", "not_found")
_ERRORS = (
    (503, "The service is temporarily unavailable."), (502, "The upstream system did not answer."),
    (429, "Too many requests, try again shortly."), (500, "Internal error."),
)  # fmt: skip
#: Groups are taken in turn; within a turn, what is surest first.
_ORDER: Mapping[str, int] = {"changed": 0, "forbidden": 1, "answered": 2, "refused": 3, "not_found": 4}


def draft_rows(
    toolset: Toolset,
    state: JsonObject,
    bucket: Bucket,
    *,
    rng_seed: int,
    now: str,
    axes: Collection[str],
    ground: Ground | None = None,
) -> Iterator[DraftRow]:
    """Candidates, more than the bucket wants where the world allows it: take them until it is full."""
    here = ground or ground_of(toolset, state)
    plan = _planned(here, bucket, rng_seed, now, axes)
    writer = _Author(here, bucket, Draw(f"{rng_seed}/{bucket.name}"), plan)
    yield from writer.rows()


def bucket_notes(
    toolset: Toolset,
    state: JsonObject,
    bucket: Bucket,
    *,
    now: str,
    axes: Collection[str],
    rng_seed: int = 0,
    ground: Ground | None = None,
) -> tuple[str, ...]:
    """What its author should know: how the theme was understood, and which tools get no rows and why."""
    return _planned(ground or ground_of(toolset, state), bucket, rng_seed, now, axes).notes


class _Plan(NamedTuple):
    """What a bucket's rows are made of."""

    trials: list[Trial]
    meant: Steering  # its outcomes are those that the axes leave
    notes: tuple[str, ...]


def _planned(ground: Ground, bucket: Bucket, rng_seed: int, now: str, axes: Collection[str]) -> _Plan:
    skipped = untried(ground)
    usable = [tool.name for tool in ground.toolset.tools if tool.name not in skipped]
    steering_axes = steering(ground, bucket, usable)
    outcomes, axis_notes = _within_axes(steering_axes.outcomes, axes)
    about = {
        name: why
        for name, why in skipped.items()
        if not steering_axes.is_themed or name in steering_axes.fits
    }
    notes = [
        *steering_axes.notes,
        *(f"No rows are made about {name}: {why}" for name, why in about.items()),
        *axis_notes,
    ]
    outcomes_wanted = {*outcomes, *(("changed", "answered") if "recovered" in outcomes else ())}
    found = [
        one
        for tool in steering_axes.tools
        for one in _trials(ground, rng_seed, now, tool, steering_axes.held(tool))
    ]
    chosen = [one for one in found if one.outcome in outcomes_wanted]
    tools = ", ".join(steering_axes.tools[:5]) if steering_axes.is_themed else "any tool of this agent"
    if not found and (steering_axes.tools or not steering_axes.is_themed):
        notes.append(
            f"No row can be made: no call of {tools} on this world has an answer that could be proved."
        )
    elif not chosen and steering_axes.tools:
        ends = " or ".join(outcomes) or "anything that may be asked"
        notes.append(f"No call of {tools} on this world ends in {ends} and fits the theme.")
    return _Plan(chosen, replace(steering_axes, outcomes=outcomes), tuple(dict.fromkeys(notes)))


def _within_axes(outcomes: Sequence[Outcome], axes: Collection[str]) -> tuple[tuple[Outcome, ...], list[str]]:
    """Without an axis there is nothing that rows of some outcomes could say what they expect with."""
    allowed, notes = list(outcomes), []
    if "failure_rules" not in axes and "recovered" in allowed:
        allowed.remove("recovered")
        notes.append("The axis failure_rules is off: no row has a backend that fails.")
    if "expected_outcome" not in axes and any(one in allowed for one in _REFUSALS):
        allowed = [one for one in allowed if one not in _REFUSALS]
        notes.append("The axis expected_outcome is off: no row has to be refused.")
    return tuple(allowed), notes


def _trials(ground: Ground, rng_seed: int, now: str, tool: str, held: CallLimits) -> list[Trial]:
    """Tried once for all buckets of a session that hold calls of the tool to the same."""
    key = (
        "worlds.trials",
        rng_seed,
        now,
        tool,
        repr(held.arguments),
        repr(sorted(map(repr, held.records.items()))),
    )
    known: list[Trial] | None = ground.world.derived.get(key)
    if known is None:
        known = ground.world.derived[key] = [*trials(ground, tool, Draw(rng_seed), now, held)]
    return known


class _Author:
    """Writes the rows of one bucket."""

    def __init__(self, ground: Ground, bucket: Bucket, draw: Draw, plan: _Plan) -> None:
        self._ground = ground
        self._bucket = bucket
        self._draw = draw
        self._plan = plan
        self._able = 0  # requests so far that a backend could have failed at

    def rows(self) -> Iterator[DraftRow]:
        """Groups in turn, so that each tool and each end comes before any comes twice."""
        everything = self._groups()
        late = [group for group in everything if group[0].outcome == "not_found"]
        is_meant = self._plan.meant.outcomes == ("not_found",)
        is_other = self._plan.meant.is_themed or set(self._plan.meant.outcomes) <= set(_REFUSALS)
        if is_other and not is_meant and len(late) < len(everything):
            # Whoever names something, or what is not allowed, does not mean a slip of the pen.
            yield from self._in_turns([group for group in everything if group not in late])
            yield from self._in_turns(late)
        else:
            yield from self._in_turns(everything)

    def _in_turns(self, groups: Sequence[Sequence[Trial]]) -> Iterator[DraftRow]:
        turns = max((len(group) for group in groups), default=0)
        found = {
            trial.candidate.about: who
            for trial in self._plan.trials
            if trial.outcome == "changed" and (who := found_by(self._ground, trial)) is not None
        }
        for turn in range(turns):
            row_of_turn = [group[turn] for group in groups if turn < len(group)]
            if not self._plan.meant.several:
                yield from (row for trial in row_of_turn for row in self._single(trial))
            if turn % 2 == 0 or self._plan.meant.several:
                yield from self._pairs(row_of_turn)
                yield from self._looked_up(row_of_turn, found)

    def _groups(self) -> list[list[Trial]]:
        by_group: dict[tuple[str, str, str], list[Trial]] = {}
        for one in self._plan.trials:
            by_group.setdefault(one.group, []).append(one)
        shuffled = self._draw.shuffled(sorted(by_group), "groups")
        # A tool for reading among many must not crowd out the few that change something.
        order = sorted(shuffled, key=lambda key: _ORDER.get(key[1], 9))
        return [self._draw.shuffled(by_group[key], f"group/{'/'.join(key)}") for key in order]

    # -- one request

    def _single(self, trial: Trial) -> Iterator[DraftRow]:
        outcomes = self._plan.meant.outcomes
        place, request = self._place(trial), self._request(trial)
        text = request.opened(self._draw, place, alone=True)
        wanted_here = self._wanted(trial)
        if request.is_question and wanted_here and not wanted_here & {*map(singular, tokens(request.text))}:
            return  # a question about something else than the theme
        is_able = "recovered" in outcomes and trial.outcome in ("changed", "answered")
        self._able += is_able
        # Among rows of all kinds some meet trouble in place of the plain row: no text is asked for twice.
        if is_able and (trial.outcome not in outcomes or self._able % 6 == 3):
            yield from self._troubled(text, trial, place)
        elif trial.outcome in outcomes:
            yield from self._rows(text, [trial])

    def _place(self, trial: Trial) -> str:
        return f"{self._bucket.name}/{trial.tool}/{sorted(trial.candidate.arguments.items())!r}"

    def _rows(
        self,
        text: str,
        asked: Sequence[Trial],
        *,
        rules: tuple[FailureRule, ...] = (),
        calls: Sequence[ReferenceCall] | None = None,
        outcome: Outcome | None = None,
    ) -> Iterator[DraftRow]:
        """The one row, or none where nothing that stays the same was changed."""
        last = asked[-1]
        is_refusal = last.outcome in _REFUSALS
        changing = [one for one in asked if one.outcome == "changed"]
        reading = [one for one in asked if one.outcome == "answered"]
        state = UNCHANGED if is_refusal or not changing else state_oracle(changing, self._ground.world)
        if state is None:
            return
        must = SOME_CALL if is_refusal else call_oracle(reading) if reading else None
        yield DraftRow(
            user_instruction=text,
            failure_rules=rules,
            expected_outcome="refusal" if is_refusal else "completion",
            expected_state=state,
            expected_calls=must,
            reference_calls=tuple(calls if calls is not None else map(_call, asked)),
            behavior=self._ground.toolset.behavior,
            bucket=self._bucket.name,
            tool=last.tool,
            outcome=outcome or ("changed" if changing else last.outcome),
            about=tuple("/".join(one.candidate.about) for one in asked if one.candidate.about is not None),
            sentences=tuple(dict.fromkeys(one.sentence for one in asked if one.sentence is not None)),
        )

    # -- a backend that fails

    def _troubled(self, text: str, trial: Trial, place: str) -> Iterator[DraftRow]:
        code, message = self._draw.pick(_ERRORS, f"error/{place}")
        error = ForcedReply(code=code, message=message)
        duration = 1 + self._draw.below(2, f"duration/{place}")
        rule = AfterNCalls(tool=trial.tool, error=error, n=1, duration=duration)
        calls = [_call(trial)] * (duration + 1)
        yield from self._rows(text, [trial], rules=(rule,), calls=calls, outcome="recovered")
        yield from self._after_flag(trial, error)

    def _after_flag(self, trial: Trial, error: ForcedReply) -> Iterator[DraftRow]:
        """Something that the request itself sets off makes the next call fail once."""
        flag = next(
            (one.flag for one in trial.answer.updates if isinstance(one, SetFlag) and one.value), None
        )
        after = next(
            (one for one in self._plan.trials if one.tool != trial.tool and _apart(trial, one)), None
        )
        if flag is None or after is None or trial.outcome != "changed":
            return
        rule = AfterStateChange(tool=after.tool, error=error, condition=flag, duration=1)
        calls = [_call(trial), _call(after), _call(after)]
        both = self._both(trial, after)
        yield from self._rows(both, [trial, after], rules=(rule,), calls=calls, outcome="recovered")

    # -- several calls

    def _pairs(self, turn: Sequence[Trial]) -> Iterator[DraftRow]:
        """Two requests in one message, about different things."""
        if not {"changed", "answered"} & set(self._plan.meant.outcomes):
            return
        able = [one for one in turn if one.outcome in ("changed", "answered")]
        pairs = ((able[at], able[at + 1]) for at in range(0, len(able) - 1, 2))
        for first, second in islice(pairs, max(2, len(able) // 3)):
            if _apart(first, second):
                yield from self._rows(self._both(first, second), [first, second])

    def _wanted(self, trial: Trial) -> frozenset[str]:
        """Words that a question has to have; where a thing is that has no place is how it stands."""
        outcomes_wanted, own = (
            self._plan.meant.wanted(trial.tool),
            tool_in_world(self._ground, trial.tool).own,
        )
        has_place = any(PLACES & {*one.words} for one in (own.fields if own is not None else ()))
        return (
            outcomes_wanted | {"status"} if "where" in outcomes_wanted and not has_place else outcomes_wanted
        )

    def _request(self, trial: Trial, who: str | None = None) -> Request:
        tool_request, place = tool_in_world(self._ground, trial.tool), self._place(trial)
        fields_shown = _shown(trial.answer.response, tool_request)
        outcomes_wanted = self._wanted(trial)
        return Writer(
            tool_request, trial.candidate, self._draw, place, fields_shown, outcomes_wanted, who
        ).request

    def _both(self, first: Trial, second: Trial) -> str:
        place = self._place(first)
        return self._request(second).added(self._request(first).opened(self._draw, place), self._draw, place)

    def _looked_up(
        self, turn: Sequence[Trial], found: Mapping[tuple[str, str] | None, Found]
    ) -> Iterator[DraftRow]:
        """The user says who is meant, not under which id."""
        if "changed" not in self._plan.meant.outcomes:
            return
        for trial in turn:
            who = found.get(trial.candidate.about) if trial.outcome == "changed" else None
            if who is None or trial.candidate.about is None:
                continue
            named = self._request(trial, who.said).opened(self._draw, self._place(trial))
            if trial.candidate.about[1] not in named:
                yield from self._rows(named, [trial], calls=[who.call, _call(trial)])


def _shown(reply: Json, asked: ToolInWorld) -> JsonObject:
    """The record that a lookup answers; the one field of which its name speaks, where it answers a value."""
    own = asked.own
    if isinstance(reply, dict):
        inner = reply.get(own.name) if own is not None else None
        return inner if isinstance(inner, dict) else reply
    words = {*tokens(asked.fact.tool.name)}
    named = (one.name for one in (own.fields if own is not None else ()) if {*one.words} <= words)
    return dict.fromkeys(named, reply)


def _call(trial: Trial) -> ReferenceCall:
    return ReferenceCall(tool=trial.tool, arguments=trial.candidate.arguments)


def _apart(first: Trial, second: Trial) -> bool:
    """What one does cannot get in the way of the other."""
    mine = {repr(value) for value in first.candidate.arguments.values()}
    return first.candidate.about != second.candidate.about and not mine & {
        repr(value) for value in second.candidate.arguments.values() if isinstance(value, str)
    }
