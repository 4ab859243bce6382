"""The cassette of a run or a batch, before the first call: there to be replayed, or ready to record on."""

from functools import partial

from pipelines.core.text.authored import nearest_names
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.live_tools import LIVE, RECORD
from pipelines.core.tools.passthrough_choice import Passthrough
from pipelines.engine.platform import Platform
from pipelines.storage.agents import cassettes
from pipelines.storage.tasks.texts import SLICE_ROWS

_NAMES_COMPARED = 1_000


async def check_cassette(platform: Platform, org_id: int, asked: Passthrough, what: str) -> None:
    """Refuse to replay one that is not there."""
    if asked.mode in (LIVE, RECORD) or asked.cassette is None:
        return
    find = partial(cassettes.cassette_by_name, org_id=org_id, name=asked.cassette)
    if await platform.database.read(find) is not None:
        return
    names = await platform.database.read(
        partial(cassettes.cassette_names, org_id=org_id, most=_NAMES_COMPARED)
    )
    near = nearest_names(asked.cassette, names, most=1)
    hint = f"did you mean `{near[0]}`?" if near else "record it first: `passthrough` `record`"
    message = f"there is no cassette `{asked.cassette}` to replay"
    raise Refused([Problem(path="/cassette", message=message, hint=hint)], what)


async def prepare_cassette(platform: Platform, org_id: int, asked: Passthrough) -> None:
    """For recording: it is there, and empty where it is to be overwritten."""
    if asked.mode != RECORD or asked.cassette is None:
        return
    if asked.overwrites:
        await discard_cassette(platform, org_id, asked.cassette)
    make = partial(cassettes.add_cassette, org_id=org_id, name=asked.cassette, now=platform.now())
    await platform.database.write(make)


async def discard_cassette(platform: Platform, org_id: int, name: str) -> bool:
    """Out of sight at once, then removed in slices; False when there is none."""
    discard = partial(cassettes.discard_cassette, org_id=org_id, name=name, now=platform.now())
    cassette_id = await platform.database.write(discard)
    if cassette_id is None:
        return False
    await remove_cassette(platform, cassette_id)
    return True


async def remove_cassette(platform: Platform, cassette_id: int) -> None:
    remove = partial(cassettes.remove_discarded, cassette_id=cassette_id, most=SLICE_ROWS)
    while not await platform.database.write_part(remove):
        pass
