"""`pipelines open`: a link that signs a browser in to the pages; it works once."""

import webbrowser
from urllib.parse import quote

import typer

from pipelines.cli.client import Server
from pipelines.cli.options import Answer


def open_pages(server: Server, page: str | None, *, in_browser: bool) -> Answer:
    """Only the link goes to stdout, so that `$(pipelines open)` works."""
    answer = server.post("/api/sign-in-links")
    path = answer["path"] + (f"&next={quote('/' + page.lstrip('/'), safe='')}" if page else "")
    link = server.url.rstrip("/") + path

    def show(_: object) -> None:
        typer.echo(link)
        typer.echo("It signs in one browser, for 10 minutes from now.", err=True)

    if in_browser and not webbrowser.open(link):
        typer.echo("There is no browser to open here: take the link to one.", err=True)
    return Answer({"url": link, "expires_at": answer["expires_at"]}, show)
