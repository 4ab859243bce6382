"""Telemetry is read by a helper process, masked there, and stored in slices that let others through."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from pipelines.core.evals.telemetry.otlp import MOST_INFLATED
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Input, Job, TookTooMuch
from pipelines.storage.database.database import Database
from pipelines.storage.evals import spans
from pipelines.wire.errors import BodyTooLarge
from pipelines.wire.records import Named, Record

MEBIBYTE = 1024 * 1024
READING_S = 30.0  # of processor time; 32 MiB of spans take some 5
DAY_NS = 86_400 * 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class Telemetry:
    """A body of telemetry, as it was sent."""

    data: Input
    encoding: Literal["protobuf", "json"]
    is_gzip: bool
    may_be_list: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanProblem(Record, component=""):
    """Why spans were refused."""

    message: str
    spans: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Ingested(Record):
    """What became of the spans."""

    received: int
    stored: int
    duplicates: int  # of those that were taken: were there before
    others: Annotated[int, Named("not_skill_spans")]  # not about a skill, and dropped
    refused: Annotated[int, Named("rejected")]
    off_clock: Annotated[int, Named("clock_skew")]
    masked: Annotated[dict[str, int], "values that were masked, by kind"]
    problems: tuple[SpanProblem, ...]

    @property
    def refusal(self) -> str:
        """Why spans were refused, in one line; empty where none was."""
        return "; ".join(f"{each.spans} × {each.message}" for each in self.problems)


async def ingest_spans(platform: Platform, org_id: int, telemetry: Telemetry, *, masks_ips: bool) -> Ingested:
    arrived_ns = time.time_ns()
    arguments: JsonObject = {
        "encoding": telemetry.encoding,
        "is_gzip": telemetry.is_gzip,
        "may_be_list": telemetry.may_be_list,
        "key": masking_key(platform, org_id).hex(),
        "ips": masks_ips,
        "arrived_ns": arrived_ns,
    }
    job = Job("skill_spans", arguments, READING_S, 8 * MOST_INFLATED)
    try:
        *parts, notes = await platform.span_helpers.run(job, telemetry.data, owner=org_id)
    except TookTooMuch as error:
        raise BodyTooLarge(f"The telemetry was not read: {error}. Send fewer spans at once.") from None
    account = loads_own(notes)
    if not isinstance(account, dict):
        raise BodyTooLarge(f"The telemetry is over {MOST_INFLATED // MEBIBYTE} MiB when it is unpacked.")
    added = 0
    for part in parts:
        store = partial(spans.add_spans, part=part, org_id=org_id, arrived_ns=arrived_ns)
        added += await platform.database.write_part(store)
    return _ingested(account, added)


def masking_key(platform: Platform, org_id: int) -> bytes:
    """Of one org: placeholders of two of them tell nothing about each other."""
    return platform.secrets.derived_key(f"telemetry|{org_id}")


async def prune_spans(database: Database, *, days: int) -> int:
    """Remove what arrived longer ago, slice by slice; how many spans. 0 days: nothing is ever removed."""
    if not days:
        return 0
    before_ns = time.time_ns() - days * DAY_NS
    removed = 0
    while some := await database.write_part(partial(spans.remove_old_spans, before_ns=before_ns)):
        removed += some
    await database.write_part(partial(spans.remove_old_resources, before_ns=before_ns))
    return removed


def _ingested(account: dict[str, Json], added: int) -> Ingested:
    kept = int(str(account["kept"]))
    reasons, masked = account["reasons"], account["masked"]
    assert isinstance(reasons, dict)
    assert isinstance(masked, dict)
    return Ingested(
        received=int(str(account["received"])),
        stored=added,
        duplicates=kept - added,
        others=int(str(account["others"])),
        refused=int(str(account["refused"])),
        off_clock=int(str(account["off_clock"])),
        masked={kind: int(str(count)) for kind, count in masked.items()},
        problems=tuple(
            SpanProblem(message=reason, spans=int(str(count))) for reason, count in reasons.items()
        ),
    )
