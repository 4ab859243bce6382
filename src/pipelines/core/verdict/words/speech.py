"""Splits what an agent said into sentences, clauses and content words.

Lexical only. An ambiguous sentence proves nothing, so that doubt leads to a review.
"""

import re
from functools import lru_cache

from pipelines.core.english.stems import stem
from pipelines.core.english.words import word_set

#: Each search holds the interpreter for as long as its text is. What is longer is left over, unread.
LONGEST_SENTENCE = 1_500
LONGEST_READ = 50_000  # characters of one answer; the contract cuts a final response there

_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "–": "-", "—": ";"})
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\b(?:no|dr|mr|ms|st|vs|fr|rs|nr|ca)\.)(?<!\b(?:mrs|etc|apt|inc|ltd)\.)(?<!\bprof\.)"
    r"[\"')\]]*\s+|\n+",
    re.IGNORECASE,
)
# Every pattern here is linear in the text. Spaces before a bullet end at the line: with `^\s*` each of many
# empty lines would look through all that follow it.
_MARKUP = re.compile(r"[*`]{1,3}|^[^\S\n]*(?:[-•]|\d{1,3}[.)])\s+|^[^\S\n]*#{1,6}\s+", re.MULTILINE)
#: `Flight 2:`, `Option 3 -`: a number of a list, which says nothing of the run.
_LIST_NUMBER = re.compile(
    r"^([^\S\n]*[A-Z][a-z]{1,20})[^\S\n]\d{1,2}(?=[^\S\n]*(?::|\)|[-–][^\S\n]|$))", re.MULTILINE
)
# Where a new statement begins that may have a sign of its own: "refunded 7002 but could not cancel 7001".
_CLAUSE_END = re.compile(
    r"\s*;\s*"
    r"|\s*,\s+(?:(?:and|but|so|then|however|although|though|while|yet)\s+)?"
    r"|\s+(?:but|however|although|though|whereas|while)\s+"
    r"|:\s+(?=(?:it|it's|its|i|i've|you|you're|we|the|your|there|this|that|he|she|they|his|her|their|our|no|nothing)\b)"
    r"|\s+and\s+(?=[a-z]{1,8}[-_]\w{1,12}\s+(?:is|was|has|were|are|remains|stays)\b)"
    r"|\s+because\s+"
    r"|\s+(?=if\s+(?:it|you|the|your|that|this|they|we|i)\b)"
    r"|\s+since\s+(?=(?:it|it's|i|you|you're|we|the|your|there|this|that|another|someone|he|she|they)\b)"
    r"|\s+and\s+(?=(?:then\s+|also\s+)?(?:[a-z]+ed|sent|paid|i|we|it|the|your|has|have|could|was|will|no|nothing"
    r"|you|you're|you'll|there|there's|this)\b)"
)
_WORD_CHARACTER = re.compile(r"\w")
_CONTRACTED = re.compile(r"n't$|'[a-z]+$")  # "they're", "hadn't", "Omar's"
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,64}")  # "anna@post.example" gives no example
_COURTESY = re.compile(r"\b(?:as (?:you )?(?:requested|asked|wanted)|(?:per|at|following) your request)\b")
# Words by which a clause does not plainly say that something was done: denials, conditions, wishes, rules.
_UNASSERTED = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|nor|neither|cannot|can|could|would|should|will|shall|may|might|must|if|whether|once"
    r"|when|whenever|until|unless|before|without|unable|fail(?:s|ed|ing)?|tr(?:y|ied|ying)|attempt(?:s|ed|ing)?"
    r"|want(?:s|ed)?|wish(?:es|ed)?|like|please|needs?|needed|requires?|ask(?:s|ed)?|request(?:s|ed)?|instead"
    r"|rather|supposed|expected|cases?|example|policy|policies|only|eligible|let|any|being)\b|n't\b|\?"
)
_STOP = word_set(
    "a an the this that these those it its i me my we us our you your he she they them their his her who "
    "whom whose which what is are was were be been being am do does did done doing have has had having will "
    "would shall should can could may might must not no nor and or but if then else so as at by for from in "
    "into of on onto off out over to up with without about after before since because due until unless while "
    "when where why how than too very just also already still yet only ever never again here there now such "
    "any all each every some other another own same more most less few much many per via both either neither "
    "one once however therefore thus hence although though even really simply please sorry apologies "
    "apologize unfortunately regret afraid thank thanks hello hi dear sure ok okay yes let know feel "
    "anything something else help assist assistance able unable allow allowed allows permit permitted "
    "permits possible cannot can't won't don't doesn't isn't aren't wasn't couldn't i'm i've you're we're "
    "it's that's you've we've i'll haven't hasn't didn't wouldn't decline declined refuse refused reject "
    "rejected rejects deny denied request requested ask asked want wanted like need needs process processed "
    "proceed complete completed action behalf tool tools system response result results return returns "
    "returned call calls "
    "succeed succeeds success fail fails failed error errors code status state field value record records "
    "otherwise given within policy policies rule rules reason reasons according current currently specific "
    "make made makes making get got gets go going id ids number"
)


def plain(text: str) -> str:
    """Straight quotes, no markup, at most LONGEST_READ characters."""
    bare = _MARKUP.sub(" ", text[:LONGEST_READ].translate(_QUOTES))
    return _LIST_NUMBER.sub(r"\1", bare)


@lru_cache(maxsize=64)  # several checks read the turns of one run after another
def sentences(text: str) -> tuple[str, ...]:
    """Without markup and doubled spaces, otherwise as written; of an endless one no more than shows that."""
    pieces = (piece for piece in _SENTENCE_END.split(plain(text)) if piece and _WORD_CHARACTER.search(piece))
    return tuple(" ".join(piece.split())[: LONGEST_SENTENCE + 1] for piece in pieces)


@lru_cache(maxsize=512)
def clauses(sentence: str) -> tuple[str, ...]:
    """The statements of a sentence, in lower case."""
    single_spaced = " ".join(
        sentence.lower().split()
    )  # a run of spaces is otherwise searched from each of them
    return tuple(piece for piece in _CLAUSE_END.split(single_spaced) if piece and piece.strip())


def is_asserted(clause: str) -> bool:
    """Whether a clause plainly says that something is so: no denial, condition, wish, rule or question."""
    return _UNASSERTED.search(_ADDRESS.sub(" ", _COURTESY.sub(" ", clause))) is None


def content_words(text: str) -> list[tuple[str, str]]:
    """The words that carry meaning, each with its stem; no numbers."""
    found = re.findall(r"[a-z]+(?:'[a-z]+)?", text.translate(_QUOTES).lower())
    bare = dict.fromkeys(_CONTRACTED.sub("", word) for word in found if word not in _STOP)
    return [(word, stem(word)) for word in bare if word not in _STOP and len(word) > 1]


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words that carry meaning, numbers included."""
    plainer = text.translate(_QUOTES).replace("_", " ").lower()
    found = re.findall(r"[a-z]+(?:'[a-z]+)?|\d+(?:\.\d+)?", plainer)
    found += [
        joined.replace("-", "") for joined in re.findall(r"\b[a-z]{1,30}-[a-z]{1,30}\b", plainer)
    ]  # `call-back`
    bare = (_CONTRACTED.sub("", word) for word in found if word not in _STOP)
    return frozenset(stem(word) for word in bare if word not in _STOP and (len(word) > 1 or word.isdigit()))
