"""Which tools a sentence is about: by name, by what they do (`refunds`, `cancelling an order`), or all of
them.
"""

from collections.abc import Iterator

from pipelines.core.english.inflection import PASTS, past_forms
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import Thing, Who
from pipelines.core.simulation.behavior.phrases import DETERMINERS, lexicon_of, words_at

_TOOL = (
    "tool|tools|endpoint|endpoints|call|calls|function|functions|api|action|operation|method|request|requests"
)
# Verbs that speak of a reply, not of a tool: "returns at most ten" is not about returning goods.
_REPLYING = word_set("return returns list lists show shows give gives include includes")


def tool_names(matcher: Matcher, at: int) -> Iterator[Found]:
    name = _tool_at(matcher, at)
    if name is None:
        return
    end = at + 1
    after = end + (matcher.low(end) == ",")
    after += matcher.low(after) in ("and", "or", "&", "/")
    if after > end:
        for last, rest in tool_names(matcher, after + (matcher.low(after) == "the")):
            yield last, (name, *rest)
    yield end, (name,)


def _tool_at(matcher: Matcher, at: int) -> str | None:
    tool = lexicon_of(matcher).tools.get(matcher.low(at))
    token = matcher.at(at)
    # A tool with a plain word for a name (`add`) is meant only when the word is written as a name.
    is_written_so = token is not None and (token.kind == "name" or "_" in token.text or tool is None)
    return tool.name if tool is not None and (is_written_so or len(lexicon_of(matcher).tools) == 1) else None


def _spelled_out(matcher: Matcher, at: int) -> Iterator[Found]:
    """`the cancel order tool`: a name with blanks, followed by the word tool."""
    for length in (4, 3, 2):
        phrase = words_at(matcher, at, length).replace(" ", "_")
        if phrase in lexicon_of(matcher).tools and matcher.low(at + length) in _TOOL.split("|"):
            yield at + length, (lexicon_of(matcher).tools[phrase].name,)


def verb(matcher: Matcher, at: int, forms: str) -> Iterator[Found]:
    """A form of what some tool does: `past`, `gerund`, `base` or `noun`."""
    low, length = matcher.low(at), 1
    if f"{low} {matcher.low(at + 1)}" in lexicon_of(matcher).verbs:  # check out, log in
        low, length = f"{low} {matcher.low(at + 1)}", 2
    if low not in lexicon_of(matcher).verbs:
        return
    is_past = low.partition(" ")[0].endswith(("ed", "en")) or low.partition(" ")[0] in PASTS
    is_gerund = low.partition(" ")[0].endswith("ing")
    fits = {
        "past": is_past,
        "gerund": is_gerund,
        "base": not is_gerund,
        "noun": not is_past or low.endswith("ent"),
    }
    if fits[forms]:
        yield at + length, low


def past_verbs(matcher: Matcher, at: int) -> Iterator[Found]:
    """`cancelled`, `cancelled or refunded`: several are joined by a bar."""
    for end, first in verb(matcher, at, "past"):
        if matcher.low(end) in ("or", "and", "nor"):
            for last, rest in past_verbs(matcher, end + 1):
                yield last, f"{first}|{rest}"
        yield end, first


def able(matcher: Matcher, at: int) -> Iterator[Found]:
    """`refundable`, `cancellable`: the verb inside, where some tool does it."""
    low = matcher.low(at)
    if not low.endswith(("able", "ible")):
        return
    root = low[:-4]
    for base in (root, root + "e", root[:-1] if root[-1:] == root[-2:-1] else root, root[:-1] + "y"):
        if base in lexicon_of(matcher).verbs:
            yield at + 1, base
            return


def doing(matcher: Matcher, at: int) -> Iterator[Found]:
    """`cancelling a shipped order`, `refunds over $500`, `order cancellations`, `cancel`."""
    at += matcher.low(at) in DETERMINERS
    for end, noun in matcher.piece("noun", at):
        for last, form in matcher.piece("action", end):
            yield from _done_to(matcher, last, form, noun or None)
    for end, form in matcher.piece("action", at):
        yield from _done_to(matcher, end, form, None)


def _done_to(matcher: Matcher, at: int, form: str, noun: str | None) -> Iterator[Found]:
    at += matcher.low(at) in ("request", "requests", "attempt", "attempts")
    after = at + (matcher.low(at) in ("of", "for", "on", "from", "to", "in", "against"))
    if noun is None:
        for end, thing in matcher.piece("thing", after):
            yield end, _who(form, thing)
    for end, said in matcher.piece("relative", at):
        yield end, Who(verb=form, noun=noun, condition=said)
    yield at, Who(verb=form, noun=noun)


def _who(form: str, thing: Thing) -> Who:
    return Who(verb=form, noun=thing.noun or None, condition=thing.condition)


def own_verb(matcher: Matcher, at: int) -> Iterator[Found]:
    if matcher.low(at) not in _REPLYING:
        yield from verb(matcher, at, "base")


def action(matcher: Matcher, at: int) -> Iterator[Found]:
    low, both = matcher.low(at), f"{matcher.low(at)} {matcher.low(at + 1)}"
    if both in lexicon_of(matcher).verbs and low.endswith("ing"):
        yield at + 2, both
    if low in lexicon_of(matcher).verbs and (low.endswith("ing") or not past_forms(low) & {low}):
        yield at + 1, low


def _tried(base: str, thing: Thing | None = None) -> Who:
    return _who(base, thing) if thing else Who(verb=base)


PIECES: dict[str, Piece] = {
    "toolnames": tool_names,
    "spelled": _spelled_out,
    "pastverb": past_verbs,
    "baseverb": lambda matcher, at: verb(matcher, at, "base"),
    "gerund": lambda matcher, at: verb(matcher, at, "gerund"),
    "ableverb": able,
    "action": action,
    "doing": doing,
    "ownverb": own_verb,
    "tools": table(
        (f"[the|both|either|all | each of] {{toolnames}} [{_TOOL}]", lambda toolnames: Who(names=toolnames)),
        (f"[the] {{spelled}} {_TOOL}", lambda spelled: Who(names=spelled)),
        (
            "all|every|any|each [of] [the] [other] [simulated] "
            "tool|tools|call|calls|endpoint|endpoints|operation|operations|request|requests",
            lambda: Who(everyone=True),
        ),
        (
            "the|our [simulated] tools|api|backend|system|server|service|simulator|platform",
            lambda: Who(everyone=True),
        ),
        ("everything", lambda: Who(everyone=True)),
    ),
    "who": table(
        ("{tools}", lambda tools: tools),
        ("[an|any|all] attempt|attempts|request|requests|trying to {baseverb:base} {thing}", _tried),
        ("[an|any|all] attempt|attempts|request|requests|trying to {baseverb:base}", _tried),
        ("{doing}", lambda doing: doing),
        ("it|they | this|the tool|call|operation|request", Who),
    ),
}
