"""Rows of frozen worlds, made a part at a time: what is proved is stored before the next part is asked for.

Drafts have numbers and are the same each time. A part is stored with how far its bucket came, in one write
that says where it started from; so a kill loses at most the part under way, and nothing is stored twice, also
where two nodes are at the same session.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder
from pipelines.core.tasks.seed_session import EMBEDDED, ROWS_GENERATING, ROWS_REVIEW
from pipelines.core.text.problems import Refused
from pipelines.engine.platform import Platform
from pipelines.engine.worlds.authors import AuthoredRows, RowsRequest
from pipelines.engine.worlds.choose_author import author_of
from pipelines.engine.worlds.open_session import brief_of
from pipelines.engine.worlds.review_world import derived_seed
from pipelines.processes.pool import JobFailed, TookTooMuch
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import seed_rows, seed_sessions, texts
from pipelines.storage.tasks.seed_rows import KEPT, SeedBucket
from pipelines.storage.tasks.seed_sessions import SeedSession
from pipelines.wire.errors import BudgetExceeded, ModelFailed, ModelNotConfigured, StorageUnavailable

log = logging.getLogger(__name__)
AT_ONCE = 2  # sessions whose world is held and whose part is under way; as many as there are helpers
ASKING_AT_ONCE = 8  # sessions that wait for a model, for minutes perhaps: they keep nobody else waiting
RETRY_S = 1.0  # how long to leave a database alone that could not answer
ROUND_S = 10.0  # on a database that many share: how often those of others are looked at, and
SILENT_ROUNDS = 12  # for how many rounds one may stand still before it is taken to be nobody's
#: Drafts of a bucket in a round, for each row and besides: past them it is said that there are no more.
DRAFTS_A_ROW, DRAFTS_BESIDES = 20, 100


class _Part(NamedTuple):
    """What a part of a bucket came to."""

    made: AuthoredRows
    is_done: bool
    problem: str | None


class RowGenerator:
    """One per process, on one event loop."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._turns = FairSlots.all_but_one_each(AT_ONCE + 1)
        self._asking = FairSlots.all_but_one_each(ASKING_AT_ONCE)
        self._at_work: dict[int, asyncio.Task[None]] = {}  # by session
        self._asked: set[int] = set()  # sessions that are to be looked at, once more where one is at work
        self._unchanged_rounds: dict[tuple[int, str], int] = {}  # seen unchanged in how many rounds
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Take up what a stop left. Where other nodes share the database, what stands still is taken up."""
        if self._platform.database.is_alone:
            for session in await self._platform.database.read(seed_sessions.generating_sessions):
                self.begin(session)
        else:
            self._watching = asyncio.create_task(self._watch_stalled())

    def begin(self, session: SeedSession) -> None:
        self._asked.add(session.id)
        if session.id not in self._at_work:
            self._at_work[session.id] = asyncio.create_task(self._finish_session(session))

    async def close(self) -> None:
        """What is under way is cut off as by a kill."""
        tasks = [*self._at_work.values(), *([self._watching] if self._watching is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch_stalled(self) -> None:
        while True:
            try:
                found = await self._platform.database.read(seed_sessions.generating_sessions)
                seen = {(session.id, session.updated_at): session for session in found}
                self._unchanged_rounds = {place: self._unchanged_rounds.get(place, 0) + 1 for place in seen}
                for place, session in seen.items():
                    if self._unchanged_rounds[place] > SILENT_ROUNDS:
                        self.begin(session)
            except StorageUnavailable as error:
                log.info("the database cannot be reached; seed sessions wait: %s", error)
            await asyncio.sleep(ROUND_S)

    async def _finish_session(self, session: SeedSession) -> None:
        try:
            while session.id in self._asked:
                self._asked.discard(session.id)
                while await self._make_next_part(session):
                    pass
        except Exception:  # ours: the next start takes it up, and meanwhile it can be abandoned
            log.exception("the rows of seed session %s could not be made", session.id)
        finally:
            del self._at_work[session.id]

    async def _make_next_part(self, session: SeedSession) -> bool:
        """Make one more part; False once there is none to make."""
        try:
            turns = self._turns if session.author == EMBEDDED else self._asking
            async with turns.slot(SlotHolder(session.org_id, session.id)):
                return await self._one_part(session)
        except StorageUnavailable as error:
            log.warning("seed session %s waits for the database: %s", session.id, error)
            await asyncio.sleep(RETRY_S)
            return True

    async def _one_part(self, session: SeedSession) -> bool:
        bucket = await self._platform.database.read_for_batch(partial(_next_bucket, session=session))
        if bucket is None:
            return False
        part = await self._draft_part(session, bucket)
        now = self._platform.now()

        def store(connection: Connection) -> None:
            """Unless the session was abandoned, or the bucket went on without us."""
            is_ours = seed_sessions.move_session(
                connection, session_id=session.id, before=ROWS_GENERATING, after=ROWS_GENERATING, now=now
            )
            if is_ours and seed_rows.store_drafts(
                connection,
                bucket,
                part.made.rows,
                drafted=part.made.drafted,
                is_done=part.is_done,
                problem=part.problem,
                notes=part.made.notes,
                now=now,
            ):
                _end_if_done(connection, session, now)

        await self._platform.database.write_part(store)
        return True

    async def _draft_part(self, session: SeedSession, bucket: SeedBucket) -> _Part:
        """However an author fails, the bucket ends and says why: it is not asked for ever again."""
        missing = bucket.wanted - bucket.kept
        most_drafts = DRAFTS_A_ROW * bucket.asked + DRAFTS_BESIDES
        nothing = AuthoredRows([], bucket.drafted, True, bucket.notes)
        if missing <= 0:
            return _Part(nothing, is_done=True, problem=None)
        try:
            drafted = await self._ask(session, bucket, missing, most_drafts)
        except TookTooMuch as error:
            reason = str(error).replace("reading it", "making its rows")
            return _Part(nothing, is_done=True, problem=_shortfall(bucket, bucket.kept, reason))
        except Refused as refused:
            reason = "; ".join(problem.said() for problem in refused.problems[:3])
            return _Part(nothing, is_done=True, problem=_shortfall(bucket, bucket.kept, reason))
        except (ModelFailed, BudgetExceeded, ModelNotConfigured) as error:
            return _Part(
                nothing, is_done=True, problem=_shortfall(bucket, bucket.kept, _as_clause(error.message))
            )
        except JobFailed as error:
            log.error("rows of seed session %s, bucket %s broke:\n%s", session.id, bucket.number, error)
            reason = "the platform failed to make its rows; see the server's log"
            return _Part(nothing, is_done=True, problem=_shortfall(bucket, bucket.kept, reason))
        kept = bucket.kept + sum(1 for row in drafted.rows if row.status == KEPT)
        is_done = kept >= bucket.wanted or drafted.is_exhausted
        problem = None
        if is_done and kept < bucket.wanted:
            reason = (
                f"of {drafted.drafted:,} drafts, no more could be proved, and there are no further drafts"
            )
            problem = _shortfall(bucket, kept, drafted.ended_because or reason)
        return _Part(drafted, is_done, problem)

    async def _ask(
        self, session: SeedSession, bucket: SeedBucket, missing: int, most_drafts: int
    ) -> AuthoredRows:
        platform = self._platform
        assert session.world_hash is not None, "its world is frozen"
        brief = await brief_of(platform, session)
        world, earlier, rejected = await platform.database.read_for_batch(
            partial(_read_inputs, world_hash=session.world_hash, bucket=bucket)
        )
        request = RowsRequest(
            bucket=bucket,
            rows=missing,
            most_drafts=most_drafts,
            rng_seed=derived_seed(session.rng_seed, "rows", bucket.name, bucket.round),
            earlier_texts=earlier,
            rejected=rejected,
        )
        return await author_of(platform, session.author).draft_rows(brief, world=world, wanted=request)


def _next_bucket(connection: Connection, session: SeedSession) -> SeedBucket | None:
    """The first that is not done, of a session that is still to be worked on."""
    now = seed_sessions.session_by_id(connection, org_id=session.org_id, session_id=session.id)
    if now is None or now.status != ROWS_GENERATING:
        return None
    buckets = seed_rows.buckets_of_session(connection, session.id)
    return next((bucket for bucket in buckets if not bucket.is_done), None)


def _read_inputs(
    connection: Connection, *, world_hash: str, bucket: SeedBucket
) -> tuple[str, list[str], list[tuple[str, str]]]:
    return (
        texts.text_of(connection, world_hash),
        seed_rows.texts_so_far(connection, bucket),
        seed_rows.rejected_so_far(connection, bucket),
    )


def _end_if_done(connection: Connection, session: SeedSession, now: str) -> None:
    buckets: Sequence[SeedBucket] = seed_rows.buckets_of_session(connection, session.id)
    if all(bucket.is_done for bucket in buckets):
        seed_sessions.move_session(
            connection, session_id=session.id, before=ROWS_GENERATING, after=ROWS_REVIEW, now=now
        )


def _as_clause(message: str) -> str:
    """As the end of a sentence that says how far the bucket came."""
    return message[:1].lower() + message[1:].removesuffix(".")


def _shortfall(bucket: SeedBucket, kept: int, why: str) -> str:
    return f"{kept} of {bucket.wanted} rows: {why}"
