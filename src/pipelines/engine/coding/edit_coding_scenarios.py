"""Coding scenarios of an org: made, changed, deleted, read; and copied into the tasks that name them."""

import asyncio
import secrets
from collections.abc import Sequence
from functools import partial
from typing import overload

from pipelines.core.coding.coding_tasks import CodingContext, with_scenario
from pipelines.core.coding.scenario import CodingScenario, read_scenario
from pipelines.core.tasks.seed import Seed
from pipelines.core.tasks.seed_text import SeedText
from pipelines.core.text.json_text import Json, dumps, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.sandbox.requirements import parse_requirements
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import coding
from pipelines.storage.tasks.coding import StoredCodingScenario
from pipelines.wire.errors import Conflict, NotFound

READ_ONLY_FIELDS = ("id", "version", "created_at", "updated_at")
LARGEST_SCENARIO = 8 * 1024 * 1024  # bytes as JSON: each of its tasks has a copy
READ_AT_ONCE = 100  # read together
_WHAT = "the coding scenario"


def new_scenario_id() -> str:
    return f"cs_{secrets.token_hex(12)}"


async def create_scenario(platform: Platform, org_id: int, body: Json) -> StoredCodingScenario:
    return await store_scenario(platform, org_id, await check_scenario(platform, body))


async def store_scenario(platform: Platform, org_id: int, scenario: CodingScenario) -> StoredCodingScenario:
    """A checked one. Conflict where its name is taken."""
    scenario_id, now = new_scenario_id(), platform.now()
    most = platform.limits.coding_scenarios

    def store(connection: Connection) -> StoredCodingScenario:
        if coding.has_scenarios(connection, org_id=org_id, count=most):
            message = f"an org has at most {most:,} scenarios"
            hint = "delete some, or raise PIPELINES_CODING_SCENARIOS"
            raise Refused([Problem(path="", message=message, hint=hint)], _WHAT)
        if not coding.add_scenario(
            connection, org_id=org_id, scenario_id=scenario_id, scenario=scenario, now=now
        ):
            raise Conflict(f"There is a coding scenario `{scenario.name}` already; PUT changes it.")
        return _get_scenario(connection, org_id, scenario_id)

    return await platform.database.write(store)


async def replace_scenario(platform: Platform, org_id: int, ref: str, body: Json) -> StoredCodingScenario:
    """Whole: what the body leaves out is gone. Tasks that were made before keep their copies."""
    before = await find_scenario(platform, org_id, ref)
    if isinstance(body, dict):
        body = {key: value for key, value in body.items() if key not in READ_ONLY_FIELDS}
    scenario = await check_scenario(platform, body)
    now = platform.now()

    def store(connection: Connection) -> StoredCodingScenario:
        other = coding.scenario_by_ref(connection, org_id=org_id, ref=scenario.name)
        if other is not None and other.scenario_id != before.scenario_id:
            raise Conflict(f"There is another coding scenario `{scenario.name}`.")
        if not coding.change_scenario(
            connection,
            org_id=org_id,
            scenario_id=before.scenario_id,
            scenario=scenario,
            now=now,
        ):
            raise _not_found(ref)
        return _get_scenario(connection, org_id, before.scenario_id)

    return await platform.database.write(store)


async def delete_scenario(platform: Platform, org_id: int, ref: str) -> None:
    found = await find_scenario(platform, org_id, ref)
    delete = partial(coding.delete_scenario, org_id=org_id, scenario_id=found.scenario_id)
    if not await platform.database.write(delete):
        raise _not_found(ref)


async def find_scenario(platform: Platform, org_id: int, ref: str) -> StoredCodingScenario:
    return await platform.database.read(lambda connection: _get_scenario(connection, org_id, ref))


async def check_scenario(platform: Platform, body: Json) -> CodingScenario:
    """The scenario, or Refused with everything wrong with it."""
    return await asyncio.to_thread(_check_scenario, body, platform.git.allow_http)


def _check_scenario(body: Json, allow_http: bool) -> CodingScenario:
    problems: list[Problem] = []
    scenario = read_scenario(body, problems, allow_http=allow_http)
    if isinstance(body, dict) and isinstance(body.get("requirements"), str | list):
        problems += _requirement_problems(body["requirements"])
    if scenario is not None and (size := len(dumps(scenario.as_json()))) > LARGEST_SCENARIO:
        most = LARGEST_SCENARIO >> 20
        message = f"has {size / (1 << 20):.1f} MiB; at most {most} MiB are allowed"
        problems.append(Problem(path="", message=message, hint="name a git repository instead of its files"))
    if problems or scenario is None:
        raise Refused(problems, _WHAT)
    return scenario


def _requirement_problems(value: Json) -> list[Problem]:
    text = value if isinstance(value, str) else "\n".join(map(str, value if isinstance(value, list) else ()))
    try:
        parse_requirements(text)
    except Refused as refused:
        return [
            Problem(path=f"/{one.path.replace(', line ', '/')}", message=one.message, hint=one.hint)
            for one in refused.problems
        ]
    return []


def _get_scenario(connection: Connection, org_id: int, ref: str) -> StoredCodingScenario:
    scenario = coding.scenario_by_ref(connection, org_id=org_id, ref=ref)
    if scenario is None:
        raise _not_found(ref)
    return scenario


def _not_found(ref: str) -> NotFound:
    return NotFound(f"There is no coding scenario {ref[:80]}.")


# Scenarios of rows


async def coding_context(platform: Platform, org_id: int, *, is_http_agent: bool) -> CodingContext:
    refs = await platform.database.read(partial(coding.refs_of_org, org_id=org_id))
    return CodingContext(scenarios=refs, is_http_agent=is_http_agent, allow_http=platform.git.allow_http)


async def with_scenarios(
    platform: Platform, org_id: int, seeds: Sequence[Seed | SeedText]
) -> Sequence[Seed | SeedText]:
    """The seeds, those that name a scenario with a copy of it."""
    refs = await asyncio.to_thread(_scenario_refs, seeds)
    if not refs:
        return seeds
    references = sorted(set(refs.values()))
    bodies: dict[str, str] = {}
    for start in range(0, len(references), READ_AT_ONCE):
        some = references[start : start + READ_AT_ONCE]
        bodies |= await platform.database.read(partial(coding.bodies_of, org_id=org_id, refs=some))
    missing = [ref for ref in references if ref not in bodies]
    if missing:
        raise Conflict(f"The coding scenario {missing[0]} was deleted meanwhile.")
    return _SeedsWithScenarios(seeds, refs, bodies)


def _scenario_refs(seeds: Sequence[Seed | SeedText]) -> dict[int, str]:
    """By place, of those that name a scenario."""
    found = {}
    for at, seed in enumerate(seeds):
        ref = seed.scenario_ref if isinstance(seed, Seed) else _ref_in(seed)
        if ref is not None:
            found[at] = ref.strip()
    return found


def _ref_in(seed: SeedText) -> str | None:
    ref = seed.as_json().get("scenario_ref") if b'"scenario_ref":' in seed.text else None
    return ref if isinstance(ref, str) else None


class _SeedsWithScenarios(Sequence[Seed | SeedText]):
    """Copied when one is looked at: of many large ones all at once are too many."""

    def __init__(
        self, seeds: Sequence[Seed | SeedText], refs: dict[int, str], bodies: dict[str, str]
    ) -> None:
        self._seeds = seeds
        self._scenario_refs = refs
        self._bodies = bodies

    def __len__(self) -> int:
        return len(self._seeds)

    @overload
    def __getitem__(self, index: int) -> Seed | SeedText: ...
    @overload
    def __getitem__(self, index: slice) -> list[Seed | SeedText]: ...
    def __getitem__(self, index: int | slice) -> Seed | SeedText | list[Seed | SeedText]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        seed = self._seeds[index]
        ref = self._scenario_refs.get(index)
        if ref is None:
            return seed
        whole = seed if isinstance(seed, Seed) else Seed.from_stored(seed.as_json())
        body = loads_own(self._bodies[ref])
        assert isinstance(body, dict)
        return with_scenario(whole, body)


def scenario_of(seed: Seed) -> CodingScenario | None:
    """The copy that a task has."""
    return CodingScenario.from_stored(seed.coding_scenario) if seed.coding_scenario is not None else None
