"""`pipelines token`: a token for /api/v1, signed with the server's own key."""

from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from pipelines.cli.files import exit_with_problems
from pipelines.core.text.problems import Refused
from pipelines.server.config.settings import load_settings
from pipelines.server.tokens import mint

stderr = Console(stderr=True, highlight=False)


def print_token(*, role: str, subject: str, hours: float, org: str | None, **flags: Any) -> None:
    """Only the token goes to stdout, so that `$(pipelines token)` works."""
    try:
        token = mint(load_settings(**flags), role=role, subject=subject, hours=hours, org=org)
    except Refused as refused:
        raise exit_with_problems(refused) from None
    typer.echo(token)
    stderr.print(
        f"Role {role}, subject {escape(subject)}, valid for {hours:g} h. Send it as Authorization: Bearer …"
    )
