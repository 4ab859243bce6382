"""Words: of an identifier (`getOrderDetails`), singular and plural of one, and whether one is denied."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def rows(text: str) -> list[list[str]]:
    """A small table: "buy bought, come came come"."""
    return [row.split() for row in text.split(", ")]


ARTICLES = word_set("a an the this that these those its their")

_SMALL = r"[^\W\d_A-Z]"  # a letter: those of other alphabets begin no word within a word
_PARTS = re.compile(rf"[A-Z]+(?=[A-Z]{_SMALL})|[A-Z]?{_SMALL}+|[A-Z]+|\d+")


_IRREGULAR = {
    **dict(
        rows(
            "people person, children child, men man, women woman, mice mouse, data datum, "
            "criteria criterion, indices index, matrices matrix, vertices vertex, oxen ox, geese goose, "
            "feet foot, teeth tooth, lenses lens, gases gas, alumni alumnus, phenomena phenomenon, "
            "curricula curriculum, appendices appendix, shoes shoe, toes toe, canoes canoe, "
            "movies movie, cookies cookie, series series, species species, aliases alias, buses bus, "
            "quizzes quiz, caches cache, axes axis"
        )
    ),
    **{word + "ves": word + "f" for word in word_set("lea hal cal shel loa wol thie scar hoo sel")},
    **{word + "ves": word + "fe" for word in word_set("li kni wi")},
    **{word + "es": word + "is" for word in word_set("analys diagnos prognos cris hypothes synthes")},
}
_UNCHANGED = word_set(
    "news status address process access business analysis basis bus gas bonus campus canvas census class "
    "compass corpus cross dress express focus glass gross less loss mass pass press progress success this "
    "virus atlas alias lens iris radius menus previous various always plus minus series species details "
    "info information stats statistics sms gps dns https tls css js aws"
)


@lru_cache(maxsize=4096)
def tokens(name: str) -> tuple[str, ...]:
    """`getOrderDetails`, `get_order-details`, `orders.get` as lower-case words; never none at all."""
    return tuple(part.lower() for part in _PARTS.findall(name)) or (name.lower() or "_",)


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _UNCHANGED or len(word) < 4 or not word.endswith("s") or word.endswith("ss"):
        return word[:-1] if word in ("ids", "nos") else word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "tzes", "zzes", "sses", "oes")):
        return word[:-2]
    if word.endswith("uses") and not word.endswith(("auses", "ouses")):
        return word[:-2]
    return word[:-1] if not word.endswith(("us", "is")) else word


@lru_cache(maxsize=4096)
def plural(word: str) -> str:
    for many, one in _IRREGULAR.items():
        if one == word:
            return many
    if word.endswith("y") and len(word) > 1 and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    return word + "s"


def article(noun: str) -> str:
    return "An" if noun[:1] in "aeio" else "A"


def is_plural(word: str) -> bool:
    return singular(word) != word


def singulars(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(singular(word) for word in words)


def joined(words: Iterable[str]) -> str:
    """One spelling for `wish_list`, `wishList` and `wishlist`."""
    return _joined(tuple(words))


@lru_cache(maxsize=16_384)
def _joined(words: tuple[str, ...]) -> str:
    return "".join(map(singular, words))


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
