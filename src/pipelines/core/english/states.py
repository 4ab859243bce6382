"""States of records as people name them: where a verb leads, what is over, what begins or goes on."""

from pipelines.core.english.words import word_set

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
