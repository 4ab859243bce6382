"""English, as far as rules need it beyond names: forms of a verb, stems, words that mean nearly the same.

Nothing here knows a tool or a world; over-generating is fine, since forms are only ever looked up.
"""

import re
from functools import cache

from pipelines.core.simulation.reading.verbs import word_set
from pipelines.core.simulation.reading.words import plural
from pipelines.core.simulation.reading.words import tokens as words_of

IRREGULAR_PAST = {
    "buy": ("bought",),
    "do": ("did", "done"),
    "find": ("found",),
    "get": ("got", "gotten"),
    "give": ("gave", "given"),
    "go": ("went", "gone"),
    "hide": ("hid", "hidden"),
    "hold": ("held",),
    "keep": ("kept",),
    "leave": ("left",),
    "lend": ("lent",),
    "make": ("made",),
    "pay": ("paid",),
    "put": ("put",),
    "read": ("read",),
    "reset": ("reset",),
    "sell": ("sold",),
    "see": ("saw", "seen"),
    "send": ("sent",),
    "set": ("set",),
    "show": ("showed", "shown"),
    "take": ("took", "taken"),
    "throw": ("threw", "thrown"),
    "undo": ("undid", "undone"),
    "withdraw": ("withdrew", "withdrawn"),
    "write": ("wrote", "written"),
}

PASTS = frozenset(form for forms in IRREGULAR_PAST.values() for form in forms)

IRREGULAR_NOUNS = {
    "apply": ("application",),
    "cancel": ("cancellation",),
    "deliver": ("delivery",),
    "deposit": ("deposit",),
    "pay": ("payment",),
    "receive": ("receipt", "reception"),
    "redeem": ("redemption",),
    "ship": ("shipment", "shipping"),
    "submit": ("submission",),
    "subscribe": ("subscription",),
    "unsubscribe": ("unsubscription",),
}

NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100}

SAME_VERBS = (
    word_set("delete remove erase"),
    word_set("update modify change edit amend alter set adjust"),
    word_set("get fetch retrieve view read see access show lookup"),
    word_set("list search find browse query"),
    word_set("create add make open place register submit"),
    word_set("buy purchase"),
    word_set("cancel void"),
    word_set("refund reimburse"),
    word_set("book reserve"),
    word_set("pay charge"),
    word_set("approve accept"),
    word_set("reject decline deny"),
    word_set("checkout borrow lend loan"),
    word_set("reschedule move postpone rebook"),
    word_set("file submit lodge raise"),
    word_set("renew extend prolong"),
    word_set("enroll enrol register join"),
    word_set("drop withdraw leave"),
    word_set("close terminate end"),
    word_set("transfer send move wire"),
    word_set("dispute contest challenge"),
    word_set("ship send dispatch"),
    word_set("assign allocate"),
    word_set("start begin launch"),
    word_set("return give_back"),
)

# Whoever may only see something may neither get nor list it.
SEEING = ("see", "view", "access", "read", "retrieve")

PERSONS = word_set(
    "user customer buyer client member shopper person employee agent manager student patient driver "
    "admin owner guest staff seller passenger subscriber author account tenant renter borrower sender "
    "recipient policyholder reader learner traveller"
)

SAME_NOUNS = (
    ("user", "customer", "buyer", "client", "member", "shopper", "account", "person", "employee", "owner"),
    ("product", "item", "sku", "article", "inventory", "stock", "good"),
    ("order", "purchase"),
    ("ticket", "issue", "case"),
    ("booking", "reservation"),
    ("message", "email", "mail"),
    ("transaction", "payment", "transfer"),
)

# What a field may be called in a sentence, and the names it may go by in the data, likeliest first.
SAME_FIELDS = (
    (
        (
            "stock",
            "inventory",
            "stocklevel",
            "stockquantity",
            "availablequantity",
            "availablestock",
            "availability",
        ),
        (
            "stock",
            "stock_quantity",
            "stock_count",
            "stock_level",
            "inventory",
            "inventory_count",
            "in_stock",
            "quantity_in_stock",
            "quantity_available",
            "available_quantity",
            "available",
            "on_hand",
            "quantity",
            "qty",
        ),
    ),
    (("price", "cost", "unitprice"), ("price", "unit_price", "cost", "unit_cost", "amount")),
    (
        ("total", "ordertotal", "amount", "totalamount", "ordervalue", "value"),
        ("total", "order_total", "total_amount", "grand_total", "total_price", "amount"),
    ),
    (("balance", "accountbalance"), ("balance", "account_balance", "cash_balance")),
    (("quantity", "count"), ("quantity", "qty", "count")),
    (
        ("tier", "level", "plan", "membership"),
        ("tier", "level", "plan", "membership", "membership_tier", "loyalty_tier"),
    ),
    (("name", "title"), ("name", "title")),
)


@cache
def past_forms(verb: str) -> frozenset[str]:
    if verb in IRREGULAR_PAST:
        return frozenset(IRREGULAR_PAST[verb])
    if verb.endswith("e"):
        return frozenset({verb + "d"})
    if re.search(r"[^aeiou]y$", verb):
        return frozenset({verb[:-1] + "ied"})
    return frozenset({verb + "ed"}) | {doubled + "ed" for doubled in _doubled(verb)}


@cache
def gerunds(verb: str) -> frozenset[str]:
    if verb.endswith("e") and not verb.endswith("ee"):
        return frozenset({verb[:-1] + "ing"})
    return frozenset({verb + "ing"}) | {doubled + "ing" for doubled in _doubled(verb)}


@cache
def action_nouns(verb: str) -> frozenset[str]:
    """Nouns that name the doing of it: `cancellation`, `approval`, `booking`, and the verb itself
    (`refund`).
    """
    bare = verb[:-1] if verb.endswith("e") else verb
    made = {bare + "ation", bare + "ion", verb + "ment", bare + "al", verb, *gerunds(verb)}
    if verb.endswith("y"):
        made.add(verb[:-1] + "ication")
    made |= set(IRREGULAR_NOUNS.get(verb, ()))
    return frozenset(made | {plural(noun) for noun in made})


@cache
def verb_forms(verb: str) -> frozenset[str]:
    """Every inflection of a verb: what `return~` in a pattern stands for."""
    return frozenset({verb, plural(verb)}) | past_forms(verb) | gerunds(verb)


@cache
def all_forms(verb: str) -> frozenset[str]:
    """Everything a sentence may call the doing of a verb."""
    return verb_forms(verb) | action_nouns(verb) | parted_forms(verb)


@cache
def forms_of_all(verbs: frozenset[str]) -> frozenset[str]:
    return frozenset(form for verb in verbs for form in verb_forms(verb) | action_nouns(verb))


@cache
def parted_forms(verb: str) -> frozenset[str]:
    """`checked out`, `logging in`: forms of a verb that names write as one word."""
    whole = verb.replace("_", "")
    for particle in ("out", "in", "up", "off", "over"):
        base = whole.removesuffix(particle)
        if base != whole and base in _PARTED:
            return frozenset(f"{form} {particle}" for form in verb_forms(base))
    return frozenset()


_PARTED = word_set("check log sign pick hand top look")


def _doubled(verb: str) -> set[str]:
    return {verb + verb[-1]} if re.search(r"[aeiou][bdglmnprt]$", verb) else set()


_SUFFIXES = (
    "ications",
    "ication",
    "ations",
    "ation",
    "ments",
    "ment",
    "eries",
    "ery",
    "ings",
    "ing",
    "ions",
    "ion",
    "als",
    "al",
    "ies",
    "ed",
    "es",
    "s",
    "e",
    "y",
)
_STEMS = {"paid": "pay", "sent": "send", "sold": "sell", "bought": "buy", "made": "mak", "expiry": "expir"}


@cache
def stem(word: str) -> str:
    """A crude stem, the same for `shipped`, `shipping`, `shipment`; only ever compared with another stem."""
    if word in _STEMS:
        return _STEMS[word]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sle" else word


# Amounts that one argument is often measured against another by name alone.
COMPARED = word_set("total subtotal amount balance stock price quantity limit")


def parts(name: str) -> tuple[str, ...]:
    return words_of(name)


def snake(words: str) -> str:
    return "_".join(words_of(words))
