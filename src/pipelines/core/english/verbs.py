"""Verbs as tools and their descriptions use them: which are nouns as often, which are said in two words,
what they make, and to which states of records they lead."""

from pipelines.core.english.words import rows, word_set

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

#: Verbs of two words, by the one word that they stand for.
VERB_PAIRS = {
    (verb, particle): meant
    for meant, pairs in {
        "login": "log in, sign in, sign on",
        "logout": "log out, sign out",
        "register": "sign up",
        "check_in": "check in, clock in",
        "check_out": "check out, clock out",
        "handoff": "hand off, hand over",
        "lookup": "look up",
        "sum": "add up",
        "calculate": "work out, figure out",
        "find": "find out",
        "topup": "top up",
        "create": "set up, spin up, stand up, draw up, write up",
        "enable": "turn on, switch on, opt in, power on, put on, plug on",
        "disable": "turn off, switch off, opt out, power off, shut off",
        "start": "boot up, fire up",
        "stop": "shut down, power down, wind down, spin down, tear down, take down, bring down",
        "cancel": "call off, break off, give up, back out, pull out, drop out",
        "postpone": "put off, hold off",
        "return": "give back, send back, bring back, hand back, take back",
        "approve": "sign off",
        "reject": "turn down, vote down",
        "complete": "carry out, finish up, wrap up",
        "issue": "hand out, give out, lend out, loan out, rent out",
        "submit": "hand in, turn in, send in, put in",
        "terminate": "lay off, let go",
        "waive": "write off",
        "settle": "pay off",
        "pay": "pay out",
        "retire": "phase out",
        "rollback": "roll back",
        "deploy": "roll out",
        "pick": "pick up",
        "deliver": "drop off",
        "claim": "take over",
        "accept": "take on",
        "remove": "take out, take off, cross off",
        "fill": "fill in",
        "reschedule": "bring forward, move up, push back",
        "request": "ask for",
        "apply": "apply for",
    }.items()
    for verb, particle in rows(pairs)
}

# What some verbs make of what they are given: reserve_book(book_id) makes a reservation.
MADE_BY = dict(
    rows(
        "reserve reservation, book booking, order order, rate rating, review review, comment comment, "
        "reply reply, subscribe subscription, enroll enrollment, enrol enrolment, "
        "register registration, purchase purchase, buy purchase, apply application, request request, "
        "invite invitation, assess assessment, hire hire"
    )
)

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
    verb: tuple(states)
    for verb, *states in rows(
        "reopen open reopened, resume active resumed running, activate active activated, "
        "reactivate active, deactivate inactive deactivated, enable enabled active running on, "
        "disable disabled inactive stopped off, start in_progress started running active, "
        "begin in_progress started, finish completed finished done, "
        "complete completed complete done, end ended completed closed, stop stopped inactive, "
        "halt halted stopped inactive, hold on_hold held, unblock active unblocked, "
        "unlock active unlocked, unfreeze active, restore active restored, "
        "terminate terminated inactive, check_in checked_in, check_out checked_out, "
        "borrow borrowed checked_out on_loan, decline declined rejected, deny denied rejected, "
        "settle settled paid, fulfil fulfilled, rollback rolled_back"
    )
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
