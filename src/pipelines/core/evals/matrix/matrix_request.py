"""Parses a request for a matrix, or for runs of one scenario, and collects all problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.core.agents.agent_definition import MAX_CONCURRENCY
from pipelines.core.agents.build_label import FIELDS as LABEL_FIELDS
from pipelines.core.agents.build_label import BuildLabel, read_build_label
from pipelines.core.agents.delivery import delivery_problem
from pipelines.core.evals.scenarios.pair import HOW, JOINT
from pipelines.core.evals.scenarios.variation import BUILTIN, DEFAULT_INTENSITY, INTENSITIES, Variation
from pipelines.core.models.model_budget import FIELDS as BUDGET_FIELDS
from pipelines.core.models.model_budget import Budget, read_budget
from pipelines.core.text.authored import Fields, did_you_mean, is_id, kind, quote_names
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused

MAX_REPEATS = 100
MAX_RNG_SEED = 2**53 - 1  # what every JSON reader gives back as it was
MOST_HINTS = 20  # names compared with all there are: a body may hold thousands
_SHARED = (
    *("agent_id", "repeats", "baseline_repeats", "intensity", "delivery", "rng_seed", "parallel"),
    *("concurrency", *BUDGET_FIELDS, *LABEL_FIELDS),
)
MATRIX_FIELDS = ("scenario_ids", "variation_types", *_SHARED)
RUN_FIELDS = ("scenario_id", "variation_type", *_SHARED)


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixRequest:
    scenario_ids: tuple[str, ...]
    variation_ids: tuple[str, ...]  # none: only baselines
    agent_id: int | None = None
    repeats: int = 1
    baseline_repeats: int | None = None  # None: as many as the repeats call for
    intensity: int = DEFAULT_INTENSITY
    delivery: str | None = None  # None: as the agent is set to
    rng_seed: int | None = None  # None: to be drawn
    concurrency: int = MAX_CONCURRENCY
    budget: Budget = field(default_factory=Budget)
    label: BuildLabel = field(default_factory=BuildLabel)
    is_run: bool = False  # runs of one scenario, which may be compared with baselines that are there

    @property
    def baselines(self) -> int:
        """Of each scenario. Twice as many as of a cell: all its cells are compared with them."""
        if self.baseline_repeats is not None:
            return self.baseline_repeats
        return 1 if self.repeats == 1 else 2 * self.repeats


def read_matrix(body: JsonObject) -> MatrixRequest:
    """Every scenario crossed with every variation."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(MATRIX_FIELDS)
    fields.require("scenario_ids", '["scn_…"]')
    scenario_ids = _ids(fields, "scenario_ids", "a matrix without scenarios has no cells")
    nothing = "a matrix without variations has no cells; leave the field out for all built-in variations"
    variation_ids = _ids(fields, "variation_types", nothing)
    if "variation_types" not in body or body["variation_types"] is None:
        variation_ids = tuple(BUILTIN)
    return _read_shared(fields, scenario_ids=scenario_ids, variation_ids=variation_ids)


def read_run(body: JsonObject) -> MatrixRequest:
    """One scenario without pressure, or under one variation."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(RUN_FIELDS)
    fields.require("scenario_id", '"scn_…"')
    scenario_id, variation_id = fields.text("scenario_id"), fields.text("variation_type")
    return _read_shared(
        fields,
        scenario_ids=(scenario_id,) if scenario_id is not None else (),
        variation_ids=(variation_id,) if variation_id is not None else (),
        is_run=True,
    )


def unknown_variations(asked: MatrixRequest, known: Mapping[str, Variation]) -> list[Problem]:
    """Those that are not there, and those that have no words at the intensity asked for."""
    problems: list[Problem] = []
    for place, id in enumerate(asked.variation_ids):
        path = "/variation_type" if asked.is_run else f"/variation_types/{place}"
        variation = known.get(id)
        if variation is None:
            hint = HOW if JOINT in id else did_you_mean(id, known) or f"there are {quote_names(known)}"
            problems.append(
                Problem(
                    path=path,
                    message=f"there is no variation `{id[:80]}`",
                    hint=_limited_hint(hint, problems),
                )
            )
        elif asked.intensity not in variation.intensities:
            there = quote_names(map(str, variation.intensities))
            message = f"`{id}` has no wordings of intensity {asked.intensity}; there are {there}"
            problems.append(Problem(path="/intensity", message=message))
    return problems


def unknown_scenarios(
    asked: MatrixRequest, known: Sequence[str] | Mapping[str, object], names: Mapping[str, str]
) -> list[Problem]:
    """Those that are not there. `names` are those of some that are: a name is often given for an id."""
    problems: list[Problem] = []
    for place, id in enumerate(asked.scenario_ids):
        if id not in known:
            path = "/scenario_id" if asked.is_run else f"/scenario_ids/{place}"
            hint = _scenario_hint(id, names) if len(problems) < MOST_HINTS else None
            problems.append(Problem(path=path, message=f"there is no scenario `{id[:80]}`", hint=hint))
    return problems


def _scenario_hint(id: str, names: Mapping[str, str]) -> str | None:
    called = [known for known, name in names.items() if name == id]
    if called:
        return f"`{id[:80]}` is the name of {called[0]}"
    return did_you_mean(id, names) or (None if names else "there are no scenarios yet: create one first")


def _limited_hint(hint: str, before: list[Problem]) -> str | None:
    return hint if len(before) < MOST_HINTS else None


def _read_shared(
    fields: Fields, *, scenario_ids: tuple[str, ...], variation_ids: tuple[str, ...], is_run: bool = False
) -> MatrixRequest:
    agent_id = fields.get("agent_id")
    if agent_id is not None and not is_id(agent_id):
        fields.refuse("agent_id", "`agent_id` must be the id of an agent")
    has_baselines = fields.has("baseline_repeats")
    baselines = fields.whole_number("baseline_repeats", 1, least=1, most=2 * MAX_REPEATS)
    has_seed = fields.has("rng_seed")
    rng_seed = fields.whole_number("rng_seed", 0, least=0, most=MAX_RNG_SEED)
    delivery = fields.get("delivery")
    if delivery is not None and (problem := delivery_problem(delivery, fields.at("delivery"))):
        fields.problems.append(problem)
    repeats = fields.whole_number("repeats", 1, least=1, most=MAX_REPEATS)
    intensity = fields.whole_number(
        "intensity", DEFAULT_INTENSITY, least=INTENSITIES[0], most=INTENSITIES[-1]
    )
    concurrency = fields.whole_number("concurrency", MAX_CONCURRENCY, least=1, most=MAX_CONCURRENCY)
    is_parallel = _flag(fields, "parallel")
    budget = read_budget(fields)
    label = read_build_label(fields)
    if not is_parallel and fields.has("concurrency") and concurrency > 1:
        fields.refuse("concurrency", '`"parallel": false` means one run at a time', "remove one of the two")
    if fields.problems:
        raise Refused(fields.problems, "the run" if is_run else "the matrix")
    return MatrixRequest(
        scenario_ids=scenario_ids,
        variation_ids=variation_ids,
        agent_id=agent_id if is_id(agent_id) else None,
        repeats=repeats,
        baseline_repeats=baselines if has_baselines else None,
        intensity=intensity,
        delivery=delivery if isinstance(delivery, str) else None,
        rng_seed=rng_seed if has_seed else None,
        concurrency=concurrency if is_parallel else 1,
        budget=budget,
        label=label,
        is_run=is_run,
    )


def _ids(fields: Fields, key: str, if_empty: str) -> tuple[str, ...]:
    listed = fields.get(key)
    if listed == []:
        fields.refuse(key, f"`{key}` is empty: {if_empty}")
        return ()
    ids = fields.texts(key)
    first: dict[str, int] = {}
    for place, id in enumerate(ids):
        if first.setdefault(id, place) != place:
            path = fields.at(key) + pointer([place])
            hint = "to run a cell more than once, use `repeats`"
            fields.problems.append(Problem(path=path, message=f"`{id[:80]}` is listed twice", hint=hint))
    return ids


def _flag(fields: Fields, key: str) -> bool:
    value: Json = fields.get(key)
    if value is None or isinstance(value, bool):
        return value is not False
    fields.refuse(key, f"`{key}` must be true or false, not {kind(value)}")
    return True
