"""What a bucket's theme asks for: the tools, the records, the values and the ends that its words speak of.

Known words choose, and calls are held to the values that they name. Unknown words are reported. No rows are
made for a theme of which no word is known.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import is_person
from pipelines.core.worlds.rows.theme_words import Fit, fit_of
from pipelines.core.worlds.rows.tool_in_world import NO_LIMITS, CallLimits, tool_in_world
from pipelines.core.worlds.shapes import OUTCOMES, Bucket, Outcome

#: Words and phrases of a theme, and the outcomes that they ask for. Longer ones are looked for first.
_SPOKEN: tuple[tuple[str, tuple[Outcome, ...]], ...] = (
    ("not found, no such, wrong id, unknown, missing, nonexistent, typo, typos", ("not_found",)),
    (
        "not allowed, should be refused, must be refused, against the rules, not permitted, "
        "not eligible, "
        "forbidden, refuse, refused, refusal, refusals, denied, deny, policy, policies, ineligible, "
        "unauthorized, unauthorised, reject, rejected, violation, violations, disallowed, prohibited, "
        "guardrails, unsafe, limits, rules, cannot",
        ("forbidden", "refused", "not_found"),
    ),
    (
        "trouble, outage, outages, failure, failures, error, errors, flaky, timeout, timeouts, downtime, "
        "unavailable, retry, retries, unstable, incident, incidents, resilience, recovery, injected, "
        "is down, are down, offline",
        ("recovered",),
    ),
    (
        "lookup, lookups, question, questions, read, reads, reading, information, enquiry, enquiries, "
        "inquiry, inquiries, searches, queries, where is, where are, what is, what are, when is, when does, "
        "ask about, asks about, asking about, want to know, wants to know, wanting to know, how many, "
        "how much, how long",
        ("answered",),
    ),
    (
        "happy, normal, success, successful, simple, routine, everyday, ordinary, basic, straightforward",
        ("changed", "answered"),
    ),
    ("changes, writes, actions", ("changed",)),
)
_OUTCOMES = {phrase.strip(): outcomes for phrases, outcomes in _SPOKEN for phrase in phrases.split(",")}
_SEVERAL = word_set("several multiple multi two combined batch steps step complex chained")
#: Words of the language itself, and those for who asks and that they ask.
_STOP = word_set(
    "the a an of and or with for to on by all any some about that which who whose is are was were be being "
    "been it its no happy wrong such my our your their his her they he she i we you me us them "
    "anything everything ask asks asking asked want wants wanting wanted need needs needing needed like "
    "would could can please try tries trying tried wish wishes "
    "have has had having get gets getting do does doing go from at as into "
    "after before because when how why there somebody someone everyone new "
    "other another different must should may will not"
)
#: Words about rows, and particles of verbs: they say nothing, unless a tool is called so (check_out).
_ROW_WORDS = word_set(
    "path case request row task thing backend test id call calling write writing contact contacting number "
    "person in out off up down back"
)
_STRANGERS = word_set("customer client user buyer guest caller consumer")  # whoever writes, in any trade
_MOST_SHOWN = 6  # tools in one note


@dataclass(frozen=True, slots=True)
class Steering:
    tools: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    several: bool  # only requests that take more than one call
    notes: tuple[str, ...]
    is_themed: bool = False  # it has words of its own
    question: str | None = None  # where, what or when: asked about one thing
    fits: Mapping[str, Fit] = field(default_factory=dict)

    def held(self, tool: str) -> CallLimits:
        """What calls of the tool have to give, and be about."""
        fit = self.fits.get(tool)
        return fit.held if fit is not None else NO_LIMITS

    def wanted(self, tool: str) -> frozenset[str]:
        """Words of which a question has one, to be of the theme."""
        fit = self.fits.get(tool)
        words = fit.asked_for if fit is not None else frozenset()
        return words | {self.question} if self.question is not None else words


def steering(ground: Ground, bucket: Bucket, usable: Collection[str]) -> Steering:
    """How a bucket's theme is understood."""
    theme = bucket.theme or bucket.name
    text = " ".join(tokens(theme.replace("'", "")))
    question = re.search(r"\b(where|what|when) (?:is|does)\b", text)
    outcomes: list[Outcome] = []
    names = {word for tool in ground.toolset.tools for word in tokens(tool.name)}
    spoken = {stem(singular(word)) for word in names}
    for phrase in sorted(_OUTCOMES, key=len, reverse=True):
        # What tools are called by is meant first: `incidents` of an incident desk.
        if re.search(rf"\b{phrase}\b", text) and stem(singular(phrase)) not in spoken:
            outcomes += _OUTCOMES[phrase]
            text = re.sub(rf"\b{phrase}\b", " ", text)
    words = text.split()
    several = not _SEVERAL.isdisjoint(words)
    telling = _telling(words, names)
    usual: tuple[Outcome, ...] = ("changed", "answered", "forbidden", "refused", "not_found")
    chosen = tuple(dict.fromkeys(outcomes)) or (usual if telling or several else OUTCOMES)
    if not telling:
        return Steering(
            tuple(tool.name for tool in ground.toolset.tools if tool.name in usable), chosen, several, ()
        )
    fits = _best(words, telling, ground, is_question=chosen == ("answered",))
    if question is not None:
        fits = {name: fit for name, fit in fits.items() if tool_in_world(ground, name).target is not None}
    if not fits and (outcomes or several):  # “the desk is down” says how rows end, and about nothing else
        unread = _not_understood(theme, [words[at] for at in telling])
        return Steering(tuple(usable), chosen, several, (unread,))
    tools = tuple(name for name in fits if name in usable)
    notes = _notes(theme, {at: words[at] for at in telling}, fits, tools)
    asks = question[1] if question is not None else None
    return Steering(tools, chosen, several, notes, True, asks, fits)


def _telling(words: Sequence[str], names: Collection[str]) -> list[int]:
    """Places of the words that say something. “customers asking for refunds” is about refunds, “blocked
    customers” about both."""
    silent = _STOP | _SEVERAL | (_ROW_WORDS - {*map(singular, names)})
    found = [at for at, word in enumerate(words) if word not in silent and singular(word) not in silent]
    first = singular(words[found[0]]) if found else ""
    is_asker = len(found) > 1 and (is_person(first) or first in _STRANGERS)
    return found[1:] if is_asker else found


def _best(
    words: Sequence[str], telling: Collection[int], ground: Ground, *, is_question: bool
) -> dict[str, Fit]:
    """The tools that most of the known words speak of; of equal ones those of which they say most."""
    found: dict[str, Fit] = {}
    for tool in ground.toolset.tools:
        fit = fit_of(words, telling, ground, tool.name)
        if fit is not None and (ground.facts[tool.name].name.reads() or not is_question):
            found[tool.name] = fit
    most = max(((len(one.places), one.weight) for one in found.values()), default=(0, 0))
    return {name: one for name, one in found.items() if (len(one.places), one.weight) == most}


def _notes(
    theme: str, words: Mapping[int, str], fits: Mapping[str, Fit], tools: Collection[str]
) -> tuple[str, ...]:
    if not fits:
        quoted, speak = _quoted(words.values()), "speak" if len(words) > 1 else "speaks"
        return (f"No rows for the theme “{theme}”: {quoted} {speak} of no tool, argument or record.",)
    if not tools:
        named = ", ".join([*fits][:_MOST_SHOWN])
        return (f"No rows for the theme “{theme}”: it is about {named}, of which no rows are made.",)
    known = {place for fit in fits.values() for place in fit.places}
    unread = [word for at, word in words.items() if at not in known]
    note = f"The theme is taken to be about {', '.join(tools)}."
    return (note, _not_understood(theme, unread)) if unread else (note,)


def _not_understood(theme: str, words: Collection[str]) -> str:
    return f"Not understood in the theme “{theme}”: {_quoted(words)}."


def _quoted(words: Collection[str]) -> str:
    return " and ".join(f"“{word}”" for word in words)
