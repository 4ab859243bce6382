"""Requests in plain English: what a user who knows their ids, and no tool, would write."""

import re
from collections.abc import Sequence

from pipelines.core.english.verbs import MADE_BY
from pipelines.core.english.words import article, plural, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.tool_names import first_sentence
from pipelines.core.worlds.calls import Asked, Candidate
from pipelines.core.worlds.draw import Draw

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}(?:Z|\+00:00)?")
_OPENINGS = (
    "Please {}.",
    "Could you {}?",
    "I need you to {}.",
    "Hi, can you {}?",
    "Hello! I would like you to {}.",
    "Would you {}, please?",
    "Good morning. Please {}.",
    "I have one request: {}, please.",
    "Is it possible for you to {}? Then please do.",
)
_GETS = ("look up {}", "show me {}", "tell me what you have on {}", "check {} and tell me what it says")
_MORE = ("Also, {}.", "And please {}.", "After that, {}.", "While you are at it, {}.")
_CONTEXTS = (
    "I could not find the right button myself.",
    "A colleague asked me to take care of this.",
    "This came up in our weekly review.",
    "There is no rush, but I would rather have it off my list.",
    "I am writing from my phone, so excuse typos.",
    "We talked about it last week.",
    "I am leaving for a trip in an hour.",
    "My accountant is waiting for it.",
    "It has been on my mind for days.",
    "Somebody else started this and is on leave now.",
    "I hope this is the right place to ask.",
    "Let me know when that is settled.",
)
_PRONOUNS = word_set("my your our their")
LONGEST_SAID = 300  # characters of one value


def request(asked: Asked, candidate: Candidate, draw: Draw, place: str) -> str:
    opening = draw.pick(_OPENINGS, f"opening/{place}")
    return opening.format(clause(asked, candidate, draw, place))


def with_context(text: str, draw: Draw, place: str) -> str:
    """Half of all people say a little more than they have to."""
    if draw.below(2, f"context/{place}"):
        return text
    return f"{text} {draw.pick(_CONTEXTS, f'which/{place}')}"


def two_requests(first: str, second: str, draw: Draw, place: str) -> str:
    """One message that asks for two things; the second is a bare clause."""
    return f"{first} {draw.pick(_MORE, f'more/{place}').format(second)}"


def clause(asked: Asked, candidate: Candidate, draw: Draw, place: str) -> str:
    """What is asked for, as it follows "please"."""
    op = asked.fact.name.op
    given = [
        (one, candidate.arguments[one.name])
        for one in asked.fact.arguments
        if one.name in candidate.arguments
    ]
    if op in ("create", "notify"):
        return _made(asked, given)
    if op in ("list", "search") or (asked.target is None and asked.keys):
        return _listed(asked, given, draw, place)
    target = asked.target
    if target is None or asked.own is None or op in ("compute", "think", "count", None):
        return _described(asked, given)
    thing = f"{asked.own.noun} {said(candidate.arguments.get(target.name))}"
    rest = [(one, value) for one, value in given if one != target]
    if op in ("get", "check"):
        return draw.pick(_GETS, f"gets/{place}").format(thing) + _with(asked, rest)
    if op == "update":
        return _changed(asked, thing, rest)
    if op in ("transfer", "fund", "withdraw"):
        return _moved(asked, given, thing)
    return f"{_verb(asked)} {thing}{_with(asked, rest)}"


def _verb(asked: Asked) -> str:
    return asked.fact.name.verb.replace("_", " ")


Given = Sequence[tuple[Argument, Json]]


def _made(asked: Asked, given: Given) -> str:
    own = asked.own
    made = MADE_BY.get(asked.fact.name.verb)
    noun = own.noun if own is not None else made or " ".join(asked.fact.thing) or "record"
    verb = {"apply": "make"}.get(asked.fact.name.verb, _verb(asked))
    head = f"{verb} {article(noun).lower()} {noun}"
    ids = [(one, value) for one, value in given if asked.id_type(one) is not None and one.is_scalar]
    named = [f"{_noun(asked, one)} {said(value)}" for one, value in ids]
    rest = [(one, value) for one, value in given if (one, value) not in ids]
    told = f" for {' with '.join(named)}" if named else ""
    details = "; ".join(f"{_name(one)}: {said(value)}" for one, value in rest)
    return f"{head}{told}" + (f" with these details: {details}" if details else "")


def _noun(asked: Asked, one: Argument) -> str:
    kind = asked.id_type(one)
    return asked.types[kind].noun if kind is not None else _name(one)


def _name(one: Argument) -> str:
    return " ".join(one.words)


def _listed(asked: Asked, given: Given, draw: Draw, place: str) -> str:
    own = asked.own
    noun = own.noun if own is not None else " ".join(asked.fact.thing) or "records"
    many = " ".join((*noun.split()[:-1], plural(noun.split()[-1])))
    is_picked = bool(given) and all(one.is_required and asked.id_type(one) is None for one, _ in given)
    if asked.keys and is_picked and asked.fact.name.op != "list":
        keys = " and ".join(f"{_name(one)} {said(value)}" for one, value in given)
        return draw.pick(
            (f"find the {noun} with {keys}", f"look for the {noun} whose record says {keys}"), place
        )
    ids = [f" of {_noun(asked, one)} {said(value)}" for one, value in given if asked.id_type(one) is not None]
    others = [f"{_name(one)} {said(value)}" for one, value in given if asked.id_type(one) is None]
    head = draw.pick((f"list the {many}", f"show me the {many}", f"give me all {many}"), place)
    return head + "".join(ids) + (f" with {' and '.join(others)}" if others else "")


def _changed(asked: Asked, thing: str, rest: Given) -> str:
    flat: list[tuple[str, Json]] = [(_name(one), value) for one, value in rest if not isinstance(value, dict)]
    flat += [
        (" ".join(tokens(key)), inner)
        for _, value in rest
        if isinstance(value, dict)
        for key, inner in value.items()
    ]
    if not flat:
        return f"{_verb(asked)} {thing}"
    if len(flat) == 1 and flat[0][0].split()[-1] in _WHENS:
        *first, last = flat[0][0].split()
        return f"change the {' '.join((*first, _WHENS[last]))} of {thing} to {said(flat[0][1])}"
    if len(flat) == 1:
        return f"change the {_bare(flat[0][0], thing)} of {thing} to {said(flat[0][1])}"
    told = ", ".join(f"{name} {said(value)}" for name, value in flat)
    return f"change these details of {thing}: {told}"


#: `scheduled_for`, `due_on`, `starts_at`, as people say them.
_WHENS = {"for": "time", "on": "date", "at": "time"}


def _bare(name: str, thing: str) -> str:
    """`new address` is said as the address, `card limit` of a card as its limit."""
    words = [word for word in name.split() if word not in ("new", "updated", *_PRONOUNS)]
    words = words[:-1] if len(words) > 1 and words[-1] == "id" else words
    first = thing.split()[0]
    return " ".join(words[1:] if len(words) > 1 and words[0] == first else words) or name


def _moved(asked: Asked, given: Given, thing: str) -> str:
    amounts = [
        said(value) for one, value in given if isinstance(value, int | float) and asked.id_type(one) is None
    ]
    ids = [
        (one, f"{_noun(asked, one)} {said(value)}") for one, value in given if asked.id_type(one) is not None
    ]
    amount = f" {amounts[0]}" if amounts else ""
    if len(ids) > 1:
        to = next((named for one, named in ids if "to" in one.words or "target" in one.words), ids[-1][1])
        source = next((named for _, named in ids if named != to), ids[0][1])
        return f"{_verb(asked)}{amount} from {source} to {to}"
    way = "from" if asked.fact.name.op == "withdraw" else "to"
    rest = [
        (one, value)
        for one, value in given
        if asked.id_type(one) is None and not isinstance(value, int | float)
    ]
    return f"{_verb(asked)}{amount} {way} {thing}{_with(asked, rest)}"


def _with(asked: Asked, rest: Given) -> str:
    told = ""
    for one, value in rest:
        if asked.id_type(one) is not None and one.is_scalar:
            told += f" for {_noun(asked, one)} {said(value)}"
        elif isinstance(value, list):
            told += f", {_name(one)} {said(value)}"
        else:
            told += f" with {_name(one)} {said(value)}"
    return told


def _described(asked: Asked, given: Given) -> str:
    """As its description has it, with what is given behind: no better words are known."""
    sentence = first_sentence(re.sub(r"\s+", " ", asked.fact.tool.description or "")).rstrip(".").strip()
    words = sentence if 0 < len(sentence) <= 120 else " ".join(tokens(asked.fact.tool.name))
    head = words[:1].lower() + words[1:]
    first, _, rest = head.partition(" ")
    if first.endswith("s") and not first.endswith("ss") and rest:
        head = f"{first[:-1]} {rest}"  # "Returns the …"
    told = ", ".join(f"{_name(one)} {said(value)}" for one, value in given)
    return f"{head} ({told})" if told else head


def said(value: Json) -> str:
    """A value as a person writes it; still to be copied exactly."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " and ".join(said(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{' '.join(tokens(name))} {said(each)}" for name, each in value.items())
    text = str(value)[:LONGEST_SAID]
    moment = _MOMENT.fullmatch(text)
    if moment is not None:
        return f"{moment[1]} at {moment[2]} UTC"
    return f'"{text.rstrip(".")}"' if isinstance(value, str) and " " in text else text
