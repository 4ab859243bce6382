"""Scenarios as a file, YAML or JSON: several in one, with variations of one's own if they need any.

What `as_yaml` and `as_json_text` write is read back as exactly the same scenarios and variations.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pipelines.core.evals.scenarios.scenario import FIELDS, Scenario, read_scenario
from pipelines.core.evals.scenarios.variation import BUILTIN, Variation, read_variation
from pipelines.core.text.authored import Fields, as_list
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import YamlText, entries_as_yaml, read_yaml

LARGEST_YAML = 2 * 1024 * 1024  # bytes; reading it takes seconds, and people write no longer files by hand
LARGEST_JSON = 32 * 1024 * 1024
MOST_SCENARIOS = 5_000
# Of one scenario that a person edits. YAML of that length takes a second to read; more is written as JSON.
LONGEST_EDITED_YAML = 64 * 1024  # characters
LONGEST_EDITED_TEXT = 1024 * 1024
SCENARIO_ID = "scn_"
MOST_VARIATIONS = 200

_HINT = "give `scenarios`, a list, and optionally `variations`"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenarioFile:
    scenarios: tuple[Scenario, ...]
    variations: tuple[Variation, ...] = ()  # the author's own
    #: Which scenario of a server each one is; None where only its name says so. Empty: none has an id.
    ids: tuple[str | None, ...] = ()

    @property
    def entries(self) -> list[tuple[str | None, Scenario]]:
        ids = self.ids or (None,) * len(self.scenarios)
        return list(zip(ids, self.scenarios, strict=True))

    def as_json(self) -> JsonObject:
        listed: list[Json] = []
        for id, scenario in self.entries:
            known: JsonObject = {"id": id} if id is not None else {}
            listed.append(known | scenario.as_json())
        body: JsonObject = {"scenarios": listed}
        own: list[Json] = [variation.as_json() for variation in self.variations]
        return body | ({"variations": own} if own else {})

    def as_yaml(self) -> str:
        return entries_as_yaml(self.as_json())

    def as_json_text(self) -> str:
        return json.dumps(self.as_json(), ensure_ascii=False, indent=2) + "\n"


def read_scenario_file(
    text: str, *, format: Literal["yaml", "json"] | None = None, variations: Collection[str] = ()
) -> ScenarioFile:
    """What a file holds: `{scenarios: […], variations: […]}`, a list of scenarios, or one of them alone.

    Refused with everything wrong with it, and in YAML where it stands. Without `format` a text that begins
    like JSON and is JSON is taken as that. `variations` are ids that scenarios may name beside the built-in
    ones and the file's own.
    """
    read = _value_of(text, format)
    problems: list[Problem] = []
    file = _read_body(read.value, variations, problems)
    ids = tuple(_read_id(entry, at, problems) for at, entry in _entries_of(read.value))
    if problems:
        raise Refused([read.placed(problem) for problem in problems], "the file")
    return replace(file, ids=ids if any(ids) else ())


def read_edited_scenario(text: str, *, what: str, fields: str, too_long: str) -> tuple[JsonObject, YamlText]:
    """The mapping that a person edits, not checked yet, and where each value stands.

    JSON has lines too where it reads as YAML and is not too long.
    """
    is_json = text.lstrip()[:1] == "{"
    longest = LONGEST_EDITED_TEXT if is_json else LONGEST_EDITED_YAML
    if len(text) > longest:
        message = f"has {len(text):,} characters; of {'JSON' if is_json else 'YAML'} at most {longest:,} are"
        hint = too_long if is_json else "write it as JSON"
        raise Refused([Problem(path="", message=f"{message} edited here", hint=hint)], what)
    read = _value_with_places(text)
    if not isinstance(read.value, dict):
        message = f"a scenario is a mapping with {fields}"
        raise Refused([Problem(path="", message=message)], what)
    return read.value, read


def format_edited(body: JsonObject, as_yaml: str) -> str:
    """YAML, as people write it; JSON where that would be too long to be read back while somebody types."""
    is_short = len(as_yaml) <= LONGEST_EDITED_YAML
    return as_yaml if is_short else json.dumps(body, ensure_ascii=False, indent=2)


def _value_with_places(text: str) -> YamlText:
    read = _value_of(text, None)
    if read.places or len(text) > LONGEST_EDITED_YAML:
        return read
    try:
        as_yaml = read_yaml(text, what="scenario", most_bytes=LARGEST_YAML)
    except Refused:  # tabs, say
        return read
    return replace(read, places=as_yaml.places)


def _entries_of(body: Json) -> list[tuple[str, Json]]:
    """The scenarios of a file, each with its place."""
    if isinstance(body, dict) and "scenarios" not in body:
        return [("", body)] if any(key in FIELDS for key in body if key != "variations") else []
    listed = body.get("scenarios") if isinstance(body, dict) else body
    path = "/scenarios" if isinstance(body, dict) else ""
    return (
        [(path + pointer([at]), each) for at, each in enumerate(listed)] if isinstance(listed, list) else []
    )


def _read_id(entry: Json, path: str, problems: list[Problem]) -> str | None:
    id = entry.get("id") if isinstance(entry, dict) else None
    if id is None or (isinstance(id, str) and id.startswith(SCENARIO_ID)):
        return id
    hint = "remove it: the name identifies the scenario"
    problems.append(Problem(path=f"{path}/id", message="must be the id of a scenario, scn_…", hint=hint))
    return None


def _value_of(text: str, format: Literal["yaml", "json"] | None) -> YamlText:
    is_json = format == "json" or (format is None and text.lstrip()[:1] in ("{", "["))
    if not is_json:
        return read_yaml(text, what="scenario", most_bytes=LARGEST_YAML)
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_JSON:
        message = f"the file is too large; at most {LARGEST_JSON >> 20} MiB are allowed"
        raise Refused([Problem(path="", message=message)], "the file")
    try:
        return YamlText(value=loads(text), places={})
    except InvalidJson as error:
        if format is None:  # a flow sequence of YAML begins like JSON too
            return read_yaml(text, what="scenario", most_bytes=LARGEST_YAML)
        raise Refused([Problem(path="", message=error.predicate)], "the file") from None


def _read_body(body: Json, known: Collection[str], problems: list[Problem]) -> ScenarioFile:
    if isinstance(body, list):
        return ScenarioFile(scenarios=_read_scenarios(body, "", {*BUILTIN, *known}, problems))
    if not isinstance(body, dict):
        problems.append(Problem(path="", message="the file has no scenarios", hint=_HINT))
        return ScenarioFile(scenarios=())
    # `variations` is a field of a scenario too: what tells one alone is a field that only it has.
    if "scenarios" not in body and any(key in FIELDS for key in body if key != "variations"):
        return ScenarioFile(scenarios=_read_one(body, "", {*BUILTIN, *known}, problems))
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("scenarios", "variations"))
    own = _read_variations(fields, problems)
    entries = fields.get("scenarios")
    if entries is None and not own and not problems:
        problems.append(Problem(path="", message="the file has no scenarios", hint=_HINT))
    ids = {*BUILTIN, *known, *(variation.id for variation in own)}
    scenarios = _read_scenarios(entries, "/scenarios", ids, problems) if entries is not None else ()
    return ScenarioFile(scenarios=scenarios, variations=own)


def _read_scenarios(
    entries: Json, path: str, known: Collection[str], problems: list[Problem]
) -> tuple[Scenario, ...]:
    listed = _limit_entries(
        as_list(entries, path, problems, "`scenarios`") or [], MOST_SCENARIOS, path, problems
    )
    read = [_read_one(entry, path + pointer([at]), known, problems) for at, entry in enumerate(listed)]
    return tuple(scenario for one in read for scenario in one)


def _read_one(
    entry: Json, path: str, known: Collection[str], problems: list[Problem]
) -> tuple[Scenario, ...]:
    try:
        body = (
            {key: value for key, value in entry.items() if key != "id"} if isinstance(entry, dict) else entry
        )
        return (read_scenario(body, path=path, variations=known),)
    except Refused as refused:
        problems += refused.problems
        return ()


def _read_variations(fields: Fields, problems: list[Problem]) -> tuple[Variation, ...]:
    path, value = fields.at("variations"), fields.get("variations")
    if value is None:
        return ()
    listed = _limit_entries(
        as_list(value, path, problems, "`variations`") or [], MOST_VARIATIONS, path, problems
    )
    read: dict[str, Variation] = {}
    for index, entry in enumerate(listed):
        at = path + pointer([index])
        try:
            variation = read_variation(entry, path=at)
        except Refused as refused:
            problems += refused.problems
            continue
        if variation.id in read:
            message = f"two variations have the id `{variation.id}`"
            problems.append(Problem(path=at + "/id", message=message))
        read[variation.id] = variation
    return tuple(read.values())


def _limit_entries(entries: Sequence[Json], most: int, path: str, problems: list[Problem]) -> Sequence[Json]:
    if len(entries) > most:
        message = f"there are {len(entries):,} entries; at most {most:,} are allowed in one file"
        problems.append(Problem(path=path, message=message))
        return ()
    return entries
