"""A row is kept only with proof: its reference calls, replayed on the world, meet its oracle."""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from pipelines.core.english.words import tokens, word_set
from pipelines.core.matchers.matching import is_matcher
from pipelines.core.proposed_oracles.value_origins import leaves_of
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.failure_rules import Randomly
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.oracles import Oracles, read_oracles
from pipelines.core.verdict.verdict import Finding, Status
from pipelines.core.worlds.ground import Answer, Ground, called, ground_of
from pipelines.core.worlds.rows.tool_in_world import tool_in_world
from pipelines.core.worlds.rows.trials import leaves_as_it_was, untried
from pipelines.core.worlds.shapes import (
    DraftRow,
    MadeCall,
    ProvedRow,
    ReferenceCall,
    RejectedRow,
    RejectionCode,
    Toolset,
)
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.wire.errors import InvalidArguments
from pipelines.wire.names import Source

REFUSAL = "refusal"
ALIKE = 0.9  # of the words of two texts: above that the second teaches nothing new
_POLITE = word_set(
    "please could would can you i a an the me for to of hi hello thanks thank need like want good morning "
    "today help"
)
_WORD = re.compile(r"[#\w][\w.@#-]*\w|\w")


class _Rejected(Exception):
    def __init__(self, code: RejectionCode, reason: str) -> None:
        super().__init__(reason)
        self.code: RejectionCode = code


def prove_row(
    toolset: Toolset,
    state: JsonObject,
    draft: DraftRow,
    *,
    now: str,
    earlier_texts: Collection[str],
    ground: Ground | None = None,
) -> ProvedRow | RejectedRow:
    """`earlier_texts` are those of rows that are kept already, of all buckets."""
    here = ground or ground_of(toolset, state)
    try:
        _check_text(draft, here, earlier_texts)
        oracles = _oracles(draft, toolset)
        _check_guesses(draft, here)
        replay = _replayed(draft, here, now)
        proof = _proof(draft, here, oracles, replay, now)
    except _Rejected as why:
        return RejectedRow(draft=draft, reason_code=why.code, reason=str(why))
    calls = tuple(
        MadeCall(
            tool=call.tool,
            arguments=call.arguments,
            status=answer.status,
            response=answer.response,
            is_injected=answer.source == Source.INJECTED,
        )
        for call, answer in zip(draft.reference_calls, replay, strict=True)
    )
    return ProvedRow(draft=draft, calls=calls, proof=proof)


# -- the text


def _check_text(draft: DraftRow, ground: Ground, earlier: Collection[str]) -> None:
    alike = next((text for text in earlier if nearly_same(text, draft.user_instruction)), None)
    if alike is not None:
        raise _Rejected("near_duplicate", f"says nearly the same as an earlier row: {alike[:200]}")
    given = next(given_away(draft, ground), None)
    if given is not None:
        raise _Rejected("answer_given_away", given)


def nearly_same(one: str, other: str) -> bool:
    mine, theirs = _words(one), _words(other)
    if mine == theirs:
        return True
    return len(mine & theirs) > ALIKE * len(mine | theirs)


@lru_cache(maxsize=8192)
def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.lower()) if word not in _POLITE)


def given_away(draft: DraftRow, ground: Ground) -> Iterator[str]:
    """Tool names, what the backend alone would say, and ids of things that the request is not about."""
    words = set(_WORD.findall(draft.user_instruction))
    lowered = {word.lower() for word in words}
    for tool in ground.toolset.tools:
        if tool.name in words and len(tokens(tool.name)) > 1:
            yield f"names the tool {tool.name}"
    call_values = set(map(str, leaves_of([call.arguments for call in draft.reference_calls])))
    request = draft.user_instruction
    # What the call's own arguments and description say, the agent is shown anyway.
    called = {call.tool for call in draft.reference_calls}
    texts = [name for call in draft.reference_calls for name in call.arguments]
    texts += [one.description or "" for one in ground.toolset.tools if one.name in called]
    names = {word for text in texts for word in tokens(text)}
    for value in _asserted(draft.expected_state):
        if value in call_values or value in names or value.lower() not in request.lower():
            continue
        if {word.lower() for word in _WORD.findall(value)} <= lowered:
            yield f"says “{value}”, which only the backend should"
    known = _ids(ground)
    about = {one.partition("/")[2] for one in draft.about}
    for word in sorted(words & known):
        if word not in call_values and word not in about and not word.isalpha() and len(word) > 2:
            yield f"names {word}, which it is not about"


def _ids(ground: Ground) -> frozenset[str]:
    key = ("worlds.ids",)
    if key not in ground.world.derived:
        records = types_in(ground.state).values()
        ground.world.derived[key] = frozenset(id for of_type in records for id in of_type)
    found: frozenset[str] = ground.world.derived[key]
    return found


def _asserted(expected: Json) -> Iterator[str]:
    """Texts that the state must come to hold."""
    for value in expected.values() if isinstance(expected, dict) else ():
        if isinstance(value, str) and len(value) > 2:
            yield value
        elif isinstance(value, dict) and not is_matcher(value):
            yield from _asserted(value)


# -- the calls


def _oracles(draft: DraftRow, toolset: Toolset) -> Oracles:
    problems: list[Problem] = []
    names = [tool.name for tool in toolset.tools]
    oracles = read_oracles(
        expected_state=draft.expected_state,
        expected_calls=draft.expected_calls,
        tools=names,
        problems=problems,
    )
    if problems:
        raise _Rejected("invalid_oracle", "; ".join(problem.said() for problem in problems[:3]))
    if oracles.state is None and oracles.calls is None:
        raise _Rejected("invalid_oracle", "there is no oracle, so nothing could be proved")
    return oracles


def _check_guesses(draft: DraftRow, ground: Ground) -> None:
    guesses = untried(ground)
    for call in draft.reference_calls:
        if call.tool in guesses:
            raise _Rejected("guessed", f"{call.tool}: {guesses[call.tool]}")


def _replayed(draft: DraftRow, ground: Ground, now: str) -> list[Answer]:
    if not draft.reference_calls:
        raise _Rejected("call_failed", "there are no reference calls")
    run = ground.opened(now=now, rules=draft.failure_rules)
    calls_made = [called(run, call.tool, call.arguments) for call in draft.reference_calls]
    _check_ids(draft, ground, calls_made)
    for call, answer in zip(draft.reference_calls, calls_made, strict=True):
        if answer.error == InvalidArguments.code:
            raise _Rejected("invalid_arguments", f"{call.tool} does not take {call.arguments}")
        if answer.source not in (Source.ODYSSEY, Source.INJECTED):
            raise _Rejected("call_failed", f"{call.tool} could not be answered: {answer.error}")
    return calls_made


def _check_ids(draft: DraftRow, ground: Ground, made: list[Answer]) -> None:
    """An agent knows an id from the request, or from an earlier answer; from nowhere else."""
    known_values: set[str] = set()
    known = _ids(ground)
    for call, answer in zip(draft.reference_calls, made, strict=True):
        if call.tool in ground.facts:
            for value in _id_values(call, ground, known):
                if str(value) not in known_values and not is_said(value, draft.user_instruction):
                    reason = f"{call.tool} takes {value}, which neither the request nor an earlier answer has"
                    raise _Rejected("id_from_nowhere", reason)
        known_values |= set(map(str, said_in(answer.response)))


def _id_values(call: ReferenceCall, ground: Ground, known: frozenset[str]) -> Iterator[Json]:
    request = tool_in_world(ground, call.tool)
    named = {one.name for one in request.fact.arguments if request.id_type(one) is not None}
    for name, given in call.arguments.items():
        for value in leaves_of(given):
            if value in (None, "") or isinstance(value, bool):
                continue
            if name in named or (isinstance(value, str) and value in known and not value.isalpha()):
                yield value


def is_said(value: Json, text: str) -> bool:
    """As people write an id: in any case, with or without the sign in front of it."""
    bare = re.escape(str(value).lower().lstrip("#"))
    return re.search(rf"(?<![a-z0-9]){bare}(?![a-z0-9])", text.lower()) is not None


def said_in(response: Json) -> Iterator[Json]:
    """All values of an answer; names too, where records stand under their ids."""
    if isinstance(response, dict):
        for name, inner in response.items():
            yield name
            yield from said_in(inner)
    elif isinstance(response, list):
        for inner in response:
            yield from said_in(inner)
    else:
        yield response


def _proof(draft: DraftRow, ground: Ground, oracles: Oracles, made: list[Answer], now: str) -> str:
    injected = [answer for answer in made if answer.source == Source.INJECTED]
    if any(isinstance(rule, Randomly) for rule in draft.failure_rules):
        reason = "a random failure hangs on draws of the finished task, so no proof would hold for it"
        raise _Rejected("call_failed", reason)
    if draft.failure_rules and not injected:
        raise _Rejected("call_failed", "no failure rule fires on the reference calls")
    proof = _refusal(draft, ground, made) if draft.expected_outcome == REFUSAL else _completion(draft, made)
    broken = _broken(oracles, _evidence(draft, ground, made, now))
    if broken is not None:
        raise _Rejected("oracle_not_met", f"after the reference calls: {broken.says}")
    if _broken(oracles, _evidence(draft, ground, [], now)) is None:
        raise _Rejected("met_by_nothing", "an agent that calls nothing meets the oracle")
    again = f" after {len(injected)} injected failure{'s' if len(injected) > 1 else ''}" if injected else ""
    return f"{proof}{again}; the oracle holds then, and does not hold when nothing is called."


def _completion(draft: DraftRow, made: list[Answer]) -> str:
    for call, answer in zip(draft.reference_calls, made, strict=True):
        if not answer.succeeded and answer.source != Source.INJECTED:
            raise _Rejected("call_failed", f"{call.tool} answers {answer.status} {answer.error}")
    if not made[-1].succeeded or made[-1].source == Source.INJECTED:
        raise _Rejected(
            "call_failed", "the backend does not answer the last call, so nothing is done in the end"
        )
    done = dict.fromkeys(call.tool for call in draft.reference_calls)
    return f"{' and '.join(done)} succeed{'s' if len(done) == 1 else ''}"


def _refusal(draft: DraftRow, ground: Ground, made: list[Answer]) -> str:
    """The backend refuses the asked-for call, or a stated rule leaves things as they are."""
    tool, answer = draft.reference_calls[-1].tool, made[-1]
    if answer.is_refused:
        plan = ground.simulator.plan_of(tool)
        guess = plan.guessed_refusals.get((answer.status or 0, answer.error or ""))
        why = f" ({guess})" if guess is not None and not draft.sentences else ""
        return f"{tool} is refused with {answer.status} {answer.error}{why}"
    kept = any(
        rule.covers(tool) and leaves_as_it_was(rule)
        for rule in ground.rules
        if rule.sentence in draft.sentences
    )
    if kept and answer.succeeded and not answer.updates:
        return f"{tool} changes nothing, as a rule says"
    raise _Rejected("not_refused", f"{tool} answers {answer.status}, and no rule that is enforced forbids it")


def _evidence(draft: DraftRow, ground: Ground, made: list[Answer], now: str) -> RunEvidence:
    return RunEvidence(
        user_instruction=draft.user_instruction,
        behavior_instructions=draft.behavior,
        expected_outcome=draft.expected_outcome,
        expected_state=draft.expected_state,
        expected_calls=draft.expected_calls,
        tools=ground.toolset.tools,
        world=ground.world,
        trace=tuple(answer.row for answer in made),
        now=now,
    )


def _broken(oracles: Oracles, evidence: RunEvidence) -> Finding | None:
    return next((one for one in oracles.findings(evidence) if one.status is Status.BROKEN), None)
