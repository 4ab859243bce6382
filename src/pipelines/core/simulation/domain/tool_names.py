"""A tool's name taken apart: its verb and what that asks of a backend, its nouns, and what they are said of.

Only words that any backend may use stand here; nothing is known of any one of them.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.core.english.verbs import OFTEN_NOUNS, THINGS, VERB_PAIRS
from pipelines.core.english.words import is_plural, singular, tokens, word_set
from pipelines.core.simulation.domain.clauses import QUESTIONS, Claim, claim_of, says_nothing_changes
from pipelines.core.simulation.domain.side import (
    TELLS_OF_CHANGES,
    Decision,
    decide,
    is_told,
    name_kind,
    names_particulars,
    settled,
)
from pipelines.core.simulation.domain.verbs import ARITHMETIC, OP_OF_VERB, READS, op_of
from pipelines.core.tools.tool_annotations import ToolAnnotations

PREPOSITIONS = word_set("by for from to of in on with into at via as within using between per and or")
FILLERS = word_set("a an the all any every each current existing specific given available single my our your")
_GENERIC = word_set(
    "details detail info information data record records entry status state list summary profile full "
    "object item_details id ids overview register"
)
_MOVED = 0.8  # sureness of a change, where what is asked for says so and the words may


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolName:
    """A tool's name taken apart: `take_guest_from_list` is take / guest / from list."""

    verb: str
    op: str | None  # None: what it does is not clear
    service: tuple[str, ...]  # words before the verb: `shop_get_opening_hours`
    nouns: tuple[str, ...]  # between the verb and the first preposition
    complements: tuple[tuple[str, tuple[str, ...]], ...]  # (preposition, words) in order
    sureness: float = 0.5  # that it is on the side, reading or changing, that `op` says

    def complement(self, *prepositions: str) -> tuple[str, ...]:
        return next((words for word, words in self.complements if word in prepositions), ())

    def reads(self) -> bool:
        return self.op in READS


def read_tool_name(
    name: str,
    description: str = "",
    *,
    prefix: tuple[str, ...] = (),
    gives: bool = False,
    picks: Collection[str] = (),
    moves: bool = False,
    hints: ToolAnnotations | None = None,
) -> ToolName:
    """The name taken apart, on the side that its hints say, or that name and description agree on. `prefix`:
    begins (nearly) all names of the set; `gives`: more than ids; `picks`: what its ids are of; `moves`: so
    much from one to another."""
    words = tokens(name)
    if prefix and words[: len(prefix)] == prefix and len(words) > len(prefix):
        words = words[len(prefix) :]
    words = _merged(words)
    at = _verb_at(words, picks)
    kind = name_kind(words, at, picks)
    is_verb = at is not None and (kind in ("may_write", "writes") or (at == 0 and kind == "names"))
    own = words[at] if at is not None and is_verb else words[0] if at is None else None
    claim = claim_of(description, own, words if at is None else words[at + 1 :])
    if kind == "asks_about" and claim == ("writes", words[0]) and singular(words[-1]) not in TELLS_OF_CHANGES:
        kind, own = "may_write", words[0]  # record_fee, "Record a fee": both say that it is done
    if kind == "writes" and claim.kind == "names" and is_told(words):
        kind = "asks_about"  # shift_roster, "Workers on a shift."
    is_noun = _names_many(words) or names_particulars(words)
    decision = decide(kind, claim, description, is_noun=is_noun, verb=own)
    is_moved = (
        moves and kind not in ("reads", "asks_about") and any(op_of(word) == "transfer" for word in words)
    )
    decision = settled(decision, hints, kind, claim, gives=gives)
    if is_moved and decision.side == "read" and hints is None and not says_nothing_changes(description):
        # "Transfers money between two accounts": no transfers are listed.
        return replace(_taken_apart("transfer", "transfer", prefix, words), sureness=_MOVED)
    apart = _on_side(words, at, claim, decision)
    service = (*prefix, *apart.service)
    return replace(apart, service=service, sureness=decision.sureness)


def _names_many(words: tuple[str, ...]) -> bool:
    """open_tickets, orders_by_customer; not transfer_to_agents, where what follows the verb is no object."""
    end = next((at for at, word in enumerate(words) if word in PREPOSITIONS), len(words))
    return end > 1 and is_plural(words[end - 1])


def _on_side(words: tuple[str, ...], at: int | None, claim: Claim, decision: Decision) -> ToolName:
    own = words[at] if at is not None else None
    if decision.side == "unclear":
        verb = own or words[0]
        return _taken_apart(verb, None, (), tuple(word for word in words if word != verb))
    if decision.side == "read" and (own is None or OP_OF_VERB[own] not in READS):
        described_op = OP_OF_VERB.get(claim.verb or "")
        op = described_op if described_op in READS and claim.verb not in QUESTIONS else "get"
        return _taken_apart(claim.verb if claim.verb and op == described_op else "get", op, (), words)
    if own is None or decision.takes_description:
        # A verb that no tool is called by ("Puts the member …") sets something.
        verb = claim.verb or words[0]
        rest = words[1:] if words[0] == verb and len(words) > 1 else words
        op = OP_OF_VERB.get(verb, "update")
        return _taken_apart(verb, op if op not in READS else "update", (), rest)
    service, rest = words[:at], words[(at or 0) + 1 :]
    if not rest and service:  # `invoice.void`, `orders_get`
        service, rest = (), service
    return _taken_apart(own, OP_OF_VERB[own], service, rest)


def kind_of_tool(name: str) -> str:
    """read, search, computed or write: the strata of a fidelity report."""
    read = read_tool_name(name)
    if read.op in ("list", "search"):
        return "search"
    if read.op in ("compute", "think") or _is_arithmetic(tokens(name)):
        return "computed"
    return "read" if read.reads() else "write"


def _is_arithmetic(words: Sequence[str]) -> bool:
    return all(word in ARITHMETIC for word in words)


def _merged(words: tuple[str, ...]) -> tuple[str, ...]:
    """Two-word verbs as one: `log in`, `look up`."""
    merged: list[str] = []
    for word in words:
        pair = VERB_PAIRS.get((merged[-1], word)) if merged else None
        if pair:
            merged[-1] = pair
        else:
            merged.append(word)
    return tuple(merged)


def _verb_at(words: tuple[str, ...], picks: Collection[str] = ()) -> int | None:
    """Word 1, then 2, then the last; a word that is as often a noun gives way to a plainer verb. What an id
    picks (`update_find(find_id)`) is a thing."""
    last = len(words) - 1
    places = [at for at in dict.fromkeys((0, 1, last)) if at <= last and words[at] in OP_OF_VERB]
    places = [at for at in places if at == 0 or singular(words[at]) not in picks]
    places = [
        at for at in places if at == 0 or (words[at] != "new" and (at < last or words[at] not in THINGS))
    ]
    plain = [at for at in places if words[at] not in OFTEN_NOUNS]
    if not places:
        return None
    if places[0] == 0 and (len(words) == 1 or not plain or plain[0] == 0 or _starts_a_sentence(words)):
        return 0
    return plain[0] if plain else places[0]


def _starts_a_sentence(words: tuple[str, ...]) -> bool:
    """`post_tweet`, `order_item`: the first word is a verb when a noun follows it directly."""
    return len(words) > 1 and words[1] not in OP_OF_VERB and words[-1] not in ("login", "logout")


def first_sentence(description: str) -> str:
    """What the tool does, past any preamble ("This tool belongs to …. Tool description: …")."""
    text = re.split(r"\b[Dd]escription:\s*", description)[-1].strip()
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]


def _taken_apart(verb: str, op: str | None, service: tuple[str, ...], rest: tuple[str, ...]) -> ToolName:
    nouns: list[str] = []
    complements: list[tuple[str, list[str]]] = []
    for word in rest:
        if word in PREPOSITIONS:
            complements.append((word, []))
        elif complements:
            complements[-1][1].append(word)
        else:
            nouns.append(word)
    return ToolName(
        verb=verb,
        op=op,
        service=tuple(word for word in service if word not in FILLERS),
        nouns=tuple(word for word in nouns if word not in FILLERS),
        complements=tuple((word, tuple(words)) for word, words in complements),
    )


def without_generic(words: Iterable[str]) -> tuple[str, ...]:
    """The nouns that name a thing: `order details` is about an order, `users without mfa` about users."""
    return tuple(word for word in words if word not in _GENERIC)
