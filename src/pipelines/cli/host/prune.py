"""`pipelines prune`: removes unused files and prints what that freed."""

from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from pipelines.cli.files import exit_with_problems
from pipelines.core.text.problems import Refused
from pipelines.server.config.settings import load_settings
from pipelines.server.service.housekeeping import prune_once

stderr = Console(stderr=True, highlight=False)
_MEBIBYTE = 1024 * 1024


def prune(*, is_dry: bool, **flags: Any) -> None:
    try:
        lines = prune_once(load_settings(**flags), is_dry=is_dry)
    except Refused as refused:
        raise exit_with_problems(refused) from None
    except OSError as error:
        stderr.print(f"[red]{escape(str(error))}[/]", soft_wrap=True)
        raise typer.Exit(2) from None
    for line in lines:
        typer.echo(f"{line.bytes / _MEBIBYTE:10.1f} MiB  {line.what}  ({line.reason})")
    freed = sum(line.bytes for line in lines) / _MEBIBYTE
    typer.echo(f"{'Would free' if is_dry else 'Freed'} {freed:.1f} MiB.")
