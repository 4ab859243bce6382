"""Words that say the same of a business record, for finding what a theme in a person's words is about."""

from functools import lru_cache

from pipelines.core.english.stems import stem

_ROWS = (
    "refund reimburse repay credit",
    "cancel void annul revoke withdraw",
    "delete remove erase drop",
    "update modify change edit amend alter adjust correct",
    "move shift reschedule postpone rebook transfer",
    "book reserve hold reservation",
    "buy purchase order",
    "pay settle payment money",
    "extend renew prolong",
    "freeze block lock suspend disable deactivate",
    "unblock unlock unfreeze reactivate enable activate",
    "ship dispatch deliver",
    "raise increase",
    "lower reduce decrease cut discount",
    "assign allocate give",
    "create open file raise register log report submit",
    "close resolve finish complete end",
    "approve accept grant authorize",
    "reject decline refuse deny",
    "dispute contest complaint complain",
    "send email mail message text notify inform",
    "return bring exchange replace swap",
    "repair fix mend maintenance",
    "stop pause halt",
    "member reader customer client user guest patron",
    "available free vacant",
    "fee charge cost price rate amount total",
    "bill invoice statement",
    "balance due owe outstanding unpaid arrear",
    "late overdue delayed",
    "doctor physician vet",
    "parcel package shipment consignment load",
    "employee worker staff colleague",
    "server host machine instance",
    "apartment flat unit home",
    "tenant renter resident",
    "appointment visit",
    "ticket case",
    "bicycle bike",
    "car vehicle",
    "loan borrow lend",
    "subscription plan membership",
)
_ALL = tuple(frozenset(map(stem, row.split())) for row in _ROWS)


@lru_cache(maxsize=8192)
def related(word: str) -> frozenset[str]:
    """The stem itself and those that can stand for it."""
    return frozenset({word}).union(*(row for row in _ALL if word in row))
