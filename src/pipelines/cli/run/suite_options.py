"""The options of `pipelines run` that work with suites, and the server that suites run on."""

from pathlib import Path

import typer

from pipelines.cli.files import stop

#: The options that suites take. Every other one is refused: suites would ignore it.
TAKEN_BY_SUITES = (
    *("suites", "junit", "results", "summary", "as_json", "url", "api_key"),
    *("label", "note"),
)


def run_suites_with_options(
    context: typer.Context,
    names: list[str],
    *,
    junit: Path | None,
    results: Path | None,
    summary: Path | None,
    as_json: bool,
) -> None:
    from pipelines.cli.run.suites import FILE, SuiteOptions, nearest_file, run_suites

    given = [name for name in context.params if _is_given(context, name)]
    path = nearest_file(Path.cwd())
    if path is None:
        if names:
            stop(f"There is no {FILE} here or above: make one with `pipelines ci init`.")
        stop(f"Give --agent and --dataset, or --resume BATCH; or write a {FILE} (`pipelines ci init`).")
    refused = [f"--{name.replace('_', '-')}" for name in given if name not in TAKEN_BY_SUITES]
    if refused:
        stop(
            f"{', '.join(refused)}: suites do not take this. A suite says in {path.name} what it runs and"
            " how. To use the option, name no suite, and give both --agent and --dataset."
        )
    options = SuiteOptions(
        names=tuple(names),
        url=context.params["url"] if "url" in given else None,
        api_key=context.params["api_key"],
        junit=junit,
        results=results,
        summary=summary,
        as_json=as_json,
        label=context.params["label"],
        note=context.params["note"],
    )
    run_suites(path, options)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether the user gave the option: only a server that the user named has to answer."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")
