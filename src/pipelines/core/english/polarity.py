"""Whether something is said or denied: "not paid", "nobody has reviewed", "cancelled ones left out"."""

from collections.abc import Sequence

from pipelines.core.english.words import word_set

NOBODY = word_set("nobody nothing none noone anybody anyone anything")
_DENIALS = NOBODY | word_set(
    "not no never without cannot lacking lack missing except excluding hasn't haven't isn't aren't wasn't "
    "weren't doesn't don't didn't can't unless"
)
_STILL = word_set("still yet waiting awaiting remaining left")
_LEFT_OUT = word_set("excluded omitted ignored skipped hidden excepted")
_REACH = 4  # words between a denial and what it denies: "have not yet been paid"


def is_denied(words: Sequence[str], at: int) -> bool:
    """Of the word at this place in a clause."""
    before = words[max(0, at - _REACH) : at]
    if any(word in _DENIALS for word in before):
        return True
    if "to" in before and any(word in _STILL for word in before):  # "still to be met"
        return True
    after = words[at + 1 : at + 1 + _REACH]
    if NOBODY & {*after[:2]}:  # "attached to nothing"
        return True
    return any(word in _LEFT_OUT for word in after) or {"left", "out"} <= {*after}


def without_denial(word: str) -> str | None:
    """`unpaid` → paid; None where nothing is denied by the word itself."""
    for prefix in ("un", "non", "dis"):
        if word.startswith(prefix) and len(word) > len(prefix) + 3:
            return word[len(prefix) :]
    return None
