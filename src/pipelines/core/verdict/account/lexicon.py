"""Words by what they do in an answer. A word of no list says something about the backend."""

import re

from pipelines.core.english.dates import MONTHS
from pipelines.core.english.inflection import all_forms
from pipelines.core.english.stems import stem
from pipelines.core.english.words import word_set


def _stems(words: str) -> frozenset[str]:
    """Of each word, and of what it becomes as a verb: `mention` and `mentioned` have not the same stem."""
    return frozenset(stem(form) for word in words.split() for form in (word, *all_forms(word)))


#: They carry a statement and add nothing to it.
FUNCTION = word_set(
    "a an the this that these those it its it's i i'm i've i'll i'd we we've we're we'll we'd me my our "
    "us you you're you've you'll you'd your yours he he's she she's they they're they've they'll them "
    "their his her him hers who who's whose whom which what what's that's there there's here here's it'll "
    "it'd is are was were be been being am do does did has have had having and or but so then to of for "
    "from in into on onto at by with as if when where how than via about regarding concerning up out over "
    "through per will would could should can may might must shall let's let also too just now currently "
    "already still yet mr mrs ms dr sir madam namely therefore thus hence yes right indeed accordingly "
    "meanwhile while whether such itself themselves yourself yourselves myself one ones however though "
    "although since because pm ok okay well very really quite actually exactly simply basically directly "
    "x oh ah i.e e.g etc why plus under off back down away along ahead around moment again far straight "
    "anyone someone somebody everyone together altogether ago present way point much many between among "
    "during soon long top besides afterwards little bit roughly nearly almost approximately meaning "
    "heads-up single there'd utc"
)
#: How one says a thing, whatever it is.
MANNER = word_set(
    "unfortunately sadly regrettably luckily happily fortunately afraid sorry gladly please kindly able "
    "possible allowed unable anymore any glance everything anything something worked works work nicely "
    "smoothly successfully promptly quickly immediately officially need needs needed tried try trying "
    "want wants wanted like looks seems simply only-just so-far course certainly absolutely sure matter "
    "happens reason managed instruction good luck fresh usual"
)
#: Words of one who reports, on no record.
REPORTS = _stems(
    "understand regret anticipate handle obtain money show say state list read see find found detail "
    "details summary overview reference ref number no id record records file system info information note "
    "result entry new current requested request success following below look looked check checked review "
    "reviewed search searched thing things name called named mark marked step breakdown recap policy rule "
    "rules know tell told mention ask asked status account message order kind type receipt get got go "
    "goes come comes make makes made put use used include includes keep keeps kept set give gives given"
)
#: They say of a value that it is so; without one they say nothing that could be looked up.
BEING = _stems(
    "stay stays remain stand stands stood sit sitting hold holds leave leaves bring brings cost costs pay "
    "pays total amount worth expect expected schedule scheduled plan planned date dates dated take takes "
    "took place fall falls run runs start starts begin begins end ends last show move moves arrive cover "
    "covers consist consists contain contains seat seats measure weigh fetch"
)
#: What one says to a person, and of no record.
COURTESY = _stems(
    "lucky timing fun hi hello hey dear thanks thank welcome sorry apologies apologize apologise regret "
    "unfortunately afraid sadly glad happy pleased delighted gladly great good nice lovely wonderful "
    "excellent perfect super cheers congratulations congrats wish wishes wishing hope enjoy luck safe "
    "travels trip day weekend evening morning afternoon night week care soon best regards kind warm "
    "warmly sincerely patience understand understanding appreciate hear help assist support anything "
    "something else question questions concern concerns hesitate reach contact feel free know let please "
    "sure certainly absolutely course inconvenience frustrating frustration trouble bother disappointing "
    "disappointed annoying message messaging writing touch asking ask reaching getting back news worry "
    "worries pleasure relax rest easy bye goodbye further more other another need want like any time "
    "anytime moment looking forward seeing hearing quick tip hand hands fingers crossed understandable "
    "tough assistance amazing fantastic tuned hang love loved taste choice excited exciting checking "
    "ahead planning letting enquiry inquiry request kindly truly deeply situation disappoint done all set "
    "problem confirm proceed option options consider"
)
#: They count, compare, limit or turn what is said: true only if that was looked up.
LOGIC = word_set(
    "only all every each none nobody both either neither first last most least cheapest cheaper more less "
    "fewer same different other another extra additional instead rather except without before after until "
    "till unless within once always never ever twice half full fully entirely partly partially whole rest "
    "remaining early earlier late later sooner longer no not nothing nor cannot further else next past "
    "beyond above behind left due"
)
DENIALS = word_set(
    "no not never none nothing nobody neither nor cannot without unable isn't aren't wasn't weren't don't "
    "doesn't didn't can't couldn't won't wouldn't hasn't haven't hadn't shouldn't mustn't"
)
PAST = word_set(
    "was were old previous previously originally original from instead before earlier formerly former "
    "used had last rather than"
)
#: What is asked for or given in money; a number that stands beside one is of a field that is called so.
MONEY = _stems(
    "fee fees charge charged cost price refund refunded deposit discount balance total credit tip tax "
    "fine penalty surcharge shipping delivery premium rent salary commission interest bill voucher"
)
#: Names of what a thing costs that say no more than that.
COSTS = _stems("cost price total amount sum charge value")
UNTIL = word_set("until till by before latest deadline expires expiring through ends end")
FROM = word_set("from since starting beginning starts begins start begin")
UNTIL_FIELDS = _stems(
    "until end ends expires expiry expire due deadline exit return to by valid close last checkout out "
    "arrival"
)
FROM_FIELDS = _stems(
    "from start starts begin entry since checkin in pickup open taken created old previous run next "
    "depart departs departure date time slot"
)
#: One who is spoken of or to: with one of these, words before a colon are a statement of their own.
SUBJECTS = word_set(
    "i i've i'm i'll you you're you've you'll we we've we're it it's he she they there there's that's this"
)
UNITS = word_set(
    "day days hour hours minute minutes min mins week weeks month months year years night nights percent "
    "% euro euros pound pounds dollar dollars eur gbp usd cent cents pence km kg piece pieces item items "
    "unit units person people time times copies copy"
)
#: What a change makes of a value: a verb is true where the log has such a change.
ADDS = _stems(
    "book reserve order create open add register enrol enroll sign schedule arrange place file log submit "
    "record enter raise lodge set make issue buy purchase start"
)
MOVES = _stems("move shift reschedule change switch update adjust amend modify edit correct rebook set")
#: Said of a deed that has a name: `your refund was issued`.
CARRIES_OUT = _stems("process issue initiate complete submit make arrange execute confirm send apply")
LENGTHENS = _stems("extend prolong lengthen postpone delay defer later")
RAISES = _stems("raise increase bump lift up more higher")
LOWERS = _stems("lower reduce decrease cut drop less fewer")
#: Of a number that is worked out of others.
DIFFERENCE = word_set(
    "more less extra difference cheaper dearer save saves saving additional fewer apart gap top"
)
TOTAL = word_set("total altogether together combined sum overall all both totals totalling comes")
#: What is said of a call that the backend refused.
REFUSES = _stems(
    "turn turned down reject rejected decline declined refuse refused deny denied block blocked stop "
    "stopped fail failed accept accepted system"
)
HELPS = _stems("help assist")  # `I cannot help with that` declines, and says nothing of any record
APPROXIMATE = word_set(
    "about around roughly nearly almost little bit over under approximately circa some just"
)
#: How a rule binds, whatever it is about.
BINDS = word_set(
    "require requires required need needs must allow allows allowed permit permits permitted let lets can "
    "may only have has possible works apply applies goes take takes given accept accepts"
)
NEAR_DAYS = word_set("today tonight tomorrow yesterday")
PARTS_OF_DAY = {
    "morning": (0, 12),
    "noon": (12, 13),
    "afternoon": (12, 18),
    "evening": (17, 24),
    "night": (20, 24),
}
WEEKDAYS = {
    name: at
    for at, name in enumerate(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
}
# What the agent does not know is no statement.
UNKNOWING = re.compile(
    r"\b(?:i|we) (?:\w+ly )?(?:can't|cannot|couldn't|don't|do not|could not) "
    r"(?:tell|say|see|know|promise|judge)\b|\bi'm not (?:sure|able to (?:say|tell|see))\b"
    r"|\bi don't have (?:any )?(?:information|details|record)\b|^whether\b"
)
_NO_OFFER = r"not|confirm|see|say|tell|report|assure|hear"
OFFER = re.compile(
    r"\b(?:if (?:you|there)(?:'d|'re|'s| would| want| like| need| prefer| have| wish| change| is)"
    r"|should (?:you|that)|feel free|if anything|shout|would you like|shall i|don't hesitate"
    r"|let me know (?:if|when|what|which|how|whether|should)|let me know$|i could|gladly|i'd be|tell me"
    r"|i'll (?:be happy|gladly|be glad|try|look|take)|if (?:another|a different|any other)|ask me"
    r"|just (?:say|tell|ask|let|message|reply|drop|shout|get|write)|here if|here to"
    rf"|(?:i|we) can (?:also )?(?!{_NO_OFFER})|(?:happy|glad) to (?!{_NO_OFFER}))\b"
)
# What is only supposed: what follows of it is looked at by itself.
SUPPOSES = re.compile(
    r"^(?:if|once|as soon as|as long as|when|whenever|should|in case|unless|assuming|until)\b"
)
# What the user told is taken up.
SYMPATHY = re.compile(
    r"\b(?:sorry|sad|glad|happy|great|good|nice|shame|pity) "
    r"(?:to hear|to see|about|for your|that you|the|you|your|it|this)\b"
)
ALL_DONE = re.compile(
    r"^(?:that's|that is|it's|this is|all|everything's|everything is|both|consider it)(?: now| all)* "
    r"(?:settled|sorted|done|arranged|set|in order|taken care of|resolved)\b"
)
WISH = re.compile(
    r"^(?:enjoy|have|good luck|best of luck|take care|wishing|i hope|hope|safe|happy|see you|get well"
    r"|all the best|sorry|i'm sorry|thank|thanks|glad)\b"
)
#: Of how many there are still: so where the number beside it is.
OF_REST = word_set("free available open vacant spare")
NUMBER_OF_MONTH = {name: number for number, name in enumerate(MONTHS, 1) if name != "may"}
