"""`pipelines odyssey lint`: how the rules of tasks are read, and what is wrong with their oracles, before any
agent is run against them."""

from pathlib import Path

from pipelines.cli.files import read_agent_rules, read_ledger_schema, read_tools
from pipelines.cli.options import Answer
from pipelines.cli.output.phrases import plural
from pipelines.cli.output.sentence_report import read_lines
from pipelines.cli.task_file import read_task_file
from pipelines.core.task_files.upload_warnings import grouped, plan_warnings, sentences_in_file
from pipelines.core.tasks.rule_warnings import rule_warnings
from pipelines.core.verdict.lint.lint import lint_seeds


def lint_tasks(tasks: Path, tools: Path | None) -> Answer:
    declared = read_tools(tools) if tools is not None else None
    schema = read_ledger_schema(tools) if tools is not None else None
    read = read_task_file(tasks, declared, schema)
    seeds = read.seeds
    oracles = lint_seeds(seeds, tools=declared, ledger_schema=schema)
    rules = read_agent_rules(tools) if tools is not None else ()
    plans = plan_warnings(seeds, tools=declared, ledger_schema=schema, rules=rules)
    about_rules = rule_warnings(seeds, tools=declared, ledger_schema=schema, rules=rules)
    found = grouped(read.in_file([*plans.unread, *about_rules, *oracles, *plans.others]))
    sentences = sentences_in_file(plans.sentences, read.rows)
    lines = list(read_lines(sentences))
    for problem in found:
        hint = f" ({problem.hint})" if problem.hint else ""
        lines.append(f"row {problem.row}, {problem.column}: {problem.message}{hint}")
    lines.append(f"{plural(len(seeds), 'task')}, {plural(len(found), 'warning')}")
    value = {"warnings": [problem.as_json() for problem in found], "sentences": [*sentences]}
    # A guess, or a sentence without effect, is to be known of and may be fine.
    return Answer.line(value, "\n".join(lines))._replace(code=1 if oracles else 0)
