"""`pipelines coding import …`: tasks of other benchmarks, read from files and verified by the server."""

from pathlib import Path

from pipelines.cli.client import Server
from pipelines.cli.coding.import_tasks import ImportOptions, import_all
from pipelines.cli.coding.repositories import RepositoryNotFound, seed_at
from pipelines.cli.coding.scenario_files import read_tree
from pipelines.cli.files import read_text, stop
from pipelines.cli.options import Answer
from pipelines.core.coding.import_harbor import CONFIG, read_harbor_task
from pipelines.core.coding.import_swebench import RowSetting, read_swebench_file, read_swebench_row
from pipelines.core.coding.imported import ImportedTask, RefusedTask
from pipelines.core.text.json_text import InvalidJson, JsonObject

DEEPEST = 6  # levels below which no task folder is looked for


def import_harbor(server: Server, options: ImportOptions, path: Path) -> Answer:
    folders = _task_folders(path)
    if not folders:
        stop(f"{path} has no task in it: a task's folder has a {CONFIG}.")
    return import_all(
        server, options, [read_harbor_task(folder.name, read_tree(folder)) for folder in folders]
    )


def import_swebench(
    server: Server,
    options: ImportOptions,
    file: Path,
    *,
    repos: Path | None,
    setting: RowSetting,
    only: tuple[str, ...] = (),
) -> Answer:
    try:
        rows = read_swebench_file(read_text(file), file.name)
    except InvalidJson as error:
        stop(f"{file} {error.predicate}")
    chosen = [(number, row) for number, row in enumerate(rows, 1) if not only or _instance_id(row) in only]
    if not chosen:
        stop(f"{file} has no row{' of ' + ', '.join(only) if only else 's'}.")
    return import_all(server, options, [_read_row(row, number, repos, setting) for number, row in chosen])


def _task_folders(path: Path) -> list[Path]:
    """The folder itself, or every task folder below it."""
    top = path.resolve()
    if not top.is_dir():
        stop(f"{path} is no folder.")
    if (top / CONFIG).is_file():
        return [top]
    found = sorted(config.parent for config in top.rglob(CONFIG))
    return [each for each in found if len(each.relative_to(top).parts) <= DEEPEST]


def _read_row(
    row: object, number: int, repos: Path | None, setting: RowSetting
) -> ImportedTask | RefusedTask:
    seed: JsonObject | None = None
    if repos is not None and isinstance(row, dict) and row.get("repo") and row.get("base_commit"):
        try:
            seed = seed_at(repos, str(row["repo"]), str(row["base_commit"]))
        except RepositoryNotFound as error:
            return RefusedTask(name=_instance_id(row) or f"row {number}", reasons=(str(error),))
    return read_swebench_row(row, number, seed, setting)


def _instance_id(row: object) -> str | None:
    return str(row.get("instance_id")) if isinstance(row, dict) else None
