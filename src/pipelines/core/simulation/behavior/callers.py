"""Who is calling: the owner of a thing, a kind of user, somebody else."""

from dataclasses import replace

from pipelines.core.english.words import plural
from pipelines.core.simulation.behavior.matching import Piece, table
from pipelines.core.simulation.behavior.meaning import Allowed, CallerIs, Compare, Condition, Field, Owns
from pipelines.core.simulation.behavior.phrases import constant
from pipelines.core.simulation.behavior.words import PERSONS

OWNERS = (
    "user_id",
    "customer_id",
    "buyer_id",
    "owner_id",
    "account_id",
    "member_id",
    "client_id",
    "owner",
    "user",
    "customer",
    "buyer",
    "created_by",
    "author_id",
    "author",
    "requester_id",
    "holder_id",
    "username",
    "user_name",
)

_OWNERSHIP = (
    "[the|its|their|his|her] [original|actual|rightful|registered|same|legitimate|{noun}] ['s] "
    "owner|buyer|purchaser|customer|user|creator|author|"
    "requester|holder|poster|sender|reporter|one|" + "|".join(sorted(PERSONS))
)


_PERSONS = "|".join(sorted({"caller", "callers", "people"} | PERSONS | {plural(word) for word in PERSONS}))


def _matching(left: Field, right: Field) -> Condition | None:
    """`user_id matches order.user_id`: what the caller says of himself against what the record says."""
    owner, _, name = right.name.rpartition(".")
    owner = owner or right.owner or ""
    if not owner or "." in left.name or left.owner:
        return None
    if name in OWNERS:
        return Owns(None, left.name, f"{owner}.{name}")
    return Compare(replace(left, is_argument=True), "==", right)


PIECES: dict[str, Piece] = {
    "caller": table(
        ("[the] caller|requester|requestor|customer|user|buyer|client|member", constant("caller")),
    ),
    "ownership": table(
        (
            "[the|its|their] {relation} [of {thing}]",
            lambda relation, thing=None: Owns(thing.noun if thing else None, None, relation),
        ),
        (f"{_OWNERSHIP} [‹ {{matching}} ›]", lambda matching=None: matching or Owns(None)),
        (
            f"{_OWNERSHIP} of|on {{thing}}|it|them [‹ {{matching}} ›]",
            lambda thing=None, matching=None: matching or Owns(thing.noun if thing else None),
        ),
        (f"the {_PERSONS} it|they belongs|belong to", lambda: Owns(None)),
        (
            f"{_OWNERSHIP} (who|that) (placed|created|made|owns|bought|opened|submitted|wrote|{{event}}) "
            f"{{thing}}|it|them [‹ {{matching}} ›]",
            lambda thing=None, matching=None: matching or Owns(thing.noun if thing else None),
        ),
    ),
    "relation": table(
        *(
            (f"{word}|{word}s", constant(word))
            for word in [
                "assignee",
                "manager",
                "reporter",
                "sender",
                "host",
                "organizer",
                "seller",
                "recipient",
                "receiver",
                "supervisor",
            ]
        )
    ),
    "matching": table(
        (
            "[where|if|when|that] {field:left} (match~|equals|=|is | must match|equal | is the same "
            "as) {field:right}",
            _matching,
        ),
    ),
    "callerkind": table(
        ("admin|admins|administrator|administrators", constant("admin")),
        (
            "{state} [tier|level|status] "
            "user|users|customer|customers|member|members|account|accounts|subscriber|subscribers|buyer|buyers|shoppers",
            lambda state: state,
        ),
    ),
    "role": table(
        ("{ownership}", lambda ownership: ownership),
        ("[a|an|the] {callerkind:word}", CallerIs),
        ("{thing}", lambda thing: None if thing.condition is None else Allowed(thing.condition)),
    ),
    "callers": table(
        (f"{{a}} {_PERSONS} [holder|holders]", constant("callers")),
    ),
    "othersown": table(
        (
            "(another|other|someone|anyone | a different) [else] "
            "[user|users|customer|customers|people|person] 's {noun}",
            lambda noun: noun,
        ),
    ),
}
