"""A call to a model, stored in its run's log: which, how it went, how long it took. Never what was said."""

from dataclasses import dataclass

from pipelines.core.models.model_usage import ModelUsage
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.tools.trace_row import TraceRow
from pipelines.engine.calls.answer_tool_call import MAX_REDOS
from pipelines.engine.live.live_runs import LiveRun
from pipelines.engine.platform import Platform
from pipelines.storage.database.database import SequenceTaken
from pipelines.wire.names import MODEL_CALL


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCall:
    gateway: str
    method: str
    path: str
    occurred_at: str
    latency_ms: float  # to the last byte of the answer
    status: int | None  # of the upstream; None: it gave none
    is_streamed: bool
    usage: ModelUsage
    error: str | None = None  # why there is no answer, or no whole one

    def as_json(self) -> JsonObject:
        return {
            "gateway": self.gateway,
            "model": self.usage.model,
            "call": f"{self.method} {self.path}",
            "streamed": self.is_streamed,
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "error": self.error,
        }


async def record_model_call(platform: Platform, token_hash: str, call: ModelCall) -> None:
    """As the next row of its run; nothing once the run is over, whose verdict rests on the rows it has."""
    live_runs = platform.live_runs
    for _ in range(MAX_REDOS):
        live = await live_runs.loaded(token_hash)
        if live is None or not live.is_active or live_runs.steady() >= live.ends_at:
            return
        row = _row(live, call)
        live.fold(row)
        live.unstored += 1
        try:
            await platform.database.append(row)
        except SequenceTaken:
            continue  # another node was faster: the run is read anew
        else:
            return
        finally:
            live.unstored -= 1


def _row(live: LiveRun, call: ModelCall) -> TraceRow:
    return TraceRow(
        run_id=live.id,
        sequence=live.sequence + 1,
        kind=MODEL_CALL,
        http_status=call.status,
        latency_ms=call.latency_ms,
        occurred_at=call.occurred_at,
        payload=dumps(call.as_json()).decode(),
    )
