"""Whether a tool reads or changes something: what its hints, its name and its description say, and whether
they agree. Reading is the default. A change needs a name that can be one, and a description that says so or
is not there.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.english.inflection import all_forms
from pipelines.core.english.verbs import ADJECTIVES, DOING, LEADING_NOUNS, OFTEN_NOUNS, TELLING, VAGUE
from pipelines.core.english.words import ARTICLES, is_plural, singular, tokens, word_set
from pipelines.core.simulation.domain.clauses import (
    QUESTIONS,
    Claim,
    ClaimKind,
    says_nothing_changes,
)
from pipelines.core.simulation.domain.verbs import OP_OF_VERB, READS
from pipelines.core.tools.tool_annotations import ToolAnnotations

Side: TypeAlias = Literal["read", "write", "unclear"]
NameKind: TypeAlias = Literal[
    "reads",  # get_order, is_open
    "writes",  # cancel_order
    "may_write",  # order_total, book_room, open_tickets: a verb, or a noun or adjective
    "asks_about",  # refund_policy, order_status: ends in something one can only be told
    "names",  # folio, MyBookings
    "vague",  # run_night_audit
]


class Decision(NamedTuple):
    side: Side
    sureness: float  # 0 to 1, of the side alone
    takes_description: bool = False  # the description's verb is the one that says what happens


# At the end of a name: what one can be told, and what nobody does.
_TOLD = word_set(
    "status state balance policy policies total totals count details detail info information summary "
    "history list report statement overview profile stats statistics metrics eligibility deadline window "
    "quota usage score rules options availability price prices cost costs fee fees rates queue "
    "roster timeline log logs catalog catalogue inventory data requirements terms conditions"
)
# Likewise, unless the description says that something is done with it: record_grade, start_date.
_PARTICULARS = word_set(
    "target targets "
    "date dates time times amount amounts size grade type types code codes name names number reason reasons"
)
TELLS_OF_CHANGES = word_set("history overview timeline")  # swap_history: nobody swaps what has been
_NEVER_MADE = TELLS_OF_CHANGES | word_set("status state total count")  # launch_status; but update_status
_QUESTIONS = word_set("is has can does are was should may could must will would did needs")

_ONLY_SHOWN = word_set("preview simulate simulation hypothetical")
_SUPPOSED = {("dry", "run"), ("what", "if")}

_DISPUTED = 0.45
_DOUBTED = 0.6  # a read by what its description says, if that is no order to do something
#: By what the name says (each row), and by what the description does (each column): the side, how sure it is,
#: and `*` where the description's verb is the one that says what happens.
_CLAIMS: tuple[ClaimKind, ...] = ("reads", "names", "nothing", "turns_out", "acts", "vague", "writes")
_BY_KINDS: dict[NameKind, str] = {
    "reads": "read .97,   read .95,    read .9,     read .8,     read .8,     read .7,     unclear .4",
    "asks_about": "read .97,   read .95,    read .9,     read .7,     read .6,     read .6,     unclear .4",
    "names": "read .95,   read .92,    read .7,     unclear .3,  unclear .3,  unclear .3,  write .85*",
    "may_write": "read .85,   read .75,    write .75,   write .8,    write .8,    unclear .3,  write .92",
    "writes": "unclear .4, write .7,    write .85,   write .9,    write .9,    write .7,    write .97",
    "vague": "read .8,    unclear .3,  unclear .3,  unclear .3,  unclear .3,  unclear .3,  write .7*",
}


def _decision(kind: NameKind, claim: ClaimKind) -> Decision:
    side, sureness = _BY_KINDS[kind].split(",")[_CLAIMS.index(claim)].split()
    return Decision(_SIDES[side], float(sureness.rstrip("*")), sureness.endswith("*"))


_SIDES: dict[str, Side] = {"read": "read", "write": "write", "unclear": "unclear"}


def name_kind(words: Sequence[str], verb_at: int | None, picks: Collection[str] = ()) -> NameKind:
    """What the words of a name alone say; `verb_at` is where a verb was found among them."""
    if (words[0] in _QUESTIONS and len(words) > 1) or says_what_would_be(words):
        return "reads"
    if words[0] in VAGUE:
        return "vague"
    if words[0] in _NEVER_MADE and len(words) > 1:  # history_deploy
        return "asks_about"
    if verb_at is None:
        return "asks_about" if words[-1] in _TOLD else "names"
    verb, after = words[verb_at], words[verb_at + 1 :]
    if OP_OF_VERB[verb] in READS:
        return "reads" if verb_at == 0 or verb not in OFTEN_NOUNS else "asks_about"
    if verb not in LEADING_NOUNS and (verb_at == 0 or verb not in OFTEN_NOUNS):
        never = _NEVER_MADE if OP_OF_VERB[verb] in ("create", "transition") else TELLS_OF_CHANGES
        return "asks_about" if after and singular(after[-1]) in never else "writes"
    if verb_at > 0 and verb in ADJECTIVES and is_plural(words[verb_at - 1]):  # tariffs_open
        return "names"
    if after and after[-1] in _TOLD:
        return "asks_about"
    if after and (verb_at > 0 or verb in picks):  # order_workflow(order_id)
        return "names"
    return "names" if verb_at > 0 and verb not in ADJECTIVES else "may_write"  # invoice_void, lease_end


def says_what_would_be(words: Sequence[str]) -> bool:
    """preview_refund, dry_run_dispatch, what_if_closed: whatever verb is among them, it is not done."""
    return bool(_ONLY_SHOWN & {*words}) or any(pair in _SUPPOSED for pair in pairwise(words))


def is_told(words: Sequence[str]) -> bool:
    return len(words) > 1 and (words[-1] in _TOLD or singular(words[-1]) in _TOLD)


def names_particulars(words: Sequence[str]) -> bool:
    return len(words) > 1 and words[-1] in _PARTICULARS


def decide(
    kind: NameKind, claim: Claim, description: str | None, *, is_noun: bool, verb: str | None
) -> Decision:
    """Both together. That nothing is changed is always believed."""
    decision = _decision(kind, claim.kind)
    if kind == "writes" and claim.kind == "reads" and claim.verb in TELLING & DOING:
        return Decision("write", 0.7)  # rename_route, "Gives a route another name."
    if kind == "may_write" and claim.kind == "reads" and claim.verb in TELLING & DOING:
        return Decision("read", _DISPUTED)  # hand_out_bike, "Give a rider a bike.": told, or done
    if claim.kind == "names" and claim.verb is not None and decision.side == "read":
        decision = decision._replace(sureness=min(decision.sureness, _DOUBTED))
    if is_noun and kind == "may_write" and claim.kind == "nothing":  # open_tickets, start_date
        return Decision("read", 0.7)
    if decision.side != "read" and says_nothing_changes(description):
        return Decision("read", 0.85)
    if decision.side == "unclear" and claim.kind == "reads" and claim.verb in QUESTIONS:
        return Decision("read", 0.75)  # split_fee, "How the fee is divided": it is an answer
    if kind == "writes" and claim.kind == "names" and not _names_the_deed(description, verb or ""):
        return Decision("unclear", 0.4)  # invite_link, "The link with which …": nothing says that it is done
    gives_back = claim.kind == "reads" and claim.verb not in ("list", "show", "count", "search", "find")
    if kind == "writes" and gives_back and _tells_of_a_result(description):
        return Decision("write", 0.8)
    return decision


_HEAD_ENDS = word_set("of with which that who whose for by to in on from at as between where when")


def _names_the_deed(description: str | None, verb: str) -> bool:
    """ "Cancellation of an order", "New booking for a guest": what is done, or made, is named."""
    words = tokens((description or "")[:200])
    end = next((at for at, word in enumerate(words) if word in _HEAD_ENDS and at), len(words))
    is_thing = words[0] in ARTICLES or is_plural(words[end - 1])
    return not is_thing or any(word == "new" or word in all_forms(verb) for word in words[:end])


_RESULTS = word_set("new updated created changed resulting modified remaining confirmation after once")


def _tells_of_a_result(description: str | None) -> bool:
    """ "Returns the updated booking": what comes back has just been made or changed."""
    words = (description or "").lower().replace(",", " ").replace(".", " ").split()
    return any(word in _RESULTS for word in words[:10])


_CERTAIN = 1.0
_AGAINST_THE_WORDS = (
    0.6  # that something is changed is certain; what, only as far as name or description say it
)
_UNSAID = 0.4


def settled(
    decision: Decision, hints: ToolAnnotations | None, kind: NameKind, claim: Claim, *, gives: bool
) -> Decision:
    """The side by its hints; without any, the one that was decided. A tool that changes something of which
    no word speaks is unclear, unless it may destroy what is there and is given more than ids: it updates."""
    if hints is None:
        return decision
    if hints.reads_only:
        return Decision("read", _CERTAIN)
    if not hints.changes_something:
        return decision
    if decision.side == "write":
        return decision._replace(sureness=_CERTAIN)
    if kind in ("writes", "may_write"):
        return Decision("write", _AGAINST_THE_WORDS)
    if claim.kind == "writes" or (hints.is_destructive and gives):
        return Decision("write", _AGAINST_THE_WORDS, takes_description=True)
    return Decision("unclear", _UNSAID)


def hint_sentences(hints: ToolAnnotations | None) -> list[str]:
    """What the definition says, wherever a plan is shown."""
    return [f"the definition says {said}" for said in _said(hints)] if hints is not None else []


def _said(hints: ToolAnnotations) -> Iterator[str]:
    if hints.reads_only:
        yield "it only reads (readOnlyHint)"
    elif hints.reads_only is False:
        yield "it changes something (readOnlyHint: false)"
    if hints.is_destructive and not hints.reads_only:
        yield "it may change or delete what is there (destructiveHint)"
    elif hints.is_destructive is False and not hints.reads_only:
        yield "it only adds (destructiveHint: false)"
    if hints.is_idempotent and not hints.reads_only:
        yield "the same call again changes nothing more (idempotentHint)"
    if hints.is_open_world is not None:
        yield (
            "it reaches things outside (openWorldHint)"
            if hints.is_open_world
            else "it reaches nothing outside (openWorldHint: false)"
        )
