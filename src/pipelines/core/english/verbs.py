"""Verbs as tools and their descriptions use them: which are nouns as often, which are said in two words,
what they make, and to which states of records they lead."""

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


#: Where a verb leads when its own participle is not a state that the records know; the likeliest first.
LEADS_TO = {
    verb: tuple(states.split())
    for verb, states in {
        "reopen": "open reopened",
        "resume": "active resumed running",
        "activate": "active activated",
        "reactivate": "active",
        "deactivate": "inactive deactivated",
        "enable": "enabled active running on",
        "disable": "disabled inactive stopped off",
        "start": "in_progress started running active",
        "begin": "in_progress started",
        "finish": "completed finished done",
        "complete": "completed complete done",
        "end": "ended completed closed",
        "stop": "stopped inactive",
        "halt": "halted stopped inactive",
        "hold": "on_hold held",
        "unblock": "active unblocked",
        "unlock": "active unlocked",
        "unfreeze": "active",
        "restore": "active restored",
        "terminate": "terminated inactive",
        "check_in": "checked_in",
        "check_out": "checked_out",
        "borrow": "borrowed checked_out on_loan",
        "decline": "declined rejected",
        "deny": "denied rejected",
        "settle": "settled paid",
        "fulfil": "fulfilled",
        "rollback": "rolled_back",
    }.items()
}
#: What is no longer so once the verb is done.
OPPOSITES = {
    verb: state
    for state, verbs in {
        "open": "close shut",
        "enabled": "disable",
        "running": "stop",
        "active": "deactivate suspend block revoke ban retire decommission terminate",
    }.items()
    for verb in verbs.split()
}
#: Verbs that undo a pause: back to whatever state the records work in.
BACK_TO_WORK = word_set(
    "resume activate reactivate unblock unlock unfreeze unsuspend restore reopen reinstate"
)
#: Verbs that take a state away; what they are said of is what is no longer so.
UNDOES = BACK_TO_WORK | word_set("release lift unban unarchive unflag unpublish restore revert undo")
PAUSES = word_set("suspend pause block lock freeze hold deactivate disable")
SWITCHES_OFF = word_set("disable deactivate stop close disconnect")
SWITCHES = word_set("enable disable activate deactivate start stop")
#: Said of a verb's object, they turn it round: "take off display".
OFF = word_set("off out no not remove stop release end disable revoke lift clear drop unset without never")
#: Nothing came of a record in one of these states, and nothing does any more.
DEAD = word_set("cancelled canceled rejected declined denied expired void voided terminated")
#: A record in one of these states is past being changed by most verbs.
FINAL = DEAD | word_set(
    "closed completed complete delivered refunded returned resolved archived executed filled done finished "
    "settled"
)
#: Nothing is outstanding any more, though some things may still be done.
OVER = FINAL | word_set("approved paid ended failed accepted")
#: Whoever or whatever is in one of these states is gone for good.
GONE = word_set("closed terminated archived retired withdrawn dissolved decommissioned deceased")
#: Verbs that every final state stands against.
STOPPED_BY_FINAL = word_set(
    "cancel approve reject decline deny ship dispatch confirm start pause hold suspend"
)
#: Verbs that are about dead records, too; all others are refused there.
AFTER_DEATH = BACK_TO_WORK | word_set(
    "refund archive unarchive delete remove return dispute void revoke rate review assess redo undo revert "
    "rollback renew escalate flag unflag close settle pin unpin star hide unhide mute like follow"
)
#: What a new record may be, the likeliest first.
_FIRST = "open pending new waiting active created planned scheduled confirmed booked requested submitted"
INITIAL = (*_FIRST.split(), "queued", "draft", "todo", "placed")
#: What is not over yet, and what is going on, of records whose own words for it are others.
GOING_ON = word_set("open pending outstanding unresolved unfinished upcoming waiting awaiting undecided todo")
UNTAKEN = word_set("orphan orphaned unattached unassigned unclaimed free vacant idle unowned")
LATE = word_set("overdue late past")
