"""What tokens cost, by the table that comes with the package: nothing is fetched. What it does not list has
no price."""

from decimal import Decimal
from typing import Any

from genai_prices import Usage, calc_price

from pipelines.core.models.model_names import ModelName
from pipelines.core.models.model_question import NANO


def cost_of(name: ModelName, input_tokens: int, output_tokens: int, *, usage: Any = None) -> int | None:
    """In billionths of a dollar. `usage` says more than the counts, such as what was read from a cache."""
    if name.kind != "provider":
        return None  # a server of one's own has a price that nobody here knows
    counted = usage or Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        total = calc_price(counted, model_ref=name.model, provider_id=name.provider).total_price
    except (LookupError, ValueError):  # no such model there; counts that contradict each other
        return None
    return _nanousd(total)


def _nanousd(total: Decimal) -> int | None:
    """Rounded up: what is spent is never less than what was paid. A price below nothing is none."""
    return -int(-total * NANO // 1) if total >= 0 else None
