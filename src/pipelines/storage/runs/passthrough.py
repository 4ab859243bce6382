"""How calls of passthrough tools are answered, as batches and runs store it: NULL stands for live."""

from typing import Annotated, TypeAlias

from pipelines.core.tools.live_tools import LIVE, PASSTHROUGH_MODES
from pipelines.storage.database.records import Stored
from pipelines.wire.records import one_of


def stored_mode(mode: str) -> str | None:
    return mode if mode != LIVE else None


PassthroughMode: TypeAlias = Annotated[
    str,
    Stored(read=lambda mode: mode or LIVE, write=stored_mode),
    one_of(PASSTHROUGH_MODES),
    "how calls of passthrough tools are answered",
]
