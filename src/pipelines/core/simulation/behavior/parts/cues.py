"""Words that tell what a statement means, in any trade; and those that say nothing by themselves."""

from enum import StrEnum

from pipelines.core.english.words import word_set


class Cue(StrEnum):
    FORBID = "forbid"  # it is not done
    ALLOW = "allow"  # it can be done
    MUST = "must"  # something is needed
    ONLY = "only"
    WHEN = "when"  # a condition follows
    UNLESS = "unless"  # an exception follows
    NOT = "not"  # of what stands next to it
    NONE = "none"  # no such thing
    WITHOUT = "without"
    ABSENT = "absent"  # a value is not given
    DEFAULT = "default"
    OTHERWISE = "otherwise"  # what else holds, as it follows from the rule
    NEW = "new"
    BECOME = "become"
    MORE = "more"  # a number goes up
    LESS = "less"  # a number goes down
    CLEAR = "clear"  # a value is taken away
    LISTED = "listed"
    SORTED = "sorted"
    UNIQUE = "unique"
    ONCE = "once"
    EXEMPT = "exempt"  # what was just named is an exception
    OWN = "own"
    PAST = "past"  # a moment that is over
    FUTURE = "future"
    GIVE = "give"  # a value is told in the call


_PHRASES: dict[Cue, str] = {
    Cue.FORBID: (
        "can not|may not|must not|shall not|should not|could not|will not|would not|can never|"
        "may never|must never|can no longer|may no longer|can neither|may neither|is never|are never|"
        "is refused|are refused|is rejected|are rejected|is declined|are declined|is denied|"
        "are denied|is blocked|are blocked|is barred|are barred|is forbidden|are forbidden|"
        "is prohibited|are prohibited|is disallowed|is turned down|are turned down|is turned away|"
        "are turned away|is thrown out|are thrown out|is not possible|are not possible|is impossible|"
        "is not allowed|are not allowed|is not permitted|are not permitted|is not accepted|"
        "are not accepted|is not available|are not available|is not offered|are not offered|"
        "do not accept|does not accept|do not take|does not take|do not allow|does not allow|"
        "is invalid|are invalid|rejects|refuses|declines|fails|fail|reject|refuse|decline|denies|"
        "is off limits|are off limits|gets refused|get refused|gets rejected|get rejected|"
        "there is no way to|it is not possible to|is an error|are errors|results in an error|"
        "raises an error|is not eligible|are not eligible|is out of the question|are excluded|"
        "is excluded|is ruled out|are ruled out|is not supported|are not supported|refused|rejected|"
        "blocked from|barred from|excluded from|prevented from|forbidden|not permitted to|"
        "not allowed to|not entitled to|will be refused|will be rejected|will be declined|"
        "do not process|does not process|do not|is not to be|are not to be|have no right to|has no right to|"
        "is not entitled to|are not entitled to|refusal|a refusal"
    ),
    Cue.ALLOW: (
        "can|may|could|is possible|are possible|is allowed|are allowed|is permitted|are permitted|"
        "is accepted|are accepted|accepts|accept|works|work|succeeds|is available|are available|"
        "able to|free to|is offered|are offered|eligible for|eligible to|qualifies for|qualify for|"
        "takes|allows|allow|permits|goes through|is open to|are open to|is granted|are granted|go|"
        "goes"
    ),
    Cue.MUST: (
        "must|has to|have to|need to|needs to|needs|need|requires|require|is required|are required|"
        "is needed|are needed|is mandatory|are mandatory|is compulsory|is obligatory|is necessary|"
        "required|mandatory|compulsory|obligatory|calls for|call for|demands|ought to|shall|should|"
        "it takes|is expected to|are expected to|are to|is to"
    ),
    Cue.ONLY: (
        "only|solely|exclusively|nobody else|by no one else|nobody but|no one but|none but|"
        "and by no other|by no other|and no other|no other|no others|reserved for|restricted to|"
        "alone|just|but nobody else|but no one else|but not those of others|but not those of other people|"
        "but not those of other|but not those of another|but not other people"
    ),
    Cue.WHEN: (
        "if|when|whenever|while|as long as|so long as|once|after|where|provided that|provided|"
        "as soon as|in case|given that|in the event that|for as long as|the moment|in so far as|"
        "should there be"
    ),
    Cue.UNLESS: (
        "unless|before|except for|except when|except if|except that|except|until|till|other than|"
        "apart from|excluding|with the exception of|but not|up until"
    ),
    Cue.NOT: ("not|never|neither|nor|no longer|anything other than|anything but|hardly|isn't"),
    Cue.NONE: ("no|none of|none|nobody|nothing|zero"),
    Cue.WITHOUT: ("without|lacking|lacks|lack|missing|in the absence of|absent"),
    Cue.ABSENT: (
        "is not given|are not given|is not specified|is not stated|is not supplied|is not provided|"
        "is not set|is not passed|is not named|is not mentioned|is not chosen|is omitted|are omitted|"
        "is left out|are left out|is left blank|is left empty|is missing|is absent|is blank|is empty|"
        "leaves out|leave out|leaving out|left out|omitted|omit|omits|not specified|not given|"
        "unspecified|does not say|do not say|does not mention|does not specify|do not specify|"
        "does not state|does not name|does not give|do not give|do not mention|does not choose|"
        "do not choose|does not provide|does not include|says nothing about|say nothing about|"
        "states no|names no|gives no|is specified|is stated|is named|is supplied|is provided|"
        "is chosen|is asked for|is requested|is mentioned|says otherwise|told otherwise|"
        "stated otherwise|otherwise stated|otherwise specified|specified otherwise|"
        "otherwise requested|nobody is named|none is named|none is given|nothing is given|"
        "no one is named|asks for something else|another one is given|nothing else is"
    ),
    Cue.DEFAULT: (
        "defaults to|default to|by default|default|the default|is assumed|are assumed|is taken to be|"
        "are taken to be|is treated as|are treated as|falls back to|is filled in|is used|"
        "is understood to be|counts as|is considered|is presumed"
    ),
    Cue.OTHERWISE: (
        "otherwise|or else|after that|beyond that|later than that|from then on|before that|"
        "until then|above that|below that|outside that range|without one|without it|leaving it out|"
        "failing that|after which|anything else|everything else|everyone else|anyone else|"
        "anybody else|all others|any others|any other|in all other cases|in any other case|the rest|"
        "others|if not"
    ),
    Cue.NEW: (
        "new|newly|freshly|brand new|each new|every new|starts out|start out|starts life|starts|"
        "start|begins|begin|enters|enter|is created|are created|comes with|come with|is opened|"
        "are opened|always produces|produces|to begin with|initially|at first"
    ),
    Cue.BECOME: (
        "becomes|become|turns into|turns to|turns|turn|sets|set to|set|is set to|are set to|marks|"
        "mark|is marked|are marked|moves|moves to|goes back to|go back to|changes|changes to|"
        "switches|switches to|puts|puts back|sends|resets|reset|is then|leaves|flips|is moved to|"
        "returns to|is put|gets|makes|is filled with|is filled|are filled"
    ),
    Cue.MORE: (
        "increases|increase|raises|raise|adds|add|goes up|go up|rises|rise|is increased|is raised|"
        "is added to|are added to|is added|are added|grows|grow|counts up|is credited|credits|credit|"
        "lands in|tops up|gains|restores|gives back|goes back|go back|puts back|bumps"
    ),
    Cue.LESS: (
        "reduces|reduce|lowers|lower|decreases|decrease|deducts|deduct|subtracts|subtract|takes off|"
        "takes|take off|uses up|uses|is reduced|is lowered|is deducted|are deducted|is taken off|"
        "goes down|go down|drops|falls|is subtracted|comes off|consumes|costs one|debits|is debited|come off|"
        "are subtracted|are taken off|are debited|are subtracted from"
    ),
    Cue.CLEAR: ("clears|clear|empties|removes|takes away|is cleared|is removed|unsets|wipes"),
    Cue.LISTED: (
        "list|lists|listed|listing|is shown|are shown|shows|show|shown|appears|appear|turn up|"
        "turns up|is returned|are returned|returns|return|come back|comes back|include|includes|"
        "included|results|result|hands back|gives you|gives|you get|page|entries|entry|"
        "search results|is displayed|are displayed|displays|contains|contain|leaves out|leave out|"
        "is hidden|are hidden|hides|omits|is kept out of|are kept out of|is not included|"
        "are not included|are left out|is left out|skips|yields|yield|rows|row|leaves|are omitted|is omitted"
    ),
    Cue.SORTED: (
        "sorted|sorts|sort|ordered by|in order of|in the order of|order of|in the order|ranked|"
        "arranged|ascending|descending|alphabetical|alphabetically|first|on top|at the top|"
        "at the head|starting with|to the lowest|to the highest|down to|last|in order"
    ),
    Cue.UNIQUE: (
        "unique|must be unique|is unique|are unique|already exists|already in use|in use|on file|"
        "is taken|are taken|taken|known|used before|has been used|have been used|duplicate|"
        "duplicates|the same|same|share|shares|a different|of their own|of its own|distinct|"
        "identifies|twice the same|exists|registered with|is used|used by another"
    ),
    Cue.ONCE: (
        "once|only once|at most once|a single time|one time|a second time|second|twice|again|"
        "more than once|a further|repeatedly|one time only|just once"
    ),
    Cue.EXEMPT: (
        "excepted|exempt|is exempt|are exempt|exempted|are exempted|aside|are not affected|not included"
    ),
    Cue.OWN: ("own|themselves|himself|herself|their own|its own|theirs|belongs to|belong to|belongs|owner"),
    Cue.PAST: (
        "has passed|have passed|has gone by|have gone by|gone by|in the past|is over|are over|"
        "has expired|have expired|expired|lapsed|has lapsed|has run out|have run out|run out|is past|"
        "are past|has ended|have ended|has been reached|is behind us|has elapsed|passed|over"
    ),
    Cue.FUTURE: ("in the future|is still to come|lies ahead|yet to come"),
    Cue.GIVE: (
        "come with|comes with|state|states|stating|give|gives|giving|tell|tells|telling|provide|"
        "provides|providing|supply|supplies|name|names|naming|include|includes|specify|specifies|"
        "submit|pass|passes|enter|enters|accompanied by|carry|carries|contain|contains|be given|"
        "be stated|be provided|attach|mention|quote|with"
    ),
}

CUES: dict[tuple[str, ...], frozenset[Cue]] = {}
for _cue, _phrases in _PHRASES.items():
    for _phrase in map(str.split, _phrases.split("|")):
        CUES[tuple(_phrase)] = CUES.get(tuple(_phrase), frozenset()) | {_cue}
LONGEST_CUE = max(map(len, CUES))

#: Words that say nothing by themselves, whatever the world has.
NEUTRAL = word_set(
    "the a an this that these those it its they their them he she his her him you your yours we our "
    "us ours i me my of for to in on at by with from into as and or then there so be is are was were "
    "been being am has have had having do does did doing will would who whom whose which what "
    "whoever whatever anyone someone anybody somebody everybody everyone anything something i.e e.g "
    "namely also too still yet even always any every each all such same per through within anywhere "
    "across however therefore thus hence straight very far both either now currently presently "
    "immediately automatically directly simply here itself because onto via whichever how ever some "
    "actually really "
)
#: Words that say nothing where they stand for nothing in the world or the tools. Measured: a word
#: of content is here only where a sentence that is read right needs it to be; `together`, `whole`, `last` and
#: `total` were once, and each turned a rule into another.
LIGHT = word_set(
    "person people customer customers user users client clients caller callers parents staff api "
    "backend system server service platform endpoint tool call calls calling request requests "
    "requesting requested response attempt attempts attempting try tries trying asks asked made get "
    "gets take taken puts come comes going gone occur given time moment day date found reported "
    "recorded records noted stay stays keep holds run runs running falls using accepted carry "
    "sending sent leads starts places file further more additional another single items value number "
    "part type before after if up out off away over ones possible good money again new attached size "
    "length switched regardless optional boolean well award agency university reply case cases times "
    "point way ways days find finds deem deemed consider considered regard regarded see sees seen "
    "report mark marked flag flagged record note state stated tell tells told say says said name "
    "named lie lies lying sit sits stand stands stayed staying remain remains keeps kept hold held "
    "choose chooses chosen pick picks picked select selected carried carries bring brings brought "
    "thing things values field kind kinds sort sorts types data database details detail information "
    "info current present existing actual particular certain specific relevant respective concerned "
    "involved question able available valid want business company firm office house organisation "
    "organization shop store general principle "
)
