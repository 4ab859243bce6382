"""`pipelines odyssey conformance`: run the kit against a wrapper, print what fails and why it matters."""

import os
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.markup import escape

from pipelines.cli.agent.conformance_world import DeclaredWorld, SimulatedTask
from pipelines.cli.files import (
    read_agent_rules,
    read_ledger_schema,
    read_object,
    read_tools,
    stop,
    write_text,
)
from pipelines.cli.options import Answer
from pipelines.cli.output.junit import printable, whole_suite
from pipelines.cli.task_file import read_task_file
from pipelines.core.agents.agent_reply import AgentReply, parse_agent_reply
from pipelines.core.agents.agent_response_schema import RESPONSE_SCHEMA
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import InvalidJson, loads
from pipelines.core.tools.tools_schema import Tool
from pipelines.odyssey.conformance import (
    RULES,
    CannotCheck,
    Finding,
    Options,
    Outcome,
    Report,
    ScriptedWorld,
    Wrapper,
    check_wrapper,
)
from pipelines.odyssey.conformance.session import DEFAULT_INSTRUCTION
from pipelines.odyssey.conformance.worlds import WorldMaker
from pipelines.odyssey.conformance.wrapper import url_problem

DOCS = "docs/reference/conformance.md"
OUTCOME_LABELS = {
    Outcome.PASSED: "[green]pass[/]",
    Outcome.FAILED: "[red]FAIL[/]",
    Outcome.WARNED: "[yellow]warn[/]",
    Outcome.SKIPPED: "[dim]skip[/]",
    Outcome.NOT_OBSERVABLE: "[dim]n/o [/]",
}
_RESPONSE = CompiledSchema(RESPONSE_SCHEMA)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConformanceOptions:
    url: str
    auth_header: str | None
    token_env: str | None
    instruction: str | None
    tools: Path | None
    dataset: Path | None
    task: int
    replies: Path | None
    only: tuple[str, ...]
    slow_s: float
    timeout_s: float
    proxy_host: str
    proxy_port: int
    proxy_url: str | None
    junit: Path | None


def check_conformance(options: ConformanceOptions) -> Answer:
    wrapper = _read_wrapper(options)
    seed, make_world = _read_task(options)
    _check_proxy(options)
    if options.junit is not None:
        write_text(options.junit, "")  # better now than after all the dispatches
    kit_options = Options(
        instruction=options.instruction or (seed.user_instruction if seed else DEFAULT_INSTRUCTION),
        task_input={} if seed is None or seed.task_input is None else seed.task_input,
        slow_s=options.slow_s,
        reply_problems=reply_problems,
    )
    try:
        report = check_wrapper(
            wrapper,
            kit_options,
            make_world=make_world,
            proxy_host=options.proxy_host,
            proxy_port=options.proxy_port,
            proxy_url=options.proxy_url,
            only=options.only,
        )
    except CannotCheck as error:
        stop(str(error))
    except OSError as error:
        stop(f"the test proxy cannot listen on {options.proxy_host}:{options.proxy_port}: {error.strerror}")
    if options.junit is not None:
        write_text(options.junit, as_junit(report, options.url))
    return Answer(report.as_json(), lambda _: _print(report, options.url), 0 if report.ok else 1)


def _read_wrapper(options: ConformanceOptions) -> Wrapper:
    problems = [url_problem(options.url)]
    name, value = "Authorization", None
    if options.auth_header is not None and options.token_env is not None:
        problems.append("give --auth-header or --token-env, not both")
    elif options.auth_header is not None:
        name, _, value = (part.strip() for part in options.auth_header.partition(":"))
        if not name or not value or not f"{name}{value}".isprintable():
            problems.append('--auth-header must look like "Authorization: Bearer <token>"')
    elif options.token_env is not None:
        token = os.environ.get(options.token_env)
        value = f"Bearer {token}"
        if not token:
            problems.append(f"the environment variable {options.token_env} is not set")
    unknown = [each for each in options.only if not any(rule.startswith(each) for rule in RULES)]
    if unknown:
        problems.append(f"--only {', '.join(unknown)}: there is no such rule; see {DOCS}")
    if failed := [problem for problem in problems if problem is not None]:
        stop("\n".join(failed))
    return Wrapper(url=options.url, auth_name=name, auth_value=value, timeout_s=options.timeout_s)


def _check_proxy(options: ConformanceOptions) -> None:
    if options.proxy_url is not None and url_problem(options.proxy_url) is not None:
        stop(f"--proxy-url: {url_problem(options.proxy_url)}")
    if options.proxy_host in ("0.0.0.0", "::") and options.proxy_url is None:
        stop(f"--proxy-host {options.proxy_host}: name the address for the agent with --proxy-url")


def _read_task(options: ConformanceOptions) -> tuple[Seed | None, WorldMaker]:
    """The task of a CSV and its simulated backend; without a CSV, tools that answer from a table."""
    tools = read_tools(options.tools) if options.tools is not None else None
    if options.dataset is not None:
        if tools is None or options.tools is None:
            stop("--dataset needs --tools: the tools whose backend is simulated.")
        schema = read_ledger_schema(options.tools)
        seed = _read_row(options.dataset, options.task, tools, schema)
        return seed, SimulatedTask(tools, schema, seed, read_agent_rules(options.tools))
    replies = read_object(options.replies) if options.replies is not None else {}
    if tools is None:
        return None, lambda: ScriptedWorld(replies)
    return None, lambda: DeclaredWorld(tools, replies)


def _read_row(path: Path, number: int, tools: tuple[Tool, ...], schema: LedgerSchema | None) -> Seed:
    seeds = read_task_file(path, tools, schema).seeds
    if number > len(seeds):
        stop(f"{path} has {len(seeds)} tasks; there is no task {number}.")
    return seeds[number - 1]


def reply_problems(raw: bytes, content_type: str) -> list[tuple[bool, str]]:
    """The parts of an answer that the platform would drop (True) or only warn about (False).

    A missing final_response has its own rule and is not in this list.
    """
    try:
        body = loads(raw)
    except InvalidJson:
        return []
    found = [
        problem for problem in _RESPONSE.problems(body) if not problem.path.startswith("/final_response")
    ]
    if not isinstance(body, dict) or found:
        return [(True, f"{problem.path or 'the whole'}: {problem.message}") for problem in found]
    reply = parse_agent_reply(raw, content_type)
    return [(False, warning) for warning in reply.soft_warnings] if isinstance(reply, AgentReply) else []


def _print(report: Report, url: str) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]{escape(url)}[/]: {report.dispatches} requests")
    width = max(len(finding.rule) for finding in report.findings)
    for finding in report.findings:
        found = escape(printable(finding.found))
        console.print(f"{OUTCOME_LABELS[finding.outcome]}  {finding.rule:<{width}}  {found}")
    for outcome in (Outcome.FAILED, Outcome.WARNED):
        for finding in report.findings:
            if finding.outcome is outcome:
                _explain(console, finding)
    counts = ", ".join(f"{len(report.of(outcome))} {outcome.value}" for outcome in Outcome)
    console.print(f"\n{counts}. The rules: {DOCS}")


def _explain(console: Console, finding: Finding) -> None:
    rule = finding.explained
    console.print(f"\n{OUTCOME_LABELS[finding.outcome]}  [bold]{finding.rule}[/]: {escape(rule.title)}")
    console.print(f"  Seen: {escape(printable(finding.found))}")
    console.print(f"  Why: {escape(rule.why)}")
    console.print(f"  Change: {escape(rule.change)}")


def as_junit(report: Report, url: str) -> str:
    """A test case per rule. A warning passes, and says so in its output."""
    suite = ElementTree.Element(
        "testsuite", name=f"odyssey conformance {url}", tests=str(len(report.findings))
    )
    for finding in report.findings:
        group, _, name = finding.rule.partition(".")
        case = ElementTree.SubElement(suite, "testcase", classname=f"conformance.{group}", name=name)
        found, rule = printable(finding.found), finding.explained
        if finding.outcome is Outcome.FAILED:
            text = f"{found}\n{rule.why}\n{rule.change}"
            ElementTree.SubElement(case, "failure", message=rule.title).text = text
        elif finding.outcome in (Outcome.SKIPPED, Outcome.NOT_OBSERVABLE):
            ElementTree.SubElement(case, "skipped", message=f"{finding.outcome.value}: {found}")
        elif finding.outcome is Outcome.WARNED:
            ElementTree.SubElement(case, "system-out").text = f"warned: {found}\n{rule.why}"
    unseen = len(report.of(Outcome.SKIPPED)) + len(report.of(Outcome.NOT_OBSERVABLE))
    return whole_suite(suite, failures=len(report.failed), errors=0, skipped=unseen)
