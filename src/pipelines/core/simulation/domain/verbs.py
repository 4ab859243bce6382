"""What verbs ask of a backend, as data."""

from pipelines.core.english.verbs import LEADING_NOUNS
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
_PLAIN = {verb: op for op, verbs in _VERBS_BY_OP.items() for verb in verbs.split()}
#: Likewise what undoes a change or does it again: unbook, reconnect.
OP_OF_VERB = {
    prefix + verb: "transition" if prefix == "un" else op
    for prefix in ("un", "re")
    for verb, op in _PLAIN.items()
    if op in ("create", "update", "transition") and not verb.startswith(("un", "re")) and "_" not in verb
    # A reorder and a remake are things; nobody speaks of an unbook.
    if prefix == "un" or verb not in LEADING_NOUNS | {"make"}
} | _PLAIN


def op_of(word: str) -> str | None:
    """Of a verb as it stands in a sentence: order, orders."""
    return OP_OF_VERB.get(word) or OP_OF_VERB.get(word.removesuffix("s"))


ARITHMETIC = word_set(
    "add subtract multiply divide mean sum average max min maximum minimum power square root sqrt "
    "absolute value values logarithm log percentage percent standard deviation median round number "
    "numbers modulo conversion convert unit imperial si factorial variance difference product quotient "
    "remainder"
)
