"""Sets up how the server runs uploaded code: folders, hidden folders and limits, from its settings."""

from pathlib import Path
from typing import Literal

from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.workspaces.code_mode import CodeMode
from pipelines.engine.workspaces.prepare_workspace import Workspaces
from pipelines.engine.workspaces.share_workspaces import Sharing, WorkspaceLimits
from pipelines.outbound.address_guard import GuardedBackend
from pipelines.outbound.fetch_git import GitFetcher
from pipelines.sandbox import cgroups
from pipelines.sandbox.environments import Environments
from pipelines.sandbox.held_commands import HeldCommands
from pipelines.sandbox.job import MEBIBYTE
from pipelines.sandbox.pool import SandboxPool
from pipelines.server.config.settings import Settings

MOST_MCP_SERVERS = 16  # that are programs, at a time


def code_folder(settings: Settings) -> Path:
    """The folder of unpacked uploaded code."""
    return settings.data_dir.resolve() / "code"


def environments_folder(settings: Settings) -> Path:
    """The folder of installed packages."""
    return settings.data_dir.resolve() / "environments"


def workspaces_folder(settings: Settings) -> Path:
    """The folder of prepared workspaces of coding scenarios."""
    return settings.data_dir.resolve() / "workspaces"


def workspaces(
    settings: Settings, code_mode: CodeMode, git: GitFetcher, network: GuardedBackend
) -> Workspaces:
    limits = WorkspaceLimits(
        bytes=settings.workspace_mb * MEBIBYTE,
        files=settings.workspace_files,
        diff_bytes=settings.workspace_diff_kb * 1024,
    )
    directory = workspaces_folder(settings)
    sharing: Sharing = settings.workspace_sharing  # type: ignore[assignment] # one of its choices
    return Workspaces(
        code_mode, git=git, network=network, directory=directory, limits=limits, sharing=sharing
    )


def groups_of(settings: Settings) -> cgroups.Groups | None:
    """The operator's cgroup, after a test. Raises Refused if a named cgroup cannot be used, because a limit
    that the operator relies on must not be missing silently."""
    if not settings.sandbox_cgroup:
        return None
    try:
        return cgroups.open_groups(settings.sandbox_cgroup)
    except cgroups.CannotUse as error:
        where = f"PIPELINES_SANDBOX_CGROUP={settings.sandbox_cgroup}"
        raise Refused([Problem(path=where, message=str(error))], "the settings") from None


def hidden_folders(settings: Settings) -> tuple[Path, ...]:
    """The data directory, and the folder of the database if it is elsewhere. The whole folder is hidden,
    because the log and lock files of the database appear and disappear in it."""
    folders = [settings.data_dir.resolve()]
    if not settings.is_shared:
        folders.append(settings.database_path.resolve().parent)
    return tuple(dict.fromkeys(folders))


def mcp_commands(settings: Settings, groups: cgroups.Groups | None) -> HeldCommands | None:
    """Starts MCP servers that are local programs; None if the operator set no folder for them. They run long,
    so they have their own sandboxes and do not reduce those of agents."""
    if not settings.mcp_stdio:
        return None
    folder = Path(settings.mcp_stdio).expanduser()
    if not folder.is_absolute() or not folder.is_dir():
        where = f"PIPELINES_MCP_STDIO={settings.mcp_stdio}"
        message = "is not a folder: use the absolute path of the folder with the MCP servers"
        raise Refused([Problem(path=where, message=message)], "the settings")
    return HeldCommands(
        lambda: SandboxPool(
            warm=0,
            most_warm=0,
            most_running=MOST_MCP_SERVERS,
            groups=groups,
            hidden=hidden_folders(settings),
        ),
        folder.resolve(),
    )


def code_mode(settings: Settings, groups: cgroups.Groups | None) -> CodeMode:
    isolation: Literal["required", "preferred"] = "preferred" if settings.runs_unsafe_code else "required"
    return CodeMode(
        lambda: SandboxPool(
            isolation=isolation,
            most_running=settings.sandboxes_at_once or None,
            groups=groups,
            hidden=hidden_folders(settings),
        ),
        lambda pool: Environments(environments_folder(settings), python=pool.python.executable),
        folder=code_folder(settings),
    )
