"""The `pipelines` command, put together from `commands.py` of each folder.

What a command needs is imported when it is called: --help stays instant.
"""

import sys

import typer

from pipelines.cli.agent.commands import app as odyssey_app
from pipelines.cli.ci.commands import app as ci_app
from pipelines.cli.coding.commands import app as coding_app
from pipelines.cli.endpoints.cassette_commands import app as cassette_app
from pipelines.cli.endpoints.commands import app as endpoints_app
from pipelines.cli.eval.commands import app as eval_app
from pipelines.cli.host.commands import app as host_app
from pipelines.cli.host.model_commands import app as models_app
from pipelines.cli.options import AGENTS, HOST, LIVE, TASKS, Version
from pipelines.cli.results.commands import app as results_app
from pipelines.cli.run.commands import app as run_app
from pipelines.cli.worlds.commands import app as worlds_app

app = typer.Typer(
    help="Odyssey: test AI agents against simulated tools.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # As rich markup, `[default: …]` in a help text would be taken for a style and vanish.
    rich_markup_mode="markdown",
)
# In the order of --help.
for without_a_name in (host_app, run_app, results_app):  # their commands are the app's own
    app.add_typer(without_a_name)
app.add_typer(odyssey_app, name="odyssey", rich_help_panel=AGENTS)
app.add_typer(eval_app, name="eval", rich_help_panel=AGENTS)
app.add_typer(ci_app, name="ci", rich_help_panel=AGENTS)
app.add_typer(coding_app, name="coding", rich_help_panel=TASKS)
app.add_typer(worlds_app, name="worlds", rich_help_panel=TASKS)
app.add_typer(cassette_app, name="cassette", rich_help_panel=LIVE)
app.add_typer(endpoints_app, name="endpoints", rich_help_panel=LIVE)
app.add_typer(models_app, name="models", rich_help_panel=HOST)


@app.callback(invoke_without_command=True)
def main(version: Version = False) -> None:
    """The only option without a command is --version."""


def run() -> None:
    app()


def run_odyssey() -> None:
    """`odyssey …` is short for `pipelines odyssey …`."""
    sys.argv[1:1] = ["odyssey"]
    app()
