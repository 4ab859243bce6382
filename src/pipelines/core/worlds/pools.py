"""Names, places and companies as people have them: lists drawn once from mimesis under fixed seeds.

A value is one of a list, picked by its own place. Drawing each from a provider of its own would be as
repeatable and a hundred times slower.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

POOL = 400  # values drawn per kind; doubled ones fall out


@cache
def pool(kind: str) -> tuple[str, ...]:
    """Different values of a kind, always the same. Kinds: see `_DRAWN`."""
    drawn = _DRAWN[kind](_providers(kind))
    return tuple(dict.fromkeys(drawn() for _ in range(POOL)))


def _providers(kind: str) -> Any:
    # Imported when a world is made: most processes never make one.
    from mimesis import Address, Finance, Food, Generic, Person, Text
    from mimesis.locales import Locale

    providers: dict[str, type[Any]] = {
        "person": Person,
        "address": Address,
        "finance": Finance,
        "food": Food,
        "text": Text,
        "generic": Generic,
    }
    family = _FAMILY.get(kind, "person")
    return providers[family](Locale.EN, seed=f"odyssey worlds/{kind}")


_FAMILY = {
    "street": "address",
    "city": "address",
    "state": "address",
    "zip": "address",
    "country": "address",
    "company": "finance",
    "ticker": "finance",
    "dish": "food",
}
_DRAWN: dict[str, Callable[[Any], Callable[[], str]]] = {
    "first_name": lambda p: p.first_name,
    "last_name": lambda p: p.last_name,
    "occupation": lambda p: p.occupation,
    "nationality": lambda p: p.nationality,
    "street": lambda p: p.address,
    "city": lambda p: p.city,
    "state": lambda p: lambda: p.state(abbr=True),
    "zip": lambda p: p.zip_code,
    "country": lambda p: p.country,
    "company": lambda p: p.company,
    "ticker": lambda p: p.stock_ticker,
    "dish": lambda p: p.dish,
}
