"""A session's world while it is reviewed: refined, made anew, pasted, undone. Each is a new revision.

What somebody asks for is of the revision they looked at. Where another was made meanwhile, theirs is refused
with the number of the present one, and nothing is stored.
"""

import asyncio
import hashlib
import tempfile
from functools import partial
from typing import IO, NamedTuple

from pipelines.core.tasks.seed_session import WORLD_REVIEW, read_prompt, read_revision, read_rng_seed
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own, raw_json
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.store_texts import store_texts
from pipelines.engine.worlds.authors import AuthoredWorld, SessionBrief
from pipelines.engine.worlds.choose_author import author_of
from pipelines.engine.worlds.embedded_author import MEMORY, MOST_RESULT, WORLD_S, world_of
from pipelines.engine.worlds.open_session import brief_of, find_session, refuse_state, wrong_state
from pipelines.processes.pool import Input, Job, TookTooMuch
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets, seed_sessions, texts, world_revisions
from pipelines.storage.tasks.seed_sessions import SeedSession
from pipelines.storage.tasks.texts import Text
from pipelines.storage.tasks.world_revisions import WorldRevision
from pipelines.wire.errors import Conflict, NotFound, StaleRevision

DOING = "change its world"


class _PresentWorld(NamedTuple):
    session: SeedSession
    revision: WorldRevision
    world: str


class _NewRevision(NamedTuple):
    kind: str
    made: AuthoredWorld
    undo_to: int | None
    prompt: str | None = None
    rng_seed: int | None = None


async def refine_world(
    platform: Platform, org_id: int, session_id: int, who: str, body: JsonObject, *, seen: int | None = None
) -> WorldRevision:
    """`seen` is the revision that was looked at, where the body does not say so."""
    prompt = read_prompt(body)
    present = await _load_present(platform, org_id, session_id, read_revision(body.get("revision")) or seen)
    session = present.session
    rng_seed = derived_seed(session.rng_seed, "refine", present.revision.number)
    author, brief = author_of(platform, session.author), await brief_of(platform, session)
    refined = await author.refine(brief, before=present.world, prompt=prompt, rng_seed=rng_seed)
    new = _NewRevision("refined", refined, present.revision.number, prompt, rng_seed)
    return await _add_revision(platform, present, who, new)


async def regenerate_world(
    platform: Platform, org_id: int, session_id: int, who: str, body: JsonObject, *, seen: int | None = None
) -> WorldRevision:
    """From scratch, with other chances than any revision before, or with those that are asked for."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("rng_seed", "revision"))
    seed_given = read_rng_seed(fields)
    if problems:
        raise Refused(problems, "the request")
    present = await _load_present(platform, org_id, session_id, read_revision(body.get("revision")) or seen)
    session = present.session
    rng_seed = (
        derived_seed(session.rng_seed, "world", present.revision.number) if seed_given is None else seed_given
    )
    author, brief = author_of(platform, session.author), await brief_of(platform, session)
    world = await author.make_world(brief, before=present.world, rng_seed=rng_seed)
    new = _NewRevision("regenerated", world, present.revision.number, rng_seed=rng_seed)
    return await _add_revision(platform, present, who, new)


async def paste_world(
    platform: Platform,
    org_id: int,
    session_id: int,
    who: str,
    data: Input,
    *,
    is_body: bool,
    seen: int | None = None,
) -> WorldRevision:
    """A world that somebody wrote, in place of the present one. `is_body`: as `{state, revision?}`."""
    present = await _load_present(platform, org_id, session_id, seen)
    brief = await brief_of(platform, present.session)
    revision, world = await _check_pasted(platform, brief, present.world, data, is_body=is_body)
    _refuse_stale(present.session, revision)
    return await _add_revision(platform, present, who, _NewRevision("pasted", world, present.revision.number))


async def undo_world(
    platform: Platform, org_id: int, session_id: int, who: str, *, seen: int | None = None
) -> WorldRevision:
    """The world as it was before the latest change that still stands. Undoing twice goes back twice."""
    present = await _load_present(platform, org_id, session_id, seen)
    if present.revision.undo_to is None:
        raise Conflict(f"Seed session {session_id} has no change of its world to undo.")
    target = await find_revision(platform, present.session, present.revision.undo_to)
    world = await platform.database.read(partial(texts.text_of, name=target.world_hash))
    job = Job("compare_worlds", {}, WORLD_S, MOST_RESULT, MEMORY)
    both = f"{present.world}\n{world}".encode()
    (changes,) = await platform.upload_helpers.run(job, both, owner=org_id)
    description: JsonObject = target.told | {"said": None}  # what was done then was not done now
    restored = AuthoredWorld(Text(target.world_hash, world), dumps(description).decode(), changes.decode())
    return await _add_revision(
        platform, present, who, _NewRevision("undone", restored, target.undo_to, rng_seed=target.rng_seed)
    )


async def read_world(
    platform: Platform, org_id: int, session_id: int, number: int | None = None
) -> JsonObject:
    """A session's world with what is told of it: the present one, or that of a revision. It is not parsed."""
    session = await find_session(platform, org_id, session_id)
    revision = await find_revision(platform, session, number or session.revision)
    text = await platform.database.read(partial(texts.text_of, name=revision.world_hash))
    frozen: JsonObject = {"session_id": session.id, "status": session.status}
    own: JsonObject = {"revision": revision.number, "world_hash": revision.world_hash}
    return frozen | own | {"undo_to": revision.undo_to} | revision.told | {"state": raw_json(text)}


async def find_revision(platform: Platform, session: SeedSession, number: int) -> WorldRevision:
    found = await platform.database.read(
        partial(world_revisions.revision_by_number, session_id=session.id, number=number)
    )
    if found is None:
        raise NotFound(f"Seed session {session.id} has no revision {number}.")
    return found


async def world_tables(
    platform: Platform, session: SeedSession, number: int, *, only: str | None, first: int, most: int
) -> JsonObject:
    """What a page shows of a world."""
    revision = await find_revision(platform, session, number)
    text = await platform.database.read(partial(datasets.world_text, name=revision.world_hash))
    arguments: JsonObject = {"only": only, "first": first, "most": most}
    job = Job("world_tables", arguments, WORLD_S, MOST_RESULT, MEMORY)
    (tables,) = await platform.helpers.run(job, text.encode(), owner=session.org_id)
    read = loads_own(tables)
    assert isinstance(read, dict)
    return read


def derived_seed(rng_seed: int, *place: Json) -> int:
    """Chances of their own for a place in a session, the same each time."""
    named = "/".join(map(str, (rng_seed, *place)))
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:6])


async def _load_present(platform: Platform, org_id: int, session_id: int, seen: int | None) -> _PresentWorld:
    session = await find_session(platform, org_id, session_id)
    refuse_state(session, WORLD_REVIEW, DOING)
    _refuse_stale(session, seen)

    def read(connection: Connection) -> tuple[WorldRevision, str] | None:
        found = world_revisions.revision_by_number(connection, session_id=session.id, number=session.revision)
        return (found, texts.text_of(connection, found.world_hash)) if found is not None else None

    found = await platform.database.read(read)
    assert found is not None, "a session has its present revision"
    return _PresentWorld(session, *found)


def _refuse_stale(session: SeedSession, seen: Json) -> None:
    if isinstance(seen, int) and seen != session.revision:
        raise stale_revision(session, seen)


def stale_revision(session: SeedSession, seen: int | None) -> StaleRevision:
    whose = f"revision {seen}" if seen is not None else "an earlier revision"
    message = (
        f"This request is about {whose}; the world of seed session {session.id} is at revision"
        f" {session.revision} by now. Read that revision, then try again."
    )
    return StaleRevision(message, details={"revision": session.revision})


async def _add_revision(
    platform: Platform, present: _PresentWorld, who: str, new: _NewRevision
) -> WorldRevision:
    """The text first; then, at once, the revision, if nobody was faster."""
    session, now = present.session, platform.now()
    new_texts = await store_texts(platform, [new.made.world])
    revision = WorldRevision(
        session_id=session.id,
        number=present.revision.number + 1,
        kind=new.kind,
        prompt=new.prompt,
        undo_to=new.undo_to,
        world_hash=new.made.world.hash,
        rng_seed=new.rng_seed,
        told_text=new.made.told_text,
        changes_text=new.made.changes_text,
        created_by=who,
        created_at=now,
    )

    def add(connection: Connection) -> bool:
        after = present.revision.number
        if not seed_sessions.begin_revision(connection, session_id=session.id, after=after, now=now):
            return False
        world_revisions.add_revision(connection, revision)
        texts.keep_texts(connection, new_texts)
        return True

    if not await platform.database.write(add):
        raise await overtaken_error(platform, session, present.revision.number, DOING)
    return revision


async def overtaken_error(platform: Platform, session: SeedSession, seen: int, doing: str) -> Conflict:
    """Why a change that was checked could not be made: somebody was faster."""
    now = await find_session(platform, session.org_id, session.id)
    return stale_revision(now, seen) if now.status == WORLD_REVIEW else wrong_state(now, doing)


async def _check_pasted(
    platform: Platform, brief: SessionBrief, before: str, data: Input, *, is_body: bool
) -> tuple[Json, AuthoredWorld]:
    arguments: JsonObject = {"agent": brief.agent(), "now": brief.now, "is_body": is_body}
    job = Job("check_pasted_world", arguments, WORLD_S, MOST_RESULT, MEMORY)
    with tempfile.TemporaryFile() as both:
        await asyncio.to_thread(_write_both, both, before, data)
        try:
            revision, *parts = await platform.upload_helpers.run(job, both, owner=brief.org_id)
        except TookTooMuch as error:
            message = str(error).replace("reading it", "checking this world")
            problem = Problem(path="/state", message=message, hint="leave out what no task touches")
            raise Refused([problem], "the world") from None
    return loads_own(revision), world_of(parts)


def _write_both(both: IO[bytes], before: str, data: Input) -> None:
    both.write(before.encode() + b"\n")
    if isinstance(data, bytes):
        both.write(data)
    else:
        data.seek(0)
        while part := data.read(1024 * 1024):
            both.write(part)
    both.flush()
