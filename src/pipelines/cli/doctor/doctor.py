"""`pipelines odyssey doctor`: everything that would keep an agent from running, in one pass."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipelines.cli.doctor.agent_files import agent_findings, environment_findings, task_findings
from pipelines.cli.doctor.bindings import binding_findings
from pipelines.cli.doctor.code import code_findings
from pipelines.cli.doctor.endpoint import Endpoint, endpoint_findings, probe_finding
from pipelines.cli.doctor.findings import Finding, Level, count_findings, ok, problem, warning
from pipelines.cli.options import Answer
from pipelines.cli.output.junit import printable
from pipelines.cli.output.phrases import plural
from pipelines.cli.processes import AppFailed, served_app
from pipelines.cli.project import Project, token_from_environment

COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "red"}
IMPORT = "import"
START = "write one with `pipelines odyssey init`, or name yours: --agent FILE, --app module:app or --url"


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorOptions:
    """What to check besides the folder."""

    url: str | None  # a running agent
    token_variable: str
    server: str
    is_server_named: bool  # by the user: then it has to be there


def examine(project: Project, options: DoctorOptions) -> Iterator[Finding]:
    yield from environment_findings(project.directory)
    if options.url is None and project.app is None and not project.is_code and project.agent is None:
        # Without any of them there is nothing that could be ready.
        yield problem(
            "agent", f"there is no agent in {project.directory}: no agent.json, and no app is named", START
        )
    if options.url is not None:
        yield from _check_endpoint(project, options, options.url)
    elif project.app is not None:
        yield from _check_app(project, options, project.app)
    elif project.is_code:
        yield from code_findings(project)
    else:
        yield warning(
            IMPORT, "there is no app to check", "name it: --app module:app, or --url of a running one"
        )
    probe = probe_finding(options.server, is_named=options.is_server_named)
    yield probe
    yield from agent_findings(project)
    yield from binding_findings(project, options.server, is_reached=probe.level is Level.OK)
    yield from task_findings(project)


def _check_endpoint(project: Project, options: DoctorOptions, url: str) -> Iterator[Finding]:
    token, is_set = token_from_environment(options.token_variable)
    value = project.auth_value(token) if is_set else None
    yield from endpoint_findings(Endpoint(url=url, header_name=project.auth_header, header_value=value))


def _check_app(project: Project, options: DoctorOptions, app: str) -> Iterator[Finding]:
    token, is_set = token_from_environment(options.token_variable)
    try:
        with served_app(app, project.directory, env={options.token_variable: token}) as served:
            yield ok(IMPORT, f"{app} is imported and starts")
            if not is_set:
                new_secret = "$(python -c 'import secrets; print(secrets.token_urlsafe(32))')"
                change = f"before you run the agent: export {options.token_variable}={new_secret}"
                yield warning(
                    "auth token", f"{options.token_variable} is not set; this check used a random one", change
                )
            endpoint = Endpoint(
                url=served.url + project.dispatch_path,
                header_name=project.auth_header,
                header_value=project.auth_value(token),
                post_paths=tuple(served.post_paths),
            )
            yield from endpoint_findings(endpoint)
    except AppFailed as failed:
        where = f"{failed.place}: " if failed.place is not None else ""
        line = f"  {failed.code}" if failed.code else ""
        yield problem(
            IMPORT, "\n".join(filter(None, [f"{where}{failed.error}", line])), _import_hint(failed, app)
        )


def _import_hint(failed: AppFailed, app: str) -> str:
    if "No module named" in failed.error:
        module = app.partition(":")[0]
        if failed.place is None and f"'{module}'" in failed.error:
            return f"`{app}` means a name in the file {module}.py: is it in --dir?"
        return "install what is missing: pip install -r requirements.txt"
    return "correct this line" if failed.place is not None else f"`{app}` must name an ASGI or WSGI app"


def show_findings(findings: list[Finding]) -> Answer:
    """The exit code is 1 if there is a problem; warnings alone give 0."""
    problems, warnings = count_findings(findings, Level.PROBLEM), count_findings(findings, Level.WARNING)

    def show(_: object) -> None:
        console = Console(highlight=False)
        console.print(_table(findings))
        console.print(_summary(problems, warnings))

    value = {"ok": problems == 0, "findings": [finding.as_json() for finding in findings]}
    return Answer(value, show, 1 if problems else 0)


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for no_wrap in (True, True, False):
        table.add_column(no_wrap=no_wrap)
    for finding in findings:
        text = escape("\n".join(map(printable, finding.seen.splitlines())))
        if finding.change is not None:
            text += f"\n[dim]→[/] {escape(printable(finding.change))}"
        table.add_row(f"[{COLOURS[finding.level]}]{finding.level.value}[/]", finding.check, text)
    return table


def _summary(problems: int, warnings: int) -> str:
    counted = [plural(problems, "problem")] if problems else []
    counted += [plural(warnings, "warning")] if warnings else []
    if problems:
        return f"\n[red]Not ready[/]: {', '.join(counted)}"
    return f"\n[green]Ready[/]{' with ' + counted[0] if counted else ''}. Try it: pipelines odyssey dev"
