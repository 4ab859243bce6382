"""What runs asked of models, added up while they run: bounded by it, and told by it when they end."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated

from pipelines.core.agents.agent_reply import PLATFORM_KEY
from pipelines.core.models.model_usage import ModelUsage
from pipelines.core.text.json_text import Json
from pipelines.wire.records import Hidden, Record, Via

MOST_KEPT = 20_000  # runs; those that never end would stay for ever
MOST_MODELS = 20  # names that are told


def _names(models: dict[str, None]) -> list[str]:
    return [*models]


@dataclass(kw_only=True, slots=True)
class ModelTally(Record):
    """Of one run."""

    calls: int = 0
    failed: int = 0  # of these: an error of the model, or no whole answer
    uncounted: int = 0  # of these: answered well, without a word about tokens
    input_tokens: int = 0
    output_tokens: int = 0
    models: Annotated[dict[str, None], Via(_names)] = field(default_factory=dict)  # in order, each once
    refused: Hidden[int] = 0  # asked of the gateway and not passed on
    first_refusal: Hidden[str] = ""

    def refuse(self, why: str) -> None:
        self.refused += 1
        self.first_refusal = self.first_refusal or why

    def end(self, usage: ModelUsage, *, is_well: bool) -> None:
        """A call is over."""
        self.failed += not is_well
        self.uncounted += is_well and (usage.input_tokens is None or usage.output_tokens is None)
        self.input_tokens += usage.input_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        if usage.model is not None and len(self.models) < MOST_MODELS:
            self.models[usage.model] = None


class ModelTallies:
    """Kept by the process that runs the code, turn after turn of a conversation."""

    def __init__(self) -> None:
        self._by_run: OrderedDict[int, ModelTally] = OrderedDict()

    def of(self, run_id: int) -> ModelTally:
        tally = self._by_run.setdefault(run_id, ModelTally())
        if len(self._by_run) > MOST_KEPT:
            self._by_run.popitem(last=False)
        return tally

    def add_to_metadata(self, run_id: int, metadata: Json) -> Json:
        """A run's metadata, with what was counted here."""
        tally = self._by_run.get(run_id)
        if tally is None or not tally.calls:
            return metadata
        return (metadata if isinstance(metadata, dict) else {}) | {PLATFORM_KEY: tally.as_json()}

    def warnings(self, run_id: int) -> list[str]:
        tally = self._by_run.get(run_id)
        if tally is None or not tally.refused:
            return []
        was = "1 request was" if tally.refused == 1 else f"{tally.refused:,} requests were"
        return [f"{was} not passed on to a model; the first: {tally.first_refusal}"]

    def forget(self, run_id: int) -> None:
        self._by_run.pop(run_id, None)
