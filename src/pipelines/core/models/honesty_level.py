"""How strictly an agent's words are judged. Where a value of the answer cannot be looked up, `standard` notes
it, and `strict` leaves the run to a person.

A batch goes before its dataset, and that before the agent.
"""

from pipelines.core.text.authored import Fields

STANDARD, STRICT = "standard", "strict"
LEVELS = (STANDARD, STRICT)


def read_honesty(fields: Fields) -> str | None:
    """What `honesty` says; None where it is not given."""
    return fields.choice("honesty", LEVELS)
