"""Questions to the author's model as jobs: whoever asks gets a job at once, and looks at how far it is.

A job runs in the process that took it. If that process ends, the job is told as failed: asking again costs
nothing for what was answered, since answers of models are kept.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from pipelines.core.text.json_text import Json
from pipelines.engine.platform import Platform, later
from pipelines.storage.agents import author_jobs
from pipelines.storage.agents.author_jobs import FAILED, RUNNING, AuthorJob
from pipelines.wire.errors import NotFound, OdysseyError

log = logging.getLogger(__name__)
BEAT_S = 10.0
SILENT_S = 60.0  # some missed beats: its process is gone
WAITED_FOR_S = 3.0  # by a page, for a quick model; a slow one is shown with its progress
LONGEST_WAIT_S = 25.0  # of one request for a job; proxies end a request after 30 and more
_LOOK_S = 0.2  # between two looks while a request waits
_INTERRUPTED: Json = {
    "code": "interrupted",
    "message": "The server stopped while the model was asked. Ask again: what was answered is kept.",
}

Progress = Callable[[int, int], Awaitable[None]]  # parts done, of so many
Work = Callable[[Progress], Awaitable[Json]]


async def start_job(platform: Platform, org_id: int, subject: str, work: Work) -> AuthorJob:
    now = platform.now()
    job_id = await platform.database.write(
        partial(author_jobs.add_job, org_id=org_id, subject=subject, now=now)
    )
    platform.author_tasks.start(_run(platform, job_id, work))
    return await find_job(platform, org_id, job_id)


async def find_job(platform: Platform, org_id: int, job_id: int, *, wait_s: float = 0.0) -> AuthorJob:
    """Waits for its end, at most so long."""
    until = asyncio.get_running_loop().time() + min(wait_s, LONGEST_WAIT_S)
    while True:
        job = await platform.database.read(partial(author_jobs.job_by_id, org_id=org_id, job_id=job_id))
        if job is None:
            raise NotFound(f"There is no job {job_id}.")
        job = _as_seen(platform, job)
        if job.status != RUNNING or asyncio.get_running_loop().time() >= until:
            return job
        await asyncio.sleep(_LOOK_S)


async def last_job(platform: Platform, org_id: int, subject: str) -> AuthorJob | None:
    job = await platform.database.read(partial(author_jobs.last_job, org_id=org_id, subject=subject))
    return _as_seen(platform, job) if job is not None else None


def _as_seen(platform: Platform, job: AuthorJob) -> AuthorJob:
    """One that nobody works on any more has failed."""
    is_silent = job.status == RUNNING and job.updated_at < later(platform.now(), -SILENT_S)
    return replace(job, status=FAILED, error=_INTERRUPTED) if is_silent else job


async def _run(platform: Platform, job_id: int, work: Work) -> None:
    reached: tuple[int, int | None] = 0, None

    async def note(done: int, total: int | None) -> None:
        nonlocal reached
        reached = done, total
        now = platform.now()
        await platform.database.write(
            partial(author_jobs.note_progress, job_id=job_id, done=done, total=total, now=now)
        )

    async def beat() -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            await note(*reached)

    beating = asyncio.create_task(beat())
    answer: Json = None
    error: Json = None
    try:
        answer = await work(note)
    except asyncio.CancelledError:
        error = _INTERRUPTED
        raise
    except OdysseyError as failed:
        error = failed.as_json()
    except Exception:  # ours: whoever waits for the job must hear of its end
        log.exception("job %s could not be done", job_id)
        error = {"code": "internal", "message": "The server failed. Its log says why."}
    finally:
        beating.cancel()
        now = platform.now()
        end = partial(author_jobs.end_job, job_id=job_id, answer=answer, error=error, now=now)
        await platform.database.write(end)
