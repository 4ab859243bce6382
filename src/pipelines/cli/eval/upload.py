"""Scenarios of a file made known to the server: unchanged ones stay as they are, changed ones get a version.

A scenario of the file is one on the server if it has its id, or else its name.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.cli.client import Server
from pipelines.cli.eval.words import plural
from pipelines.cli.files import read_text, stderr, stop, stop_with
from pipelines.cli.junit import printable
from pipelines.core.authored import did_you_mean
from pipelines.core.evals.scenario import FIELDS
from pipelines.core.evals.scenario_file import FileScenario, read_scenarios
from pipelines.core.problems import Refused

SCENARIOS = "/api/v1/eval/scenarios"


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
            stderr.print(told(Path(each), uploaded), markup=False)
            ids += [scenario.id for scenario in uploaded]
    return list(dict.fromkeys(ids))


def told(path: Path, uploaded: Sequence[Uploaded]) -> str:
    counts = {what: [u.what for u in uploaded].count(what) for what in ("created", "changed", "unchanged")}
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{path}: {plural(len(uploaded), 'scenario')} ({said})"


def upload(server: Server, path: Path) -> list[Uploaded]:
    """All or, where the file or a name is in doubt, none: what is wrong is found before anything is sent."""
    scenarios = read_file(path)
    stored = server.every(SCENARIOS)
    pairs = list(_paired(path, scenarios, stored))
    return [_sent(server, scenario, known) for scenario, known in pairs]


def read_file(path: Path) -> tuple[FileScenario, ...]:
    try:
        return read_scenarios(read_text(path))
    except Refused as refused:
        stop_with(refused.problems, str(path))


def _paired(
    path: Path, scenarios: Sequence[FileScenario], stored: Sequence[Any]
) -> Iterator[tuple[FileScenario, Any]]:
    by_id = {known["id"]: known for known in stored}
    by_name: dict[str, list[Any]] = {}
    for known in stored:
        by_name.setdefault(known["name"], []).append(known)
    for given in scenarios:
        name = given.scenario.name
        if given.id is not None:
            if given.id not in by_id:
                near = did_you_mean(given.id, by_id)
                stop(f"{path}: there is no scenario {given.id}" + (f" ({near})" if near else ""))
            yield given, by_id[given.id]
        elif len(by_name.get(name, [])) > 1:
            ids = ", ".join(known["id"] for known in by_name[name])
            stop(f"{path}: {len(by_name[name])} scenarios are named {name!r}; say which by `id`: {ids}")
        else:
            yield given, by_name[name][0] if name in by_name else None


def _sent(server: Server, given: FileScenario, known: Any) -> Uploaded:
    body = given.scenario.as_json()
    if known is None:
        made = server.post(SCENARIOS, body)
        return Uploaded(made["id"], printable(made["name"]), made["version"], "created")
    if body == {key: value for key, value in known.items() if key in FIELDS and value is not None}:
        return Uploaded(known["id"], printable(known["name"]), known["version"], "unchanged")
    made = server.put(f"{SCENARIOS}/{known['id']}", body)
    return Uploaded(made["id"], printable(made["name"]), made["version"], "changed")
