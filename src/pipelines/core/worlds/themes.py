"""What a bucket's theme asks for: tools and outcomes that its words speak of."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.simulation.domain.tool_names import first_sentence
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.shapes import OUTCOMES, Bucket, Outcome
from pipelines.core.worlds.spoken import about_type

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
        "inquiry, inquiries, searches, queries",
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
_STOP = word_set(
    "the a an of and or with for to in on by all any some about path paths case cases request requests row "
    "rows task tasks things backend test tests that which is are be it not no id ids happy wrong such"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Steering:
    tools: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    several: bool  # only requests that take more than one call
    notes: tuple[str, ...] = ()


def steering(ground: Ground, bucket: Bucket, usable: Collection[str]) -> Steering:
    """How a bucket's theme is understood. One that speaks of nothing gets rows of all kinds, openly."""
    text = " ".join(re.findall(r"[a-z']+", f"{bucket.theme or bucket.name}".lower()))
    outcomes: list[Outcome] = []
    for phrase in sorted(_OUTCOMES, key=len, reverse=True):
        if re.search(rf"\b{phrase}\b", text):
            outcomes += _OUTCOMES[phrase]
            text = re.sub(rf"\b{phrase}\b", " ", text)
    words = [word for word in text.split() if word not in _STOP]
    several = any(word in _SEVERAL for word in words)
    words = [word for word in words if word not in _SEVERAL]
    tools = _tools(ground, words, usable)
    notes = []
    if not tools and not outcomes and not several:
        notes.append(
            f"The theme “{bucket.theme or bucket.name}” speaks of no tool, thing or outcome of this agent: "
            "rows of all kinds are made instead."
        )
    elif words and not tools:
        notes.append(
            f"Of the theme, “{' '.join(words)}” speaks of no tool or thing of this agent: it steers nothing."
        )
    elif tools:
        notes.append(f"The theme is taken to be about {', '.join(tools)}.")
    usual: tuple[Outcome, ...] = ("changed", "answered", "forbidden", "refused", "not_found")
    chosen = tuple(dict.fromkeys(outcomes)) or (usual if tools or several else OUTCOMES)
    return Steering(tools=tools or tuple(usable), outcomes=chosen, several=several, notes=tuple(notes))


def _tools(ground: Ground, words: Collection[str], usable: Collection[str]) -> tuple[str, ...]:
    """Tools whose name, thing or description has the words, or such as can stand for them; the best only."""
    wanted = [related(stem(singular(word))) | {stem(word)} for word in words]
    if not wanted:
        return ()
    scores: dict[str, int] = {}
    for name in usable:
        fact = ground.facts[name]
        kind = about_type(fact, ground.outline.types)
        own = {stem(singular(word)) for word in (*tokens(name), fact.name.verb)}
        thing = {stem(singular(word)) for word in tokens(kind)} if kind is not None else set()
        told = {stem(singular(word)) for word in tokens(first_sentence(fact.tool.description or ""))}
        exact = {stem(singular(word)) for word in words}
        scores[name] = sum(
            (each & own != set()) * 2
            + (exact & own & each != set()) * 2
            + (each & thing != set()) * 2
            + (each & told != set())
            for each in wanted
        )
    best = max(scores.values(), default=0)
    floor = 2 if best >= 2 else 1
    if best >= 4:
        floor = max(2, best // 2)
    return tuple(name for name, score in scores.items() if score >= floor) if best else ()
