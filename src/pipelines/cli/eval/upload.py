"""Uploads the scenarios of a file: unchanged ones stay as they are, changed ones get a new version.

A scenario of the file belongs to the one on the server with the same `id`, or else the same name. The file's
own variations are uploaded first.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.cli.client import Server
from pipelines.cli.files import or_stop, read_text, stderr, stop
from pipelines.cli.output.junit import printable
from pipelines.cli.output.phrases import plural
from pipelines.core.evals.scenarios.scenario import FIELDS, Scenario
from pipelines.core.evals.scenarios.scenario_file import ScenarioFile, read_scenario_file
from pipelines.core.text.authored import did_you_mean

SCENARIOS, VARIATIONS = "/api/v1/eval/scenarios", "/api/v1/eval/variations"


class Uploaded(NamedTuple):
    id: str
    name: str
    version: int
    what: str  # created, changed, unchanged


def scenario_ids(server: Server, given: Sequence[str]) -> list[str]:
    """Ids of what was named, in its order: files are uploaded, ids are taken as they are."""
    ids: list[str] = []
    for each in given:
        if each.startswith("scn_") and not Path(each).exists():
            ids.append(each)
        else:
            uploaded = upload(server, Path(each))
            stderr.print(upload_summary(Path(each), uploaded), markup=False)
            ids += [scenario.id for scenario in uploaded]
    return list(dict.fromkeys(ids))


def upload_summary(path: Path, uploaded: Sequence[Uploaded]) -> str:
    counts = {what: [u.what for u in uploaded].count(what) for what in ("created", "changed", "unchanged")}
    text = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{path}: {plural(len(uploaded), 'scenario')} ({text})"


def upload(server: Server, path: Path) -> list[Uploaded]:
    """What is wrong with the file, or in doubt, is found before anything is sent."""
    variations = server.every(VARIATIONS)
    file = _read_file(path, [variation["id"] for variation in variations])
    stored = server.every(SCENARIOS)
    known = [_find_stored(path, id, scenario, stored) for id, scenario in file.entries]
    for variation in file.variations:
        server.post(VARIATIONS, variation.as_json())
    return [_store(server, *pair) for pair in zip(file.scenarios, known, strict=True)]


def _read_file(path: Path, variations: list[str]) -> ScenarioFile:
    file = or_stop(path, read_scenario_file, read_text(path), variations=variations)
    names = [scenario.name for scenario in file.scenarios]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        stop(f"{path}: {', '.join(map(repr, twice))}: several scenarios have this name; each needs its own")
    return file


def _find_stored(path: Path, id: str | None, scenario: Scenario, stored: Sequence[Any]) -> Any:
    """The one on the server that it is; None if it is new."""
    if id is not None:
        found = [known for known in stored if known["id"] == id]
        if not found:
            near = did_you_mean(id, [known["id"] for known in stored]) or "without `id` it is a new one"
            stop(f"{path}: there is no scenario {id} on the server ({near})")
        return found[0]
    found = [known for known in stored if known["name"] == scenario.name]
    if len(found) > 1:
        ids = ", ".join(known["id"] for known in found)
        stop(f"{path}: {len(found)} scenarios are named {scenario.name!r}; say which by its `id`: {ids}")
    return found[0] if found else None


def _store(server: Server, scenario: Scenario, known: Any) -> Uploaded:
    body = scenario.as_json()
    if known is None:
        stored = server.post(SCENARIOS, body)
        return Uploaded(stored["id"], printable(stored["name"]), stored["version"], "created")
    # A field that the file leaves out is taken away: the file is the whole scenario, not a change to it.
    stored = server.put(f"{SCENARIOS}/{known['id']}", dict.fromkeys(FIELDS) | body)
    what = "unchanged" if stored["version"] == known["version"] else "changed"
    return Uploaded(stored["id"], printable(stored["name"]), stored["version"], what)
