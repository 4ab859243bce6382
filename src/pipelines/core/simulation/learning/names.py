"""How near two names are: fields, arguments and types that are called alike mostly mean the same."""

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
SAME_NAME, SHARED_WORD = 2.5, 1.0  # how much nearer, in the units in which expressions are long


@lru_cache(maxsize=8_192)
def words_of(name: str) -> frozenset[str]:
    """`customerIds` and `customer_id` share their words."""
    words = (word.lower() for word in _WORD.findall(name))
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)


@lru_cache(maxsize=65_536)
def nearness(name: str, other: str) -> float:
    """0 where nothing is alike."""
    if not name or not other:
        return 0.0
    one, two = words_of(name), words_of(other)
    if one == two:
        return SAME_NAME
    shared = (one & two) - {"id"}
    return SHARED_WORD if shared else 0.0
