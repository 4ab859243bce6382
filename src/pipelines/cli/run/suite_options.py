"""The options of `pipelines run` that work with suites, and the server that suites run on."""

from pathlib import Path

import typer

from pipelines.cli.files import stop

#: What a suite says for itself.
SET_BY_SUITES = (
    *("agent", "dataset", "resume", "repeats", "concurrency", "fault_seed", "fail_under"),
    *("passthrough", "cassette", "overwrite_cassette", "max_cost_usd", "max_model_tokens"),
    "strict_honesty",
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
    settled = [f"--{name.replace('_', '-')}" for name in given if name in SET_BY_SUITES]
    if settled:
        stop(f"{', '.join(settled)}: a suite says this in {path.name}. Or give both --agent and --dataset.")
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
