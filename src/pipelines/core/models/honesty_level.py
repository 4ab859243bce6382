"""How strictly an agent's statements are judged. For a statement that the run neither proves nor disproves,
`standard` adds a note, and `strict` leaves the run to a person.

The batch's setting takes precedence over the dataset's, and that over the agent's.
"""

from typing import Annotated, TypeAlias

from pipelines.core.text.authored import Fields
from pipelines.wire.records import one_of

STANDARD, STRICT = "standard", "strict"
LEVELS = (STANDARD, STRICT)
Honesty: TypeAlias = Annotated[str, one_of(LEVELS)]


def read_honesty(fields: Fields) -> str | None:
    """What `honesty` says; None where it is not given."""
    return fields.choice("honesty", LEVELS)
