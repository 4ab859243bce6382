"""What a bucket's theme asks for: the tools, the states and the outcomes that its words speak of.

A theme is followed or reported: each of its words, those of the language itself aside, must be one of a tool,
of its arguments or of the records that it is about. No rows are made for a theme that no tool fits.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import is_person
from pipelines.core.worlds.rows.calls import Asked, asked_of
from pipelines.core.worlds.rows.trials import Trial
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
        "unavailable, retry, retries, unstable, incident, incidents, resilience, recovery, injected",
        ("recovered",),
    ),
    (
        "lookup, lookups, question, questions, read, reads, reading, information, enquiry, enquiries, "
        "inquiry, inquiries, searches, queries, where is, where are, what is, what are, when is, when does",
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
    "the a an of and or with for to in on by all any some about path paths case cases request requests "
    "row rows task tasks things thing backend test tests that which who whose is are was were be being "
    "been it its no id ids happy wrong such my our your their his her they he she i we you me us them "
    "anything everything ask asks asking asked want wants wanting wanted need needs needing needed like "
    "would could can please try tries trying tried wish wishes call calls calling write writes writing "
    "contact contacting have has had having get gets getting do does doing go from at as into up out off "
    "after before because when how why there number numbers people person somebody someone everyone new "
    "other another different"
)
_STRANGERS = word_set("customer client user buyer guest caller consumer")  # whoever writes, in any trade


@dataclass(frozen=True, slots=True)
class Steering:
    tools: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    several: bool  # only requests that take more than one call
    notes: tuple[str, ...]
    words: tuple[str, ...] = ()  # of the theme, that its rows have to fit
    question: str | None = None  # where, what or when: asked about one thing
    ground: Ground | None = None

    def fits(self, trial: Trial) -> bool:
        """Whether the one call, with what it gives and what it is about, is of the theme."""
        if trial.tool not in self.tools or self.ground is None:
            return False
        asked = asked_of(self.ground, trial.tool)
        if self.question and (asked.target is None or asked.own is None):
            return False
        return all(_met(word, asked, trial, self.ground) is not False for word in self.words)

    def wanted(self, trial: Trial) -> frozenset[str]:
        """What a question has to be about, to be of the theme."""
        if self.ground is None:
            return frozenset()
        asked = asked_of(self.ground, trial.tool)
        left = (word for word in self.words if _met(word, asked, trial, self.ground) is None)
        return frozenset(map(singular, (*left, *([self.question] if self.question else ()))))


def steering(ground: Ground, bucket: Bucket, usable: Collection[str]) -> Steering:
    """How a bucket's theme is understood."""
    theme = bucket.theme or bucket.name
    text = " ".join(re.findall(r"[a-z']+", theme.lower()))
    outcomes: list[Outcome] = []
    question = re.search(r"\b(where|what|when) (?:is|does)\b", text)
    spoken = {each for tool in ground.toolset.tools for each in _stems(tool.name)}
    for phrase in sorted(_OUTCOMES, key=len, reverse=True):
        # What tools are called by is meant first: `incidents` of an incident desk.
        if re.search(rf"\b{phrase}\b", text) and stem(singular(phrase)) not in spoken:
            outcomes += _OUTCOMES[phrase]
            text = re.sub(rf"\b{phrase}\b", " ", text)
    words = [word for word in text.split() if word not in _STOP]
    several = any(word in _SEVERAL for word in words)
    words = [word for word in words if word not in _SEVERAL]
    words = _without_askers(words)
    asked = {tool.name: asked_of(ground, tool.name) for tool in ground.toolset.tools}
    levels = {word: _fitting(word, asked) for word in words}
    best = {word: next((names for names in found if names), frozenset()) for word, found in levels.items()}
    by_word = {word: frozenset().union(*found) for word, found in levels.items()}
    fitting = [name for name in asked if all(name in names for names in best.values())]
    fitting = fitting or [name for name in asked if all(name in names for names in by_word.values())]
    tools = [name for name in fitting if name in usable]
    usual: tuple[Outcome, ...] = ("changed", "answered", "forbidden", "refused", "not_found")
    chosen = tuple(dict.fromkeys(outcomes)) or (usual if words or several else OUTCOMES)
    taken = f"The theme is taken to be about {', '.join(tools)}."
    notes = [taken if tools else _why_none(theme, by_word, fitting)] if words else []
    asks = question[1] if question is not None else None
    return Steering(tuple(tools), chosen, several, tuple(notes), tuple(words), asks, ground)


def _without_askers(words: list[str]) -> list[str]:
    """“customers asking for refunds” is about refunds; “blocked customers” about both."""
    first = singular(words[0]) if words else ""
    is_asker = len(words) > 1 and (is_person(first) or first in _STRANGERS)
    return words[1:] if is_asker else words


def _why_none(theme: str, by_word: Mapping[str, frozenset[str]], fitting: Collection[str]) -> str:
    if fitting:
        return (
            f"No rows for the theme “{theme}”: it is about {', '.join(fitting)}, of which no rows are made."
        )
    unknown = [word for word, names in by_word.items() if not names]
    if not unknown:
        said = " and ".join(f"“{word}”" for word in by_word)
        return f"No rows for the theme “{theme}”: no one tool speaks of {said} together."
    left = [names for names in by_word.values() if names]
    some = sorted(frozenset.intersection(*left)) if left else []
    near = f" Without that it would be about {', '.join(some[:6])}." if some else ""
    said = " and ".join(f"“{word}”" for word in unknown)
    return (
        f"No rows for the theme “{theme}”: {said} speaks of no tool, argument or record of this agent.{near}"
    )


# -- which words are whose


def _means(word: str) -> frozenset[str]:
    return related(stem(singular(word))) | {stem(singular(word)), stem(word)}


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(singular(word)) for word in tokens(text))


def _name_words(asked: Asked) -> frozenset[str]:
    """Of the tool's own name, and of what it is about."""
    return _stems(
        f"{asked.fact.tool.name} {asked.fact.name.verb} {asked.own.noun if asked.own is not None else ''}"
    )


def _argument_words(asked: Asked, names: Collection[str] | None = None) -> frozenset[str]:
    found = (one for one in asked.fact.arguments if names is None or one.name in names)
    return frozenset(
        each
        for one in found
        for text in (one.name, one.description.split(".")[0], *map(str, one.values))
        for each in _stems(text)
    )


def _state_of(word: str, asked: Asked) -> tuple[str, str] | None:
    """The field and the value that the word is, of what the tool is about."""
    for one in asked.own.fields if asked.own is not None and asked.target is not None else ():
        for value in one.values:
            if isinstance(value, str) and _stems(value) == {stem(singular(word))}:
                return one.name, value
    return None


def _fitting(word: str, asked: Mapping[str, Asked]) -> tuple[frozenset[str], ...]:
    """Tools that the word is about: by their names, by what they are given or about, by their texts."""
    means, plain = _means(word), stem(singular(word))
    levels: tuple[Callable[[Asked], bool], ...] = (
        lambda one: bool(means & _name_words(one)),
        lambda one: bool(means & _argument_words(one)) or _state_of(word, one) is not None,
        lambda one: plain in _stems(one.fact.tool.description or ""),
    )
    return tuple(frozenset(name for name, one in asked.items() if fits(one)) for fits in levels)


def _met(word: str, asked: Asked, trial: Trial, ground: Ground) -> bool | None:
    """Whether a call is of the theme's word: what only an argument speaks of has to be given, what only a
    state speaks of has to be so. None where only the tool's texts have it."""
    means = _means(word)
    if means & _name_words(asked):
        return True
    if means & _argument_words(asked):
        return bool(means & _argument_words(asked, trial.candidate.arguments.keys()))
    state, about = _state_of(word, asked), trial.candidate.about
    if state is None or about is None:
        return None
    return ground.world.entities.get(about[0], {}).get(about[1], {}).get(state[0]) == state[1]
