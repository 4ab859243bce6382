"""Names and places as people have them, drawn once from mimesis under fixed seeds, and words of our own for
what no library has: why somebody asks, what a note says, names of goods and of rooms.

A value is one of a list, picked by its own place: drawing each from a provider of its own would be as
repeatable and a hundred times slower. Reasons and notes fit any trade.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from pipelines.core.english.words import word_set

POOL = 400  # values drawn per kind; doubled ones fall out


@cache
def pool(kind: str) -> tuple[str, ...]:
    """Different values of a kind, always the same. Kinds: see `_DRAWN`."""
    drawn = _DRAWN[kind](_providers(kind))
    return tuple(dict.fromkeys(drawn() for _ in range(POOL)))


def _providers(kind: str) -> Any:
    # Imported when a world is made: most processes never make one.
    from mimesis import Address, Person
    from mimesis.locales import Locale

    providers: dict[str, type[Any]] = {"person": Person, "address": Address}
    family = _FAMILY.get(kind, "person")
    return providers[family](Locale.EN, seed=f"odyssey worlds/{kind}")


_FAMILY = dict.fromkeys(("street", "city", "state", "zip"), "address")
_DRAWN: dict[str, Callable[[Any], Callable[[], str]]] = {
    "first_name": lambda p: p.first_name,
    "last_name": lambda p: p.last_name,
    "occupation": lambda p: p.occupation,
    "street": lambda p: p.address,
    "city": lambda p: p.city,
    "state": lambda p: lambda: p.state(abbr=True),
    "zip": lambda p: p.zip_code,
}

REASONS = (
    "it was entered by mistake", "the details are wrong", "it was recorded twice",
    "we agreed on something else on the phone",
)  # fmt: skip
#: Why something is made, not undone.
OCCASIONS = ("as agreed on the phone", "as discussed last week", "as set out in our letter")
NOTES = (
    "Please call before noon.", "A written confirmation is wanted.",
    "This is the second contact this month.", "Please reply by e-mail.",
    "An answer is expected this week.",
)  # fmt: skip
#: Of what people hand in: the words are not ours to make up.
DESCRIPTIONS = (
    "The details are in the attached file.", "See the form that was handed in on Monday.",
    "As described on the phone.", "As shown in the photos that were sent in.",
)  # fmt: skip
TITLES = (
    "Follow-up from last week", "Question about a date", "Change of address", "Open point from the last call",
    "Urgent matter", "Second request", "Missing paper", "Request by phone",
)  # fmt: skip
COLOURS = ("black", "white", "blue", "green", "red", "grey")
#: Types whose records are firms.
COMPANIES = word_set(
    "company organization organisation vendor supplier merchant stock carrier shipper broker agency insurer "
    "contractor firm partner manufacturer publisher haulier garage"
)
GOODS_OF = (
    "Desk lamp", "Water bottle", "Office chair", "Wool blanket", "Travel mug", "Backpack", "Headphones",
    "Kettle", "Rain jacket", "Cutting board", "Bookshelf", "Tea set", "Bicycle pump", "Picture frame",
    "Tool box", "Camping stove", "Wall clock", "Umbrella",
)  # fmt: skip
PET_NAMES = ("Biscuit", "Luna", "Otto", "Pepper", "Mochi", "Rufus", "Willow", "Hazel", "Bruno",
             "Clover", "Ziggy", "Maple", "Poppy", "Tiger", "Nala", "Fern", "Oscar", "Daisy")  # fmt: skip
NAMES_OF: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("product", "item", "article", "sku", "listing", "good"), GOODS_OF),
    **dict.fromkeys(("pet", "animal", "dog", "cat", "horse"), PET_NAMES),
    "class": ("Morning yoga", "Spin", "Pilates", "Boxing basics", "Swim technique", "Climbing", "Stretching"),
    "course": ("Statistics I", "Modern history", "Organic chemistry", "Drawing", "Databases", "Ethics"),
    "book": ("Nine Winters", "Quiet Engines", "A House of Maps", "The Glass Orchard", "Low Tide"),
    "room": ("Cedar", "Harbour", "Linden", "Meadow", "Juniper", "Atlas", "Birch", "Foxglove"),
    "event": ("Harvest fair", "Open studio", "City run", "Jazz evening", "Book market", "Robotics day"),
    "project": ("Orchard", "Lantern", "Compass", "Tidewater", "Granite", "Beacon"),
    "team": ("Billing", "Platform", "Field service", "Design", "Support"),
    "dish": ("Lentil soup", "Grilled trout", "Mushroom risotto", "Apple crumble", "Beet salad", "Fish pie"),
}
