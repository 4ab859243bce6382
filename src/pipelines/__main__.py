"""`python -m pipelines` is the `pipelines` command."""

from pipelines.cli.main import run

run()
