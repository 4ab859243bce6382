"""Words that say the same thing of a business record. Each row holds only words that can stand for each other
in a sentence about what was done or what is so; a word may be in several rows."""

from functools import lru_cache

from pipelines.core.english.stems import stem

#: Verbs of deeds. A deed told with a verb of these rows must have a call behind it.
_DEEDS = (
    "refund reimburse repay",
    "refund credit",
    "cancel void annul revoke",
    "delete remove erase drop",
    "update modify change edit amend alter adjust correct",
    "change switch",
    "move shift reschedule postpone push rebook relocate reassign",
    "move transfer",
    "book reserve hold put",
    "credit deduct discount take",
    "buy purchase order",
    "pay settle clear",
    "pay charge collect",
    "extend renew prolong lengthen",
    "freeze block lock suspend",
    "block deactivate disable",
    "unblock unlock unfreeze reactivate enable",
    "activate enable start",
    "ship dispatch",
    "deliver arrive reach",
    "raise increase bump lift",
    "lower reduce decrease cut drop",
    "waive forgive remove drop cancel",
    "assign allocate give",
    "add apply include put attach",
    "apply use redeem enter",
    "create open file raise register log make report lodge submit",
    "close resolve shut finish",
    "approve accept grant authorize authorise",
    "dispute contest challenge",
    "release free",
    "send email mail message text notify sms forward inform",
    "call phone ring",
    "schedule arrange plan book",
    "charge bill debit",
    "escalate forward pass",
    "return bring",
    "replace exchange swap",
    "upgrade raise",
    "downgrade lower",
    "restart reboot restart bounce",
    "deploy release ship roll",
    "scale resize",
    "stop pause halt",
    "verify check confirm validate",
    "register enrol enroll sign",
    "print issue",
    "set change put",
    "record note log enter",
    "withdraw retract",
    "merge combine",
    "subscribe sign",
)
#: Nouns and states.
_THINGS = (
    "member reader customer client user guest patron holder",
    "available free open vacant",
    "fee charge cost",
    "price rate cost",
    "total sum amount",
    "bill invoice folio",
    "balance remainder",
    "phone telephone mobile",
    "limit cap maximum max ceiling",
    "due owe outstanding payable",
    "overdue late",
    "doctor physician doc dr",
    "plan tariff package",
    "stay booking reservation",
    "trip flight journey",
    "parcel package shipment consignment",
    "employee worker staff colleague",
    "leave vacation holiday pto",
    "server host machine instance",
    "apartment flat unit home",
    "tenant renter resident",
    "active live running enabled",
    "inactive expired disabled",
    "pending waiting outstanding",
    "stock inventory",
    "quantity item unit piece copy",
    "night day morning",
    "reserve wait queue",
    "money fund payment",
    "coupon voucher code",
    "dear expensive",
    "twice two",
    "author writer",
    "colour color",
    "document paperwork paper",
    "medicine drug medication",
    "appointment visit",
    "subscription plan",
    "ticket case",
    "bag luggage baggage",
    "seat place",
    "location place site",
    "kind type sort category",
    "level tier grade",
    "begin start",
    "end finish expire",
)


def _rows(rows: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(stem, row.split())) for row in rows)


_ALL = _rows(_DEEDS + _THINGS)
#: Stems of verbs for what one does beside the thing that was asked: they are seldom meant in another sense.
SIDE_DEEDS = frozenset(
    stem(word)
    for word in (
        *("send", "email", "mail", "message", "text", "notify", "sms", "forward"),
        *("order", "schedule", "dispatch", "escalate"),
    )
)


@lru_cache(maxsize=8192)
def related(word: str) -> frozenset[str]:
    """The stem itself and those that can stand for it."""
    return frozenset({word}).union(*(row for row in _ALL if word in row))
