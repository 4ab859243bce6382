"""Sentences that say that there is nothing out of the ordinary."""

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior.reader.cursor import Cursor

_SUBJECTS = word_set("all the every tools tool calls everything")
_VERBS = word_set("succeed succeeds work works behave behaves respond responds")
_MANNERS = word_set("normally always as expected usual normal documented fine")
_NOTHING = (
    "no special rules", "no special behavior", "no special behaviour", "no additional rules",
    "no extra rules", "no other rules", "no specific rules", "no special rules apply", "none", "n / a",
    "default behavior", "default behaviour", "standard behavior", "standard behaviour",
)  # fmt: skip


def says_nothing_special(cursor: Cursor) -> bool:
    """`All tools succeed`, `Tools behave normally`, `No special rules`."""
    if cursor.after(0, *_NOTHING) == cursor.end:
        return True
    said = cursor.lows
    subject = cursor.past(0, _SUBJECTS)
    return (
        0 < subject < cursor.end
        and said[subject - 1] in ("tools", "tool", "calls", "everything")
        and cursor.low(cursor.past(subject, _MANNERS)) in _VERBS
        and cursor.past(subject, _MANNERS | _VERBS) == cursor.end
    )
