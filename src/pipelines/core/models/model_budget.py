"""What a batch may spend on models: `max_cost_usd` and `max_model_tokens`, as they are asked for."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.core.models.model_question import NANO, cost_usd
from pipelines.core.text.authored import Fields
from pipelines.wire.records import Named, Record, Via

FIELDS = ("max_cost_usd", "max_model_tokens")
MOST_USD = 1_000_000
MOST_TOKENS = 10**12


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget(Record):
    """What may be spent on models."""

    max_nanousd: Annotated[int | None, Named("max_cost_usd"), Via(cost_usd), "null: no limit"] = None
    max_tokens: Annotated[int | None, Named("max_model_tokens"), "null: no limit"] = None

    def __bool__(self) -> bool:
        return self.max_nanousd is not None or self.max_tokens is not None


def read_budget(fields: Fields) -> Budget:
    tokens = fields.whole_number("max_model_tokens", 0, least=1, most=MOST_TOKENS)
    return Budget(max_nanousd=_read_cost(fields), max_tokens=tokens or None)


def _read_cost(fields: Fields) -> int | None:
    value = fields.get("max_cost_usd")
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_USD:
        return max(1, round(value * NANO))
    fields.refuse("max_cost_usd", f"`max_cost_usd` must be dollars, more than 0 and at most {MOST_USD:,}")
    return None
