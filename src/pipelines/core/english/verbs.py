"""Verbs as tools and their descriptions use them: which are nouns as often, which are said in two words,
what they make. What a verb asks of a backend is not decided here."""

from pipelines.core.english.words import word_set

# Nouns as often as verbs: taken as the verb only where no plainer verb stands in the name.
OFTEN_NOUNS = word_set(
    "order book post message text email call contact file record log store review rate comment reply "
    "tweet match test view schedule request issue return transfer exchange quote query search list count "
    "head tail draft copy plan reason tag label charge credit debit wire fund deposit refund claim hold "
    "release flag update change plus note sort set address start end top track check reserve lock display "
    "fill press mark export import upload download mean sum average round estimate like file process "
    "switch alert sms board mention preview purchase report deposit print recharge ping touch has is can "
    "ship pick pack cat apply block pay see does"
)

# At the beginning of a name or a sentence these are as often things, or what things are like: order_total,
# "Order status of …", open_tickets.
LEADING_NOUNS = word_set(
    "order book post message text email call contact file record log store review rate comment reply tweet "
    "match test schedule request issue return transfer exchange quote draft copy plan reason tag label "
    "charge credit debit wire fund deposit refund claim hold release flag note address top lock report "
    "purchase board process pick pack block open close complete clear free void start end like alert sms "
    "mention recharge rollback "
    "head tail query list view track export import upload download mean sum average round "
    "estimate print cat preview display switch fill press mark reserve work hire sign seal"
)

# Of the same kind, but without a plural: "Frees the seat" is about doing it.
ADJECTIVES = word_set("open close complete clear free void")

#: Values of something: "Refund amount for the items" names one, and refunds nothing.
VALUES = word_set(
    "amount amounts limit limits cost costs fee fees price prices due slip level levels points window policy "
    "status balance date time period quota total rate rates rules options"
)

# At the end of a name these are things, not verbs: shelve_book, print_order.
THINGS = word_set(
    "order book post message text email call contact file record log store review comment reply tweet note "
    "plan charge fund deposit claim board draft label tag flag address request issue schedule quote sum mean "
    "reason purchase report process refund"
)

# What people do to things that are not their own: of two ids one is not the owner's of the other.
DONE_TO_OTHERS = word_set(
    "like unlike dislike follow unfollow upvote downvote vote rate review comment reply share bookmark "
    "favorite favourite star watch report flag react endorse recommend apply bid join attend rsvp subscribe "
    "unsubscribe borrow lend rent book reserve buy purchase order request claim donate pledge nominate "
    "invite mention message contact visit enroll enrol register rsvp adopt sponsor support tip back"
)

VERB_PAIRS = {
    ("log", "in"): "login",
    ("sign", "in"): "login",
    ("log", "out"): "logout",
    ("sign", "out"): "logout",
    ("sign", "up"): "register",
    ("check", "in"): "check_in",
    ("check", "out"): "check_out",
    ("hand", "off"): "handoff",
    ("hand", "over"): "handoff",
    ("look", "up"): "lookup",
    ("add", "up"): "sum",
    ("work", "out"): "calculate",
    ("figure", "out"): "calculate",
    ("find", "out"): "find",
    ("top", "up"): "topup",
    ("set", "up"): "create",
    ("turn", "on"): "enable",
    ("turn", "off"): "disable",
    ("switch", "on"): "enable",
    ("switch", "off"): "disable",
    ("opt", "in"): "enable",
    ("opt", "out"): "disable",
    **{(verb, "on"): "enable" for verb in ("power", "put", "plug")},
    **{(verb, "off"): "disable" for verb in ("power", "shut")},
    **{(verb, "up"): "start" for verb in ("boot", "fire")},
    **{(verb, "up"): "create" for verb in ("spin", "stand", "draw", "write")},
    **{(verb, "down"): "stop" for verb in ("shut", "power", "wind", "spin", "tear", "take", "bring")},
    **{(verb, "off"): "cancel" for verb in ("call", "break")},
    **{(verb, "up"): "cancel" for verb in ("give",)},
    **{(verb, "out"): "cancel" for verb in ("back", "pull", "drop")},
    **{(verb, "off"): "postpone" for verb in ("put", "hold")},
    **{(verb, "back"): "return" for verb in ("give", "send", "bring", "hand", "take")},
    **{(verb, "off"): "approve" for verb in ("sign",)},
    **{(verb, "down"): "reject" for verb in ("turn", "vote")},
    **{(verb, "out"): "complete" for verb in ("carry",)},
    **{(verb, "up"): "complete" for verb in ("finish", "wrap")},
    **{(verb, "out"): "issue" for verb in ("hand", "give", "lend", "loan", "rent")},
    **{(verb, "in"): "submit" for verb in ("hand", "turn", "send", "put")},
    ("lay", "off"): "terminate",
    ("let", "go"): "terminate",
    ("write", "off"): "waive",
    ("pay", "off"): "settle",
    ("pay", "out"): "pay",
    ("phase", "out"): "retire",
    ("roll", "back"): "rollback",
    ("roll", "out"): "deploy",
    ("clock", "in"): "check_in",
    ("clock", "out"): "check_out",
    ("pick", "up"): "pick",
    ("drop", "off"): "deliver",
    ("take", "over"): "claim",
    ("take", "on"): "accept",
    ("take", "out"): "remove",
    ("take", "off"): "remove",
    ("cross", "off"): "remove",
    ("fill", "in"): "fill",
    ("bring", "forward"): "reschedule",
    ("move", "up"): "reschedule",
    ("push", "back"): "reschedule",
    ("sign", "on"): "login",
    ("ask", "for"): "request",
    ("apply", "for"): "apply",
}

# What some verbs make of what they are given: reserve_book(book_id) makes a reservation.
MADE_BY = {
    "reserve": "reservation",
    "book": "booking",
    "order": "order",
    "rate": "rating",
    "review": "review",
    "comment": "comment",
    "reply": "reply",
    "subscribe": "subscription",
    "enroll": "enrollment",
    "enrol": "enrolment",
    "register": "registration",
    "purchase": "purchase",
    "buy": "purchase",
    "apply": "application",
    "request": "request",
    "invite": "invitation",
    "assess": "assessment",
    "hire": "hire",
}

#: They say that something is done, and not what.
VAGUE = word_set(
    "run do process handle execute perform trigger manage sync resync synchronize synchronise reconcile "
    "rebuild refresh apply maintain operate kick invoke reindex batch tidy cleanup housekeep"
)
#: Verbs of descriptions that no tool is called by: they tell something, or do something.
TELLING = word_set(
    "return give tell say explain answer report provide list look compare indicate reveal output yield "
    "present expose render gather collect identify work know examine"
)
DOING = word_set(
    "put take make enter lend mark set let move give pay hand bring keep free sell charge turn add open "
    "place transfer exchange hold release flag assign enrol undo prolong cut lift shorten lengthen grant "
    "refuse tick stamp write note credit debit reserve book order sign"
)
