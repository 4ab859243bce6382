"""A call to a model, stored in its run's log: which, how it went, how long it took. Never what was said."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.core.models.model_usage import ModelUsage
from pipelines.core.text.json_text import dumps
from pipelines.core.tools.trace_row import TraceRow
from pipelines.engine.calls.answer_tool_call import MAX_REDOS
from pipelines.engine.live.live_runs import LiveRun
from pipelines.engine.platform import Platform
from pipelines.storage.database.database import SequenceTaken
from pipelines.wire.names import MODEL_CALL
from pipelines.wire.records import Hidden, Named, Record, shown


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCall(Record):
    gateway: str
    method: Hidden[str]
    path: Hidden[str]
    occurred_at: Hidden[str]
    latency_ms: Hidden[float]  # to the last byte of the answer
    status: Hidden[int | None]  # of the upstream; None: it gave none
    is_streamed: Annotated[bool, Named("streamed")]
    usage: Hidden[ModelUsage]
    error: str | None = None  # why there is no answer, or no whole one

    @shown(after="gateway")
    def model(self) -> str | None:
        return self.usage.model

    @shown(after="gateway")
    def call(self) -> str:
        return f"{self.method} {self.path}"

    @shown(after="is_streamed")
    def input_tokens(self) -> int | None:
        return self.usage.input_tokens

    @shown(after="is_streamed")
    def output_tokens(self) -> int | None:
        return self.usage.output_tokens


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
