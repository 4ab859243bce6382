"""Words that rules take for nearly the same: verbs, nouns, fields."""

from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set

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

# Fields that say whose a record is, and arguments that say who calls, likeliest first.
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

# Nouns that stand for whatever a tool is about.
GENERIC_NOUNS = word_set(
    "record records entity entities entry entries result results row rows object objects element "
    "elements match matches item items request requests call calls ones"
)

# States that a thing may be in though no record shows it yet.
STATES = word_set(
    "pending open closed active inactive new paid unpaid sent draft final void lost overdue expired "
    "processing complete incomplete live available unavailable empty free negative positive zero public "
    "private internal premium gold silver bronze platinum vip basic standard admin frozen stale "
    "discontinued full"
)
PHRASED_STATES = (
    "out of stock",
    "in stock",
    "on hold",
    "in transit",
    "in progress",
    "past due",
    "sold out",
    "fully booked",
    "on sale",
)

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


# Amounts that one argument is often measured against another by name alone.
COMPARED = word_set("total subtotal amount balance stock price quantity limit")


def parts(name: str) -> tuple[str, ...]:
    return words_of(name)


def snake(words: str) -> str:
    return "_".join(words_of(words))
