"""Drafts from telemetry: looked for by a helper process, kept, and adopted or dismissed by a person."""

import asyncio
import tempfile
import time
from functools import partial
from typing import IO, NamedTuple

from pipelines.core.evals.telemetry.masking import Masking
from pipelines.core.evals.telemetry.spans import DEVICE_KEYS
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.evals.edit_scenarios import check_scenario, head_of, new_scenario_id
from pipelines.engine.evals.ingest_spans import masking_key
from pipelines.engine.find import existing
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import drafts, eval_scenarios, spans
from pipelines.storage.evals.drafts import StoredDraft
from pipelines.storage.evals.spans import Place, Window
from pipelines.wire.errors import BodyTooLarge, Conflict

HOUR_NS = 3_600 * 10**9
LOOKBACK_HOURS, MOST_LOOKBACK_HOURS = 168, 24 * 366
MAX_SCENARIOS, MOST_SCENARIOS = 20, 500
MOST_SPANS = 200_000  # looked at, the newest: some 10 s, and 300 MB of the helper process
LONGEST_DEVICE_ID = 500
DRAFTING_S = 60.0  # of processor time
LARGEST_RESULT = 128 * 1024 * 1024  # 500 drafts with inputs of 64 KiB, and what is told of them
KEPT_AT_ONCE = 20  # drafts in one write


class DraftRequest(NamedTuple):
    device_id: str | None
    lookback_hours: int
    max_scenarios: int


def read_draft_request(body: JsonObject) -> DraftRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("device_id", "lookback_hours", "max_scenarios"))
    request = DraftRequest(
        device_id=fields.text("device_id", longest=LONGEST_DEVICE_ID),
        lookback_hours=fields.whole_number(
            "lookback_hours", LOOKBACK_HOURS, least=1, most=MOST_LOOKBACK_HOURS
        ),
        max_scenarios=fields.whole_number("max_scenarios", MAX_SCENARIOS, least=1, most=MOST_SCENARIOS),
    )
    if problems:
        raise Refused(problems, "the request")
    return request


async def draft_scenarios(
    platform: Platform, org_id: int, body: JsonObject, *, masks_ips: bool
) -> JsonObject:
    """The drafts of a look at recent telemetry, new and known, and what was looked at."""
    request = read_draft_request(body)
    window = _window(platform, org_id, request, masks_ips=masks_ips)
    matched = await _count_matches(platform, window)
    with tempfile.TemporaryFile() as lines:
        read = await _write_lines(platform, window, lines)
        without = await platform.database.read(partial(drafts.decided_ids, org_id=org_id))
        found, looked = await _find_drafts(platform, org_id, lines, request, without)
    kept = await _store_drafts(platform, org_id, found)
    notes = _notes(request, matched, read)
    return {
        "scenarios": kept["scenarios"],
        "created": kept["created"],
        "looked_at": {
            "device_id": request.device_id,
            "device_id_matched": matched,
            "lookback_hours": request.lookback_hours,
            **looked,
        },
        "notes": notes,
    }


def _window(platform: Platform, org_id: int, wanted: DraftRequest, *, masks_ips: bool) -> Window:
    """An id is stored as masking left it, and masking is the same each time."""
    masking = Masking(masking_key(platform, org_id), ips=masks_ips)
    now_ns = time.time_ns()
    return Window(
        org_id=org_id,
        since_ns=now_ns - wanted.lookback_hours * HOUR_NS,
        until_ns=now_ns + HOUR_NS,  # a clock may be somewhat ahead
        device_id=masking.text(wanted.device_id) if wanted.device_id is not None else None,
    )


async def _count_matches(platform: Platform, window: Window) -> Json:
    """How many spans each kind of id finds; None where no device was asked for."""
    if window.device_id is None:
        return None
    found: JsonObject = {}
    found |= await platform.database.read_for_batch(partial(spans.device_matches, window=window))
    return found


async def _write_lines(platform: Platform, window: Window, file: IO[bytes]) -> int:
    """Page by page into a file: however many spans there are, the server does not hold them."""
    written = 0
    after: Place | None = None
    while written < MOST_SPANS:
        page = await platform.database.read_for_batch(partial(spans.span_lines, window=window, after=after))
        some = page.lines[: MOST_SPANS - written]
        await asyncio.to_thread(file.writelines, (line + b"\n" for line in some))
        written += len(some)
        after = page.last
        if after is None:
            break
    return written


async def _find_drafts(
    platform: Platform, org_id: int, lines: IO[bytes], wanted: DraftRequest, without: list[str]
) -> tuple[list[bytes], JsonObject]:
    arguments: JsonObject = {"max_scenarios": wanted.max_scenarios, "without": [*without]}
    job = Job("scenario_drafts", arguments, DRAFTING_S, LARGEST_RESULT)
    try:
        *found, notes = await platform.span_helpers.run(job, lines, owner=org_id)
    except TookTooMuch as error:
        message = f"The telemetry could not be searched: {error}. Ask for fewer hours, or for one device."
        raise BodyTooLarge(message) from None
    looked = loads_own(notes)
    assert isinstance(looked, dict)
    return found, looked


async def _store_drafts(platform: Platform, org_id: int, found: list[bytes]) -> JsonObject:
    now = platform.now()
    scenarios: list[Json] = []
    created = 0
    for start in range(0, len(found), KEPT_AT_ONCE):
        bodies: list[JsonObject] = [loads_own(part) for part in found[start : start + KEPT_AT_ONCE]]  # type: ignore[misc]
        keep = partial(drafts.keep_drafts, bodies=bodies, org_id=org_id, now=now)
        heads = await platform.database.write_part(keep)
        for body, head in zip(bodies, heads, strict=True):
            is_new = head.created_at == now
            created += is_new
            scenarios.append(body | head.as_json() | {"is_new": is_new})
    return {"scenarios": scenarios, "created": created}


def _notes(wanted: DraftRequest, matched: Json, read: int) -> list[Json]:
    notes: list[Json] = ["Drafts say what the agent did, not necessarily what it should do: review each."]
    if isinstance(matched, dict) and not any(matched.values()):
        keys = ", ".join(DEVICE_KEYS)
        notes.append(f"No span of the last {wanted.lookback_hours} h has this device_id in {keys}.")
    elif not read:
        notes.append(f"There are no skill spans of the last {wanted.lookback_hours} h.")
    if read == MOST_SPANS:
        notes.append(f"Only the newest {MOST_SPANS:,} spans were looked at.")
    return notes


async def find_draft(platform: Platform, org_id: int, draft_id: str) -> StoredDraft:
    read = partial(drafts.draft_by_id, org_id=org_id, draft_id=draft_id)
    return existing(await platform.database.read(read), f"draft {draft_id}")


async def adopt_draft(platform: Platform, org_id: int, draft_id: str, corrections: JsonObject) -> JsonObject:
    """The scenario it becomes: the draft's, with the fields given in place of its own. In one write."""
    draft = await find_draft(platform, org_id, draft_id)
    _refuse_decided(draft)
    body: JsonObject = {
        key: value for key, value in (draft.scenario | corrections).items() if value is not None
    }
    scenario = await check_scenario(platform, org_id, body)
    now, scenario_id = platform.now(), new_scenario_id()

    def adopt(connection: Connection) -> JsonObject:
        is_ours = drafts.decide_draft(
            connection, org_id=org_id, draft_id=draft_id, status="adopted", scenario_id=scenario_id, now=now
        )
        if not is_ours:
            raise Conflict(f"Draft {draft_id} was decided on meanwhile; read it again.")
        eval_scenarios.add_scenario(
            connection,
            org_id=org_id,
            scenario_id=scenario_id,
            head=head_of(scenario),
            body=scenario.as_json(),
            now=now,
        )
        stored = eval_scenarios.scenario_by_id(connection, org_id=org_id, scenario_id=scenario_id)
        assert stored is not None
        return stored.as_json()

    return await platform.database.write(adopt) | {"draft_id": draft_id}


async def dismiss_draft(platform: Platform, org_id: int, draft_id: str) -> StoredDraft:
    """It does not come back with the next look. Dismissing twice is dismissing once."""
    draft = await find_draft(platform, org_id, draft_id)
    if draft.head.status != "dismissed":
        _refuse_decided(draft)
        dismiss = partial(
            drafts.decide_draft,
            org_id=org_id,
            draft_id=draft_id,
            status="dismissed",
            scenario_id=None,
            now=platform.now(),
        )
        if not await platform.database.write(dismiss):
            raise Conflict(f"Draft {draft_id} was decided on meanwhile; read it again.")
    return await find_draft(platform, org_id, draft_id)


def _refuse_decided(draft: StoredDraft) -> None:
    if draft.head.status == "adopted":
        raise Conflict(f"Draft {draft.head.id} was adopted as scenario {draft.head.scenario_id}.")
    if draft.head.status == "dismissed":
        raise Conflict(f"Draft {draft.head.id} was dismissed.")
