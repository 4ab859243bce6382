"""What only the service would say: offers, reports of what it did, the person's own things as "yours"."""

import re

from pipelines.core.english.words import word_set
from pipelines.core.persona.talk import USER, Talk
from pipelines.core.verdict.words.speech import sentences

_OFFERS = re.compile(
    r"\bhow (?:can|may|could) i (?:help|assist|be of)\b"
    r"|\b(?:anything|something) else (?:that )?(?:i|we) can (?:help|assist|do)\b"
    r"|\b(?:i(?:'d| would) be|i(?:'m| am)) (?:happy|glad) to (?:help|assist) you\b"
    r"|\b(?:thank you|thanks) for (?:contacting|reaching out|calling|choosing|your (?:patience|order|booking|"
    r"reservation|purchase|business|interest|enquiry|inquiry|request|application|custom|loyalty))\b"
    r"|\b(?:we|i) apologi[sz]e for (?:the|any) (?:inconvenience|delay)\b"
    r"|\b(?:for|to) you,? (?:sir|madam|valued customer)\b|\bdear (?:customer|user|guest)\b"
    r"|\bi(?:'m| am) (?:an? |the |your )?(?:ai|virtual|support|customer (?:service|support)|service)"
    r" (?:assistant|agent|representative|team)\b",
    re.IGNORECASE,
)
_SERVES = re.compile(
    r"\b(?:i|we)(?:'ve| have|'ll| will|'m going to| am going to| can)?"
    r"(?: (?:now|just|already|successfully|go ahead and)){0,3}"
    r" (?:process|refund|cancel(?:l)?|issue|credit|escalate|ship|update|reset|transfer|book|approve|arrange|"
    r"initiate|look up|locate|pull up)(?:e?d|ing|s)?(?: up)? your\b",
    re.IGNORECASE,
)
# With "for you" only what services do: a person may well "check that for you", or "wait for you".
_SERVES_YOU = re.compile(
    r"\b(?:i|we)(?:'ve| have|'ll| will|'m going to| am going to|'re going to| are going to| can| could)"
    r"(?: (?:now|just|already|also|gladly|successfully|go ahead and)){0,3}"
    r" (?:process|refund|cancel(?:l)?|issue|credit|escalate|ship|reset|book|reserve|approve|arrange|schedul|"
    r"initiate|order|register|deliver|rebook|re-?issue)(?:e?d|e)?\b[^.?!]{0,60}\bfor you\b",
    re.IGNORECASE,
)
# "We can have your coat ready", "I've put your bike down for Monday".
_DOES_WITH_YOURS = re.compile(
    r"\b(?:i|we)(?:'ve| have|'ll| will| can| could|'re going to| are going to|'m going to| am going to)\b"
    r"[^.?!]{0,60}?\byour (?:\w+ ){0,2}?(?P<thing>[a-z]{3,})\b(?! \w+(?:ment|team|desk)\b)",
    re.IGNORECASE,
)
_POSSESSED = re.compile(
    r"(?:\b(?:my|her|his|their|our)|\b[A-Z]\w+'s) "
    r"((?:(?!(?:is|was|are|were|has|had|and|or|to|on|in|at|for|from|of|with|by|be|as|that|will|would|can)\b)[a-z]{3,}"
    r"(?: |\b)){1,3})"
)
_YOURS = re.compile(r"\byour (?:\w+ ){0,2}?([A-Za-z]{3,})\b")
#: Things that either side has, or that the service sends and the person gets.
_EITHER_SIDES = word_set(
    "name names number phone telephone address email mail details contact bill invoice quote offer letter "
    "message answer reply price contract policy website app delivery parcel product service team office shop "
    "store company firm staff people driver colleague help time way part side end own call place order "
    "account"
)
_THEIRS = (
    r"(?:application|request|order|booking|reservation|refund|claim|case|ticket|permit|account|reference|"
    r"payment|appointment|subscription|complaint)"
)
_HANDLES = re.compile(
    rf"\byour {_THEIRS}s? (?:will be|has been|have been|is being|was|is now|is)"
    r" (?:process|refund|cancel|approv|review|complet|confirm|book|updat|clos|submitt|register|schedul)\w*"
    rf"|\bi(?:'ll| will)? (?:just |also |only )?need your (?:\w+ )?{_THEIRS}\b"
    rf"|\b(?:could|can|would) you (?:please )?(?:provide|share|tell me|confirm) your (?:\w+ )?{_THEIRS}\b"
    r"|\bwe(?:'ll| will) let you know\b",
    re.IGNORECASE,
)
_LET_ME = re.compile(
    r"\blet me (?:check|look|pull|process|verify|see what i can do|transfer|get)\b[^.?!]{0,60}\bfor you\b",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"^\W{0,4}(?:agent|assistant|support|service|representative|bot|ai|system)\W{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)


def service_words_in(message: str, talk: Talk) -> str | None:
    """The words of the service, as they stand in the user's message."""
    for pattern in (_LABELLED, _OFFERS, _SERVES, _SERVES_YOU, _HANDLES, _LET_ME):
        match = pattern.search(message)
        if match is not None:
            return match[0].strip()
    return _own_things_as_yours(message, talk)


def _own_things_as_yours(message: str, talk: Talk) -> str | None:
    """ "We can have your coat ready": the coat is the person's own, so somebody else is speaking."""
    mine = _own_things(talk)
    for sentence in sentences(message):
        if "?" in sentence:  # "what is your address?" is anybody's question
            continue
        for match in _DOES_WITH_YOURS.finditer(sentence):
            if match["thing"].lower() in mine:
                return match[0].strip()
    return None


def _own_things(talk: Talk) -> set[str]:
    """Nouns that belong to the person: "my coat", in a fact "her winter coat". Not what they call "yours"."""
    user_texts = [talk.opening, *(line.text for line in talk.lines if line.by == USER)]
    texts = [*user_texts, *(fact.text for fact in talk.facts)]
    owned = {word.lower() for text in texts for words in _POSSESSED.findall(text) for word in words.split()}
    theirs = {word.lower() for text in user_texts for word in _YOURS.findall(text)}
    return owned - theirs - _EITHER_SIDES
