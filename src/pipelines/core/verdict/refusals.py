"""Refusals: whether an answer names the reason that the task or the backend had.

The reason is taken from the backend's own refusals in the trace, else from the one sentence of behaviour text
about what was asked. Naming it means sharing its telling words; anything less certain is left to a person.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from pipelines.core.english.dates import MONTHS, Day
from pipelines.core.english.idioms import plain_verbs
from pipelines.core.english.mentions import mentions, without_mentions
from pipelines.core.english.polarity import without_denial
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.json_text import Json, dumps
from pipelines.core.simulation.reading.words import tokens as name_tokens
from pipelines.core.simulation.reading.words import word_set
from pipelines.core.verdict.borne_out import RECORD_NOUNS
from pipelines.core.verdict.declining import is_refused, said_by
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.said import NEGATED
from pipelines.core.verdict.small_words import NEUTRAL
from pipelines.core.verdict.speech import content_stems, sentences, small_states
from pipelines.core.verdict.tool_words import ToolWords, words_of, writing_tools
from pipelines.core.verdict.wording import calls_text, quoted, shortened

_OUTAGE = re.compile(
    r"\b(?:technical|system)\s+(?:issue|error|problem|difficult|outage|failure)|\btemporarily\s+unavailable\b"
    r"|\b(?:service|server|system|processor)\s+(?:is|are|seems?\s+to\s+be)\s+(?:currently\s+)?(?:down|offline|unavailable)\b"
    r"|\bserver\s+error\b|\boutage\b|\bunder\s+maintenance\b"
)
_SOMEBODY = re.compile(r"\b(?:somebody|someone|else's|other|another|belongs?)\b")
# `already_cancelled`, asked to cancel: all its words are those of the request, and this one is the reason.
_ALREADY = re.compile(r"(?<![a-z])already(?![a-z])")
LEAST_TELLING = 2  # a one or a two is in every sentence
_DAYS = frozenset(map(stem, (*MONTHS, "longer", "month", "end", "start")))
_CONDITIONAL = re.compile(r"\b(?:if|should|in\s+case|when(?:ever)?)\b")
_ABSENT = re.compile(
    r"\b(?:does(?:n't|\s+not)|did(?:n't|\s+not))\s+exist\b|\b(?:not\s+found|no\s+such|no\s+record\s+of)\b"
)
_GIVES_REASON = re.compile(r"\b(?:because|since|as|due\s+to|only|policy|reason|given|per|rules?)\b")
# How many words of its own a sentence may add and still name the rule, by how many it shares with it.
_MOST_STRANGE = {1: 1, 2: 4}
STATES_SEEN = 200  # records of a type: more of them know no other states
LONGEST_REPLY = 2_000  # characters of one reply that are read for words
LONGEST_NAME = 200  # characters of an id or a kind of thing that a sentence could name
# Words of reasons that tasks often probe: one of these, foreign to rule and request, is another reason.
_OTHER_REASONS = frozenset(
    stem(word)
    for word in word_set(
        "locked expired suspended blocked frozen fraud insufficient balance age country region quota limit "
        "maintenance outage technical warranty duplicate deleted closed unverified unpaid delivered"
    )
)


class Explanation(StrEnum):
    RIGHT = "right"  # names the reason there was
    WRONG = "wrong"  # names one that the log disproves
    ABSENT = "absent"  # gives none
    UNKNOWN = "unknown"  # gives one that cannot be compared


class Explained(NamedTuple):
    how: Explanation
    says: str
    rows: tuple[int, ...] = ()
    is_policy: bool = False  # a rule was behind it, not a missing record


class _Reason(NamedTuple):
    text: str
    stems: frozenset[str]
    row: EvidenceRow | None  # the backend's refusal it comes from
    is_weak: bool = False  # its words only say what it is about


def explained(evidence: RunEvidence) -> Explained:
    """What the agent gives as its reason for declining, against the reason there was."""
    reasons = _backend_reasons(evidence) or _stated_reasons(evidence)
    known = _known_stems(evidence)
    told = [_told(sentence) for sentence in said_by(evidence)] if reasons else []
    unnamed = [
        reason
        for reason in reasons
        if not _names(told, reason, known, _asked(evidence, reason), evidence.keep_going)
    ]
    rows = tuple(reason.row.sequence for reason in reasons if reason.row is not None)
    excuse, another = _disproved_excuse(evidence), _another_reason(evidence, reasons)
    if reasons and not unnamed and excuse is None and another is None:
        quotes = " and ".join(f'"{quoted(reason.text)}"' for reason in reasons[:3])
        is_policy = any(reason.row is None or reason.row.http_status not in (400, 404) for reason in reasons)
        return Explained(Explanation.RIGHT, f"It names the reason there was: {quotes}.", rows, is_policy)
    if excuse is not None and reasons and len(unnamed) == len(reasons):
        return Explained(Explanation.WRONG, excuse, rows)
    if another is not None:
        says = f'It gives as its reason "{quoted(another.cause)}", but the backend refused for another: '
        how = Explanation.WRONG if another.is_all and unnamed else Explanation.UNKNOWN
        return Explained(how, says + f'"{quoted(reasons[0].text)}".', rows)
    ruled = _by_a_rule(evidence) if not rows else None
    if ruled is not None and excuse is None:
        return Explained(Explanation.RIGHT, f'It names the rule that applies: "{quoted(ruled)}".', rows, True)
    if _is_bare(evidence):
        return Explained(Explanation.ABSENT, "It gives no reason.", rows)
    return Explained(Explanation.UNKNOWN, _doubt(evidence, reasons, unnamed), rows)


_CAUSE = re.compile(
    r"\b(?:because(?:\s+of)?|since|as(?!\s+(?:you|i|we|requested|asked|for|of|long|won|lost|soon|far|well|planned|before|usual|it\s+(?:is|was)|they))|due\s+to|owing\s+to)\s+(?P<cause>(?:[^.;!?]|\.(?=\d)){6,200})"
)
_SO_NOT = re.compile(
    r"^(?P<cause>(?:[^.;!?]|\.(?=\d)){6,200}?),?\s+(?:so|therefore|and\s+so|which\s+is\s+why)\s+(?:\w+\s+){1,3}?[^.;!?]{0,60}"
    r"(?:can't|cannot|couldn't|could\s+not|can\s+not|unable|wasn't\s+able|not\s+possible)"
)
_COLON = re.compile(
    r"\b(?:can't|cannot|couldn't|could\s+not|can\s+not|unable|(?:wasn't|not)\s+(?:able|possible)|no\s+\w+\s+is\s+possible)\b[^.;!?:]{0,120}[:;]\s+(?P<cause>(?:[^.;!?]|\.(?=\d)){6,200})"
)
_OTHERS = re.compile(r"\b(?:another|other|else|someone|somebody)\b")
_NOT_THEN = re.compile(
    r"\b(?:as\s+long\s+as|while)\s+(?!that|this|it's\s+so)(?P<cause>(?:[^.;!?]|\.(?=\d)){6,200})"
)


class _Another(NamedTuple):
    cause: str
    is_all: bool  # nothing else that is said has anything to do with the reason either


def _another_reason(evidence: RunEvidence, reasons: list[_Reason]) -> _Another | None:
    """The cause that an answer names in so many words, where it has nothing in common with what the backend
    said as it refused: no word, number or day of it, nor one that says the same. `because of your cat`."""
    if not reasons or any(reason.row is None for reason in reasons):
        return None
    asked = words_of(evidence.user_instruction)
    subject = _subject_stems(evidence) | NEUTRAL | {stem(word) for word in asked}
    told = [_told(reason.text.replace("_", " ")) for reason in reasons]
    telling = [
        one._replace(stems=(one.stems - subject) | _denied_words(reason.text) | reason.stems)
        for one, reason in zip(told, reasons, strict=True)
    ]
    small = NEUTRAL | {stem(word) for word in asked}
    about = {stem(word) for word in asked} | kind_stems(evidence)
    own = [one._replace(stems=(one.stems - about) - _SAYS_LITTLE or one.stems) for one in told]
    if not all(one.stems or one.numbers for one in telling):
        return None  # it says no more than what was refused
    others = [
        cause
        for cause in _causes(evidence)
        if (_OTHERS.search(cause) or {word for word in content_stems(cause) - small if word.isalpha()})
        and not any(_have_in_common(_told(cause), reason) for reason in (*telling, *own))
    ]
    if not others:
        return None
    every = [_told(sentence) for sentence in said_by(evidence)]
    return _Another(others[0], not any(_have_in_common(one, reason) for one in every for reason in telling))


def _causes(evidence: RunEvidence) -> Iterator[str]:
    """What is said to be the cause of what is denied: `because …`, `…, so I couldn't`."""
    for sentence in said_by(evidence):
        low = sentence.lower()
        for pattern in (_CAUSE, _SO_NOT, _NOT_THEN, _COLON) if NEGATED.search(low) else ():
            found = pattern.search(low)
            if found is not None:
                yield found["cause"].strip()


#: In so many reasons that sharing one of these is no sign; `check`, in `checked in`, is one.
_SAYS_LITTLE = NEUTRAL - {stem("check"), stem("close")}


def _have_in_common(one: "_Told", reason: "_Told") -> bool:
    words = {word for word in reason.stems if word[0] != "~"} - _SAYS_LITTLE
    if any(not one.stems.isdisjoint(related(word)) for word in words - {"already"}):
        return True
    numbers = {number for number in reason.numbers & one.numbers if number}
    return bool(numbers) or any(day.agrees_with(other) for day in reason.days for other in one.days)


_ONLY_THEN = re.compile(
    r"\b(?:once|only|until|before|unless|must|needs?|requires?|has\s+to|have\s+to|after|not)\b"
)


def _by_a_rule(evidence: RunEvidence) -> str | None:
    """The rule about what was asked that the answer names together with the state it turns on: the thing that
    was asked about is in a state which the rule bars, or not in the one that it demands."""
    asked = words_of(evidence.user_instruction)
    tools = [tool for tool in writing_tools(evidence.tools) if tool.is_asked_in(asked)]
    answer = [plain_verbs(sentence.lower()) for sentence in said_by(evidence)]
    stems = frozenset(
        word for sentence in answer for word in content_stems(sentence) | small_states(sentence)
    )
    states, vocabulary = _states_read(evidence)
    for rule in sentences(evidence.behavior_instructions or ""):
        if not any(_is_about(rule, tool) for tool in tools):
            continue
        telling = (content_stems(rule) | small_states(rule)) & stems
        if telling & states:
            return rule
        demanded = telling & (vocabulary - states)
        if (
            demanded
            and _ONLY_THEN.search(rule.lower())
            and any(content_stems(sentence) & demanded and _ONLY_THEN.search(sentence) for sentence in answer)
        ):
            return rule
    return None


def _states_read(evidence: RunEvidence) -> tuple[frozenset[str], frozenset[str]]:
    """The states of the things that calls read, and those that things of their kinds can be in."""
    given = {
        str(value)
        for row in evidence.calls
        for value in (row.arguments.values() if isinstance(row.arguments, dict) else ())
    }
    own: set[str] = set()
    every: set[str] = set()
    for records in evidence.world.entities.values():
        named = given & records.keys()
        for id, record in islice(records.items(), STATES_SEEN) if named else ():
            texts = [
                value for value in record.values() if isinstance(value, str) and len(value) <= LONGEST_STATE
            ]
            found = {word for text in texts for word in content_stems(text) | small_states(text)}
            every |= found
            own |= found if id in named else set()
    return frozenset(own), frozenset(every)


LONGEST_STATE = 30


def _doubt(evidence: RunEvidence, reasons: list[_Reason], unnamed: list[_Reason]) -> str:
    if unnamed:
        told = quoted(unnamed[0].text)
        return f'Whether the reason it gives comes to "{told}" cannot be told from the words alone.'
    if reasons:
        return "It names the reason there was, and another one beside it that the log does not bear out."
    if evidence.behavior_instructions:
        return "The behaviour text has several rules that could apply, and the backend was not asked."
    return "No behaviour text and no refusal of the backend say what the right reason would be."


# The reasons there were


def _backend_reasons(evidence: RunEvidence) -> list[_Reason]:
    """What the backend refused and did not grant later; of writes, if there are any."""
    granted = {row.tool: row.sequence for row in evidence.calls if row.succeeded}  # the last of each tool
    refused = [r for r in evidence.calls if is_refused(r) and granted.get(r.tool, -1) < r.sequence]
    writes = [row for row in refused if not evidence.tool_reads(row.tool)]
    texts = {_refusal_text(row.response): row for row in reversed(writes or refused)}
    subject, rules = _subject_stems(evidence), sentences(evidence.behavior_instructions or "")
    states = {text: _states_of(row, evidence) for text, row in texts.items()}
    own = {
        text: (
            _reason_stems(text[:LONGEST_REPLY]) - (subject - states[text]) - _names_of(texts[text], evidence)
        )
        | (small_states(text[:LONGEST_REPLY]) & states[text])
        for text in texts
    }
    behind = {text: content_stems(_rule_behind(text, rules)) - subject for text in texts}
    speaking = Counter(word for text in texts for word in own[text] | behind[text])
    reasons = []
    for text, row in texts.items():
        # Of the rule behind it only what no other refusal is about: naming one must not name them all.
        only_here = frozenset(word for word in behind[text] if speaking[word] == 1)
        reasons.append(_Reason(text, own[text] | only_here, row))
    return [_or_its_words(reason, evidence) for reason in reversed(reasons)]


def _or_its_words(reason: _Reason, evidence: RunEvidence) -> _Reason:
    """A reason all of whose words say what it is about (`no_refills: no refills left`) is told by these: then
    two of them have to be said."""
    if reason.stems or reason.row is None:
        return reason
    own = [tool for tool in writing_tools(evidence.tools) if tool.tool == reason.row.tool]
    done = {stem(word) for tool in own for word in tool.past}
    every = _reason_stems(reason.text[:LONGEST_REPLY]) - NEUTRAL
    return reason._replace(stems=every - done or every, is_weak=True)


_ID = re.compile(r"\b[A-Za-z]{1,8}[-_]?\d[\w-]*")


def _reason_stems(text: str) -> frozenset[str]:
    plainer = _LACKING.sub(
        lambda found: f" {found[found.lastgroup or 0]} exhausted ", _ID.sub(" ", text).lower()
    )  # an id tells not why
    found = content_stems(plainer)
    found |= _denied_words(plainer)
    return found | {"already"} if _ALREADY.search(plainer) else found


def _denied_words(text: str) -> frozenset[str]:
    """`unpaid`: not paid."""
    bases = (without_denial(word) for word in re.findall(r"[a-z]+", text.lower()))
    return frozenset(stem(base) for base in bases if base is not None)


# Nothing is left of it, in whatever words.
_LACKING = re.compile(
    r"\b(?:no|0)\s+(?:free|available|open|vacant|remaining|in)\s+(?:\w+\s+)?(?P<free>\w+)"
    r"|\b(?:exhausted\s+of|(?:run|ran|running)\s+out\s+of)\s+(?:\w+\s+)?(?P<out>\w+)"
    r"|\b(?:isn't|not|n't\s+got)\s+(?:§|a\s+single|one)\s+(?P<one>\w+)(?:\s+(?:left|available|free|remaining))?"
    r"|\b(?:no|not\s+an?|not\s+a\s+single|none\s+of\s+(?:the|its|your))\s+(?:more\s+|free\s+|available\s+)?(?P<what>\w+)"
    r"(?:\s+\w+)?\s+(?:left|available|free|remaining|remains?|is\s+free|are\s+free)\b"
)


def _names_of(row: EvidenceRow, evidence: RunEvidence) -> frozenset[str]:
    """What the things asked about are called: whoever says it has not said why."""
    given = {str(value) for value in (row.arguments.values() if isinstance(row.arguments, dict) else ())}
    things = [records[id] for records in evidence.world.entities.values() for id in given & records.keys()]
    called = [value for thing in things for value in thing.values() if isinstance(value, str)]
    names = [value for value in called if value[:1].isupper() and len(value) <= LONGEST_NAME]
    return frozenset(word for name in names for word in content_stems(name))


def _states_of(row: EvidenceRow, evidence: RunEvidence) -> frozenset[str]:
    """States that things like the one asked about may be in: `delivered`, or `not booked`, tells why a visit
    cannot be cancelled, also where other tools deliver and book. What the call itself would make of it does
    not."""
    given = {str(value) for value in (row.arguments.values() if isinstance(row.arguments, dict) else ())}
    found: set[str] = set()
    for records in evidence.world.entities.values():
        if given.isdisjoint(records):
            continue
        for record in islice(records.values(), STATES_SEEN):
            states = (value for name, value in record.items() if name_tokens(name)[-1] in ("status", "state"))
            told = [value for value in states if isinstance(value, str)]
            found |= {word for value in told for word in content_stems(value) | small_states(value)}
    own = [tool for tool in writing_tools(evidence.tools) if tool.tool == row.tool]
    return frozenset(found) - {stem(word) for tool in own for word in tool.past | tool.doing}


def _refusal_text(response: Json) -> str:
    match response:
        case {"error": {"code": code, "message": message}}:
            return f"{code}: {message}"
        case {"error": str(code) | {"code": str(code)}, "message": str(message)}:
            return f"{code}: {message}"
        case {"error": str(text)} | {"message": str(text)} | str(text):
            return text
        case _:
            return ""


def _rule_behind(refusal: str, rules: Sequence[str]) -> str:
    """The sentence of behaviour text that announces this refusal by its code: it says more than the code."""
    code = refusal.partition(":")[0].lower()
    return next((rule for rule in rules if code in rule.lower()), "") if len(code) > 3 else ""


def _stated_reasons(evidence: RunEvidence) -> list[_Reason]:
    """The rule about what was asked, if the behaviour text has exactly one."""
    rules = sentences(evidence.behavior_instructions or "")
    asked = words_of(evidence.user_instruction)
    tools = [tool for tool in writing_tools(evidence.tools) if tool.is_asked_in(asked)]
    about = (
        [rule for rule in rules if any(_is_about(rule, tool) for tool in tools)] if len(rules) > 1 else rules
    )
    if len(about) != 1:
        return []
    stems = content_stems(about[0]) - _subject_stems(evidence)
    return [_Reason(about[0], stems, None)] if stems else []


def _is_about(rule: str, tool: ToolWords) -> bool:
    return tool.tool.lower() in rule.lower() or tool.is_asked_in(words_of(rule))


def _subject_stems(evidence: RunEvidence) -> frozenset[str]:
    """What only says what a reason is about, and tells nothing of it: `cancel`, `order`."""
    tools = writing_tools(evidence.tools)
    verbs = {stem(word) for tool in tools for word in tool.nouns | tool.past | tool.doing}
    return kind_stems(evidence) | verbs


def kind_stems(evidence: RunEvidence) -> frozenset[str]:
    """Words for the kinds of things of the world."""
    names = (" ".join(name_tokens(kind)) for kind in evidence.after.entity_types())
    return frozenset(word for name in names for word in content_stems(name))


# Whether they were named


def _known_stems(evidence: RunEvidence) -> frozenset[str]:
    """Words that an explanation may use without bringing in anything new: the request, rules and replies."""
    given = [evidence.user_instruction, evidence.behavior_instructions or ""]
    given += [shortened(dumps(row.response).decode(), LONGEST_REPLY) for row in evidence.calls]
    found: set[str] = {*NEUTRAL, *RECORD_NOUNS, "already"} | Facts(evidence).everything.stems
    for text in given:
        evidence.keep_going()
        found |= content_stems(text)
    return frozenset(found)


class _Told(NamedTuple):
    """A sentence of the answer: its words, and the numbers and days in it."""

    stems: frozenset[str]
    numbers: frozenset[Decimal]
    days: frozenset[Day]
    denied: frozenset[str]  # words that are said not to be so: "has not shipped yet"


_IS_CONDITION = re.compile(r"\b(?:only|must|unless|when|if|needs?|requires?|ha(?:s|ve)\s+to)\b")
_DENIED = re.compile(
    r"(?:\b(?:is|are|was|were|has|have|had|been|yet)\s+(?:not|no\s+longer|never)|\b(?:is|are|was|were|has|have|had)n't)\s+"
    r"(?:(?:been|yet|actually|currently|already)\s+){0,2}(?P<word>[a-z]+)"
)


def _told(sentence: str) -> _Told:
    sentence = _ID.sub(" ", sentence)
    read = mentions(sentence)
    plain = plain_verbs(without_mentions(sentence).lower())
    numbers = frozenset(value for number in read.numbers for value in number.values)
    return _Told(
        _reason_stems(plain) | small_states(plain),
        numbers | {value for word, value in _NUMBER_WORDS.items() if re.search(rf"\b{word}\b", plain)},
        frozenset(day for one in read.days for day in one.days),
        frozenset(stem(found["word"]) for found in _DENIED.finditer(plain)),
    )


_NONE_LEFT = stem("exhausted")
_NUMBER_WORDS = {"single": Decimal(1), "twice": Decimal(2), "double": Decimal(2), "thrice": Decimal(3)}


def _names(
    told: list[_Told],
    reason: _Reason,
    known: frozenset[str],
    asked: _Told,
    keep_going: Callable[[], None],
) -> bool:
    """Whether telling words, numbers or days are shared, in sentences that bring in little else. What was
    asked for names no reason: `I couldn't add three pairs`."""
    shared: set[str] = set()
    strange: set[str] = set()
    keep_going()
    own = _told(reason.text)
    # "only pending orders": the reason is that it is not pending.
    nouns = {other for word in own.stems - {_NONE_LEFT} for other in related(word)}
    may_be_denied = bool(own.denied) or _IS_CONDITION.search(reason.text.lower()) is not None
    for one in told:
        same = {
            word
            for word in reason.stems
            if not one.stems.isdisjoint(related(word))
            and (one.denied.isdisjoint(related(word)) or may_be_denied)
        }
        same |= {str(number) for number in own.numbers & one.numbers if number > LEAST_TELLING}
        same |= {str(day) for day in own.days for other in one.days if day.agrees_with(other)}
        if same and _NONE_LEFT in same and not one.stems.isdisjoint(nouns):
            return True  # that nothing is left of the same thing can be said in many words
        if same:
            shared |= same
            strange |= {word for word in one.stems if word[0] != "~" and known.isdisjoint(related(word))}
    strange -= _DAYS
    if _BOUNDS.search(reason.text.lower()):
        strange -= {stem("limit")}
    repeated = {word for word in shared if not asked.stems.isdisjoint(related(word))}
    repeated |= {str(one) for one in asked.numbers}
    repeated |= {str(day) for day in own.days if any(day.agrees_with(other) for other in asked.days)}
    if not shared - repeated or strange & _OTHER_REASONS:
        return False
    if reason.is_weak and len(shared) < min(2, len(reason.stems)):
        return False
    return len(strange) <= _MOST_STRANGE.get(len(shared), len(strange))


def _asked(evidence: RunEvidence, reason: _Reason) -> _Told:
    """What the user asked for, and what the call was given that was refused; not what the answer calls the
    cause: `because you are not the buyer`, as the user had said."""
    given = reason.row.arguments if reason.row is not None else {}
    values = given.values() if isinstance(given, dict) else ()
    texts = (str(value) for value in values if isinstance(value, (str, int, float)))
    asked = _told(" ; ".join((evidence.user_instruction, *texts))[:LONGEST_REPLY])
    causes = [_told(cause) for cause in _causes(evidence)]
    return asked._replace(
        stems=asked.stems.difference(*(cause.stems for cause in causes)),
        numbers=asked.numbers.difference(*(cause.numbers for cause in causes)),
    )


_BOUNDS = re.compile(
    r"\b(?:above|over|more\s+than|at\s+most|at\s+least|exceed\w*|maximum|minimum|up\s+to|under|below|between)\b"
)


def _disproved_excuse(evidence: RunEvidence) -> str | None:
    """A reason that the log itself disproves: an outage that was none, a missing record that is there.

    Only what stands in the words of a refusal counts, and only a record that a call has found: "there is no
    such option" is about nothing that the log could know.
    """
    failed = [row for row in evidence.calls if not row.succeeded]
    for sentence in map(str.lower, said_by(evidence)):
        blames_outage = _OUTAGE.search(sentence) and not _CONDITIONAL.search(sentence)
        if blames_outage and all(row.is_refused_by_backend for row in failed):
            return "It blames a technical failure, but no call failed for one."
        if _ABSENT.search(sentence) and not any(row.http_status == 404 for row in failed):
            found = [row for row in evidence.calls if row.succeeded and _speaks_of(sentence, row)]
            if found:
                return f"It says that something does not exist, but {calls_text(found[:1])} found it."
    return None


def _speaks_of(sentence: str, row: EvidenceRow) -> bool:
    """The sentence names an id that the call was given, or `that order` where the call was about an order."""
    given = row.arguments if isinstance(row.arguments, dict) else {}
    named = [str(value).lower().lstrip("#") for name, value in given.items() if name.endswith("id")]
    named = [id for id in named if 0 < len(id) <= LONGEST_NAME and id in sentence]
    if any(re.search(rf"(?<![\w-]){re.escape(id)}(?![\w-])", sentence) for id in named):
        return True
    kinds = [name.lower().removesuffix("_id") for name in given if name.endswith("_id")]
    kinds = [kind for kind in kinds if len(kind) <= LONGEST_NAME and kind in sentence]
    return any(re.search(rf"\b(?:that|this|the|your)\s+{re.escape(kind)}\b", sentence) for kind in kinds)


_TELLS_NO_REASON = re.compile(
    r"^(?:please\s+)?(?:let\s+me\s+know|feel\s+free|is\s+there)\b|^[^,;:]{0,40}\b(?:is|are|remains?|stays?)\s+(?:unchanged|as\s+(?:it|they)\s+(?:is|was|are|were))\W*$"
)


def _is_bare(evidence: RunEvidence) -> bool:
    """Nothing but the refusal: what is not done, to which number, and no word that leads up to a reason."""
    subject = _subject_stems(evidence) | NEUTRAL | {stem("work")}
    for answer in said_by(evidence):
        evidence.keep_going()
        if _TELLS_NO_REASON.search(answer.lower()):
            continue
        more = {word for word in content_stems(answer) - subject if word.isalpha()}
        low = answer.lower()
        if _GIVES_REASON.search(low) or _SOMEBODY.search(low) or _ALREADY.search(low) or more:
            return False
    return True
