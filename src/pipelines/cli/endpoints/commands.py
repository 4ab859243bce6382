"""`pipelines endpoints …`: live services behind tools that are passed through."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Answer, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(
    help="Real services, MCP servers and functions that answer live (passthrough) tools.",
    no_args_is_help=True,
    add_completion=False,
)
Name = Annotated[str, typer.Argument(help="The endpoint's name.")]


@app.command()
@with_server
def add(
    server: "Server",
    name: Annotated[str, typer.Argument(help="A name that is unique in your org, such as orders-api.")],
    openapi: Annotated[
        str | None, typer.Option(metavar="FILE|URL", help="An HTTP service: its OpenAPI document.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="With --openapi: where the service answers.")] = None,
    mcp: Annotated[str | None, typer.Option(metavar="URL", help="An MCP server over HTTP.")] = None,
    mcp_command: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="A program that is an MCP server; it runs in the sandbox."),
    ] = None,
    code: Annotated[
        Path | None, typer.Option(metavar="FILE.py", help="Python functions, run in the sandbox.")
    ] = None,
    function: Annotated[
        list[str] | None, typer.Option(help="With --code: only this function. Repeatable.")
    ] = None,
    requirements: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --code: the packages it needs.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="With --code: a host it may reach. Repeatable.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VAR=CREDENTIAL", help="With --code or --mcp-command: set this variable to a credential."
        ),
    ] = None,
    bearer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Send the stored credential of this name as a bearer token."),
    ] = None,
    api_key_header: Annotated[
        str | None,
        typer.Option(
            "--api-key-header", metavar="HEADER=CREDENTIAL", help="Send a credential in this header."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Update the endpoint of this name if it exists.")
    ] = False,
) -> Answer:
    """Register an endpoint and find its tools. Give --openapi, --mcp, --mcp-command or --code."""
    from pipelines.cli.endpoints.add import NewEndpoint, add_endpoint

    endpoint = NewEndpoint(
        name=name,
        openapi=openapi,
        base_url=base_url,
        mcp=mcp,
        mcp_command=mcp_command,
        code=code,
        functions=tuple(function or ()),
        requirements=requirements,
        allow_hosts=tuple(allow_host or ()),
        env=tuple(env or ()),
        bearer=bearer,
        api_key_header=api_key_header,
    )
    return add_endpoint(server, endpoint, replace=replace)


@app.command()
@with_server
def discover(
    server: "Server",
    name: Name,
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept the changes, so that agents with these tools can run.")
    ] = False,
) -> Answer:
    """Ask an endpoint for its tools again, and print what changed since you accepted them."""
    from pipelines.cli.output.endpoint_report import discover_tools

    return discover_tools(server, name, accept=accept)


@app.command()
@with_server
def tools(
    server: "Server",
    name: Name,
    tool: Annotated[str | None, typer.Argument(help="Only this one, with its schemas.")] = None,
) -> Answer:
    """List the tools found on an endpoint, or show one of them."""
    from pipelines.cli.output.endpoint_report import show_tools

    return show_tools(server, name, tool)


@app.command()
@with_server
def call(
    server: "Server",
    name: Name,
    tool: Annotated[str, typer.Argument(help="The tool, as `endpoints tools` lists it.")],
    arguments: Annotated[str, typer.Argument(help="Its arguments as a JSON object.")] = "{}",
) -> Answer:
    """Call one tool on the live endpoint and print its answer. Exit code 3 if it does not answer."""
    from pipelines.cli.output.endpoint_report import call_tool

    return call_tool(server, name, tool, arguments)


@app.command(name="list")
@with_server
def list_command(server: "Server") -> Answer:
    """List the endpoints of your org, newest first."""
    from pipelines.cli.output.endpoint_report import show_endpoints

    return show_endpoints(server)


@app.command()
@with_server
def rm(server: "Server", name: Name) -> None:
    """Delete an endpoint. Refused while agents use its tools."""
    from pipelines.cli.output.endpoint_report import remove_endpoint

    remove_endpoint(server, name)
