"""What verbs ask of a backend, as data: the lexicon behind reading tool names."""

from pipelines.core.english.words import word_set

# What a verb asks of a backend. Reads first, then what changes something.
_VERBS_BY_OP = {
    "get": "get fetch read show view retrieve lookup describe inspect display load see pull obtain export "
    "download preview track print cat tail head whoami summarize summarise explain peek watch monitor",
    "list": "list browse enumerate ls",
    "search": "search find query filter match discover explore grep recommend suggest locate",
    "check": "check verify is has can validate confirm_if test does exists compare are was should may could "
    "must will would did needs audit ask diff",
    "count": "count tally",
    "compute": "calculate compute evaluate estimate convert add_numbers sum average mean subtract multiply "
    "divide round sqrt translate quote predict forecast simulate project analyze analyse rank diagnose "
    "detect classify aggregate calc determine",
    "create": "create add new make register insert place submit generate open book reserve schedule "
    "post publish issue start begin initiate enroll enrol raise file log record save "
    "store compose draft write upload import report invite purchase buy order request "
    "apply provision launch deploy clone copy duplicate comment reply tweet retweet "
    "mention touch mkdir subscribe assess rate review hire onboard admit lend dispense "
    "prescribe administer donate plant sow plan append",
    "notify": "send notify email message alert text sms call ping remind broadcast contact announce",
    "update": "update modify edit change set rename adjust amend correct patch replace alter revise "
    "configure resize rescale repoint rekey rotate extend reschedule move mv assign "
    "reassign transfer_ownership upgrade downgrade swap exchange reset increase decrease "
    "raise_limit customize tag label sort mark put upsert merge promote press fill refuel "
    "refill charge recharge top relocate postpone shift restock replenish reduce lower "
    "override adj upd chg mod enter allocate link unlink attach reprice prioritize "
    "prioritise deprioritize delegate reallocate redirect reroute rebook annotate bump "
    "advance delay appoint nominate split scale detach",
    "delete": "delete remove drop erase clear purge destroy discard rm rmdir unsubscribe unfollow unlike "
    "uninstall del strike expunge",
    "transition": "cancel close resolve approve reject complete finish finalize finalise archive "
    "unarchive suspend resume pause activate deactivate enable disable lock unlock block "
    "unblock ship deliver return refund confirm accept decline deny escalate reopen void "
    "dispatch fulfill fulfil expire release hold terminate end stop pick pack receive "
    "acknowledge claim abandon rollback revert restore freeze unfreeze flag unflag "
    "publish_draft unpublish verify_as disconnect connect check_in check_out checkin "
    "checkout board redeem revoke renew settle dismiss mute unmute follow like reboot "
    "restart toggle turn switch grant engage ignite waive discontinue reactivate "
    "reinstate withhold excuse dispute retire decommission ban unban halt admit discharge "
    "evict sign seal ratify veto quarantine recall requeue forfeit lapse vacate arm "
    "disarm certify adjourn unassign unsuspend ack unack snooze silence triage pin unpin "
    "star unstar defer expedite accredit exempt invalidate nullify overrule undo redo "
    "hide unhide sell sunset deprecate",
    "transfer": "transfer wire remit",
    "fund": "fund deposit credit topup",
    "withdraw": "withdraw debit pay spend",
    "login": "login signin authenticate logon",
    "logout": "logout signout logoff",
    "handoff": "handoff handover",
    "think": "think reflect reason",
}
READS = frozenset(("get", "list", "search", "check", "count", "compute", "think"))
OP_OF_VERB = {verb: op for op, verbs in _VERBS_BY_OP.items() for verb in verbs.split()}

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


ARITHMETIC = word_set(
    "add subtract multiply divide mean sum average max min maximum minimum power square root sqrt "
    "absolute value values logarithm log percentage percent standard deviation median round number "
    "numbers modulo conversion convert unit imperial si factorial variance difference product quotient "
    "remainder"
)


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

NOUN_OF_VERB = {
    "cancel": "cancellation",
    "resolve": "resolution",
    "approve": "approval",
    "reject": "rejection",
    "suspend": "suspension",
    "deliver": "delivery",
    "complete": "completion",
    "terminate": "termination",
    "escalate": "escalation",
    "close": "closure",
}
