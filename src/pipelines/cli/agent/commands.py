"""`pipelines odyssey …`: agents, and the simulated tools they use. Each command parses, calls and prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines.cli.options import DEFAULT_URL, Answer, ApiKey, Json, Version, with_json, with_server
from pipelines.wire.names import ENV_RUN_TOKEN

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(
    help="Create an agent, try it and register it; see what its simulated tools do.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def main(version: Version = False) -> None:
    """The only option without a command is --version."""


@app.command()
@with_server
def plan(
    server: "Server",
    tools: Annotated[
        Path, typer.Argument(help="tools.json (a tools_schema), or an agent.json that has one.")
    ],
    state: Annotated[
        Path | None, typer.Argument(help="The world: a file of tasks, or state.json (an initial_state).")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Which task of the file: its id or its number. [default: the first]")
    ] = None,
    behavior: Annotated[
        str | None, typer.Option(help="Behaviour text, as in a CSV's behavior column.")
    ] = None,
    tool: Annotated[list[str] | None, typer.Option(help="Only this tool. Repeatable.")] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Let the server's model propose plans for tools whose plan is a guess or differs from the"
            " recording.",
        ),
    ] = False,
    recording: Annotated[
        Path | None,
        typer.Option(help="With --write: a recording to learn from, and to measure the proposals by."),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(
            help="With --write: save plans as a new version of the agent: `all` that are suggested, or those"
            " of tools by name, as in get_order,find_user."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what each simulated tool will do, as YAML that you can correct and keep."""
    from pipelines.cli.agent.plans import print_plans, seed_for

    if not write:
        print_plans(tools, state, task=task, behavior=behavior, only=tool or [], as_json=as_json)
        return
    from pipelines.cli.agent.write_plans import write_plans

    seed = seed_for(tools, state, task)
    write_plans(
        server,
        tools,
        seed,
        behavior=behavior,
        only=tool or [],
        recording=recording,
        accept=accept,
        as_json=as_json,
    )


@app.command()
@with_server
def rules(
    server: "Server",
    dataset_id: Annotated[int, typer.Argument(help="The dataset with the behaviour texts.")],
    propose: Annotated[
        bool,
        typer.Option(
            "--propose", help="Let the server's model translate the sentences that are not understood."
        ),
    ] = False,
    sentence: Annotated[
        list[str] | None,
        typer.Option(
            "--sentence",
            help="With --propose: translate this sentence, even if it is understood. Repeatable.",
        ),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(
            "--accept", metavar="IDS", help="Accept these proposals, all of them or none: 3,4,7, or `all`."
        ),
    ] = None,
    dismiss: Annotated[
        list[str] | None,
        typer.Option(
            "--dismiss", metavar="SENTENCE", help="Do not enforce this sentence, by intent. Repeatable."
        ),
    ] = None,
) -> Answer:
    """Show how a model translated sentences into rules, and which rules are accepted."""
    from pipelines.cli.agent.rules import show_rules

    return show_rules(
        server,
        dataset_id,
        propose=propose,
        sentences=sentence or [],
        accept=accept,
        dismiss=dismiss or [],
    )


@app.command()
@with_json
def fidelity(
    directory: Annotated[Path, typer.Argument(help="A recording: tools.json, calls.jsonl, state.json.")],
    plans: Annotated[
        Path | None, typer.Option(help="Your own plans (YAML), used for the tools that they name.")
    ] = None,
) -> Answer:
    """Replay a recording of a real backend and print how often the simulator answers and acts the same."""
    from pipelines.cli.agent.fidelity import measure_fidelity

    return measure_fidelity(directory, plans)


@app.command()
@with_server
def record(
    server: "Server",
    run_ids: Annotated[list[int], typer.Argument(help="Runs whose tools a real backend answered.")],
    directory: Annotated[Path, typer.Option("--dir", help="Where to write the recording.")],
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulated", help="Also record calls that the simulator answered, marked as simulated."
        ),
    ] = False,
) -> None:
    """Turn stored runs into a recording that `fidelity` can measure.

    Refuses runs that the simulator answered, unless --simulated is given.
    """
    from pipelines.cli.agent.record import write_recording

    write_recording(server, run_ids, directory, may_be_simulated=simulated)


McpClient = Literal["claude-code", "cursor", "codex", "vscode"]


@app.command("mcp-config")
@with_server
def mcp_config(
    server: "Server",
    client: Annotated[McpClient, typer.Option(help="The MCP client to configure.")],
    run: Annotated[int | None, typer.Option(help="The run whose tools the client uses.")] = None,
    agent: Annotated[int | None, typer.Option(help="With --task: open a run of this agent.")] = None,
    task: Annotated[int | None, typer.Option(help="With --agent: the id of the task to run.")] = None,
    stdio: Annotated[
        bool,
        typer.Option("--stdio", help="Connect by the program pipelines-mcp-shim, which Odyssey installs."),
    ] = False,
    name: Annotated[str, typer.Option(help="Name of the server in the client's configuration.")] = "odyssey",
    token_env: Annotated[
        str, typer.Option(help="Environment variable with the run's token.")
    ] = ENV_RUN_TOKEN,
) -> None:
    """Print the configuration that connects an MCP client to the simulated tools of a run."""
    from pipelines.cli.agent.mcp_config import ClientOptions, print_config

    options = ClientOptions(client=client, name=name, token_env=token_env, is_stdio=stdio)
    print_config(server, options, run_id=run, agent=agent, task=task)


@app.command()
@with_json
def lint(
    tasks: Annotated[Path, typer.Argument(help="tasks.csv, or .tsv, .yaml, .json, .jsonl.")],
    tools: Annotated[Path | None, typer.Option(help="tools.json, or an agent.json that has them.")] = None,
) -> Answer:
    """Find oracles that prove nothing: an agent that does nothing passes them, or no agent can pass them."""
    from pipelines.cli.agent.lint import lint_tasks

    return lint_tasks(tasks, tools)


@app.command()
@with_json
def oracle(
    tasks: Annotated[Path, typer.Argument(help="tasks.csv, or .tsv, .yaml, .json, .jsonl.")],
    calls: Annotated[
        Path | None,
        typer.Argument(
            help="calls.json: for each task an array of {tool, arguments}. [default: column gold_calls]"
        ),
    ] = None,
    from_calls: Annotated[
        bool,
        typer.Option(
            "--from-calls", help="Required: replay the gold calls, and take their result as the oracle."
        ),
    ] = False,
    tools: Annotated[
        Path | None,
        typer.Option(help="tools.json, or an agent.json that has them. [default: beside the tasks]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write the tasks with oracles to, .csv or .json. [default: TASKS.oracles.csv]"
        ),
    ] = None,
) -> Answer:
    """Derive the oracles of tasks from gold calls, without a server. Exit code 1 when a call fails."""
    from pipelines.cli.agent.gold_calls import derive_oracles
    from pipelines.cli.files import stop

    if not from_calls:
        stop("Say what to derive the oracles from: pipelines odyssey oracle tasks.csv --from-calls")
    return derive_oracles(tasks, calls, tools=tools, out=out)


Framework = Literal["plain", "openai-agents", "anthropic", "langchain", "strands"]
Mode = Literal["http", "code"]
Dir = Annotated[Path, typer.Option("--dir", help="The agent's folder.")]
App = Annotated[str | None, typer.Option(help="The app, as module:attribute. [default: app:app]")]
AgentFile = Annotated[Path | None, typer.Option(help="The agent's registration file. [default: agent.json]")]
TasksFile = Annotated[Path | None, typer.Option(help="The file of tasks. [default: tasks.csv]")]
TokenEnv = Annotated[str, typer.Option(help="Environment variable with the agent's own token.")]
LocalServer = Annotated[
    str | None, typer.Option(help=f"The Odyssey server. [default: {DEFAULT_URL}]", envvar="PIPELINES_URL")
]


@app.command()
def init(
    directory: Annotated[Path, typer.Option("--dir", help="A new or empty folder.")],
    framework: Annotated[Framework, typer.Option(help="The framework that the agent uses.")] = "plain",
    mode: Annotated[Mode, typer.Option(help="http: your own endpoint; code: code that you upload.")] = "http",
) -> None:
    """Create an agent with tools, tasks and a test that passes at once, without a model key."""
    from pipelines.cli.agent.init import write_agent

    write_agent(directory, framework, mode)


@app.command()
@with_json
def doctor(
    app: App = None,
    url: Annotated[str | None, typer.Option(help="URL of a running agent, instead of --app.")] = None,
    dataset: TasksFile = None,
    agent: AgentFile = None,
    directory: Dir = Path(),
    server: LocalServer = None,
    token_env: TokenEnv = "AGENT_TOKEN",
) -> Answer:
    """Find what would keep an agent from running, and how to fix it. Exit code 1 if there is a problem."""
    from pipelines.cli.doctor.doctor import DoctorOptions, examine, show_findings
    from pipelines.cli.project import find_project

    project = find_project(directory, app=app, agent=agent, dataset=dataset)
    options = DoctorOptions(
        url=url,
        token_variable=token_env,
        server=server or DEFAULT_URL,
        is_server_named=bool(server),
    )
    return show_findings(list(examine(project, options)))


@app.command()
def dev(
    app: App = None,
    dataset: TasksFile = None,
    agent: AgentFile = None,
    task: Annotated[list[int] | None, typer.Option(help="Only this task (1, 2, …). Repeatable.")] = None,
    port: Annotated[int, typer.Option(help="The agent's port; 0 picks a free one.")] = 0,
    once: Annotated[
        bool, typer.Option("--once", help="Run the tasks once; exit code 1 if one fails.")
    ] = False,
    directory: Dir = Path(),
    server: LocalServer = None,
    api_key: ApiKey = None,
    token_env: TokenEnv = "AGENT_TOKEN",
) -> None:
    """Run the agent's tasks and print each call as it happens; run them again when a file changes."""
    from pipelines.cli.agent.dev import DevOptions, develop
    from pipelines.cli.project import find_project

    options = DevOptions(
        read_project=lambda: find_project(directory, app=app, agent=agent, dataset=dataset),
        tasks=tuple(task or ()),
        port=port,
        server=server or DEFAULT_URL,
        api_key=api_key,
        token_variable=token_env,
        once=once,
    )
    develop(options)


@app.command()
@with_server
def register(
    server: "Server",
    agent: AgentFile = None,
    endpoint_url: Annotated[
        str | None, typer.Option(help="The agent's URL. [default: the one in agent.json]")
    ] = None,
    directory: Dir = Path(),
    token_env: TokenEnv = "AGENT_TOKEN",
) -> None:
    """Register the agent of a folder, or a new version of it. Reads its token from the environment."""
    from pipelines.cli.agent.register import register_and_ping, wait_for
    from pipelines.cli.project import find_project

    project = find_project(directory, agent=agent)
    wait_for(server.url)
    register_and_ping(server, project, token_variable=token_env, endpoint_url=endpoint_url)


@app.command()
@with_json
def conformance(
    url: Annotated[str, typer.Option(help="The agent's endpoint.")],
    auth_header: Annotated[
        str | None, typer.Option(help='The auth header, such as "Authorization: Bearer TOKEN".')
    ] = None,
    token_env: Annotated[str | None, typer.Option(help="Variable that holds the bearer token.")] = None,
    instruction: Annotated[str | None, typer.Option(help="A prompt that makes the agent use a tool.")] = None,
    tools: Annotated[Path | None, typer.Option(help="tools.json, or an agent.json that has them.")] = None,
    dataset: Annotated[
        Path | None, typer.Option(help="tasks.csv: take the prompt and the backend from it.")
    ] = None,
    task: Annotated[int, typer.Option(min=1, help="Which task of --dataset, 1 is the first.")] = 1,
    replies: Annotated[Path | None, typer.Option(help="replies.json: {tool: response}.")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Check only this rule, or the rules that begin with this text, such as tools. Repeatable."
        ),
    ] = None,
    slow: Annotated[
        float, typer.Option(min=0, help="Seconds that the tool call takes which the check answers slowly.")
    ] = 12.0,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for an answer.")] = 120.0,
    proxy_host: Annotated[str, typer.Option(help="Address that the test proxy listens on.")] = "127.0.0.1",
    proxy_port: Annotated[int, typer.Option(help="Port of the test proxy; 0 picks a free one.")] = 0,
    proxy_url: Annotated[
        str | None, typer.Option(help="URL at which the agent reaches the test proxy.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
) -> Answer:
    """Check an agent in any language against the HTTP contract. Exit code 1 if it breaks a rule."""
    from pipelines.cli.agent.conformance import ConformanceOptions, check_conformance

    options = ConformanceOptions(
        url=url,
        auth_header=auth_header,
        token_env=token_env,
        instruction=instruction,
        tools=tools,
        dataset=dataset,
        task=task,
        replies=replies,
        only=tuple(only or ()),
        slow_s=slow,
        timeout_s=timeout,
        proxy_host=proxy_host,
        proxy_port=proxy_port,
        proxy_url=proxy_url,
        junit=junit,
    )
    return check_conformance(options)
