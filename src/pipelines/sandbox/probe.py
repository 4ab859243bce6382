"""Can code be isolated on this machine? Answered by doing it once, with the whole recipe."""

import os
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pipelines.core.text.json_text import JsonObject
from pipelines.sandbox.job import Limits
from pipelines.sandbox.launcher_client import Launcher
from pipelines.sandbox.recipe import Interpreter, Layout, bubblewrap, interpreters, is_root, isolated
from pipelines.sandbox.sandbox import Sandbox, StartFailed

_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_GUIDE = "docs/reference/sandbox.md says what each system needs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What was found. `python` and `bwrap` are there when code can be isolated."""

    is_isolated: bool
    reason: str  # for a person: what works, or why not
    remedy: str | None = None  # what an operator can do
    python: Interpreter | None = None
    bwrap: str | None = None

    def as_json(self) -> JsonObject:
        whole: JsonObject = {"isolated": self.is_isolated, "reason": self.reason}
        whole |= {"remedy": self.remedy} if self.remedy else {}
        return whole | ({"python": str(self.python.executable)} if self.python else {})


async def probe() -> Probe:
    """With a launcher of its own, for a command that only wants to know."""
    launcher = Launcher()
    await launcher.start()
    try:
        return await probe_with(launcher)
    finally:
        await launcher.close()


async def probe_with(launcher: Launcher) -> Probe:
    bwrap = bubblewrap()
    if platform.system() != "Linux":
        return Probe(is_isolated=False, reason=f"{platform.system()} has no namespaces", remedy=_GUIDE)
    if bwrap is None:
        remedy = "install bubblewrap 0.8 or newer (apt-get install bubblewrap, dnf install bubblewrap)"
        return Probe(is_isolated=False, reason="bubblewrap (bwrap) is not installed", remedy=remedy)
    failures = []
    for python in interpreters():
        failure = await _try(launcher, python, bwrap)
        if failure is None:
            user = "under a user id of its own" if is_root() else "as this user in namespaces of its own"
            reason = f"bubblewrap runs {python.executable} {user}"
            return Probe(is_isolated=True, reason=reason, python=python, bwrap=bwrap)
        failures.append(f"with {python.executable}: {failure}")
    return Probe(is_isolated=False, reason="; ".join(failures), remedy=_remedy(failures))


async def _try(launcher: Launcher, python: Interpreter, bwrap: str) -> str | None:
    """None if it works, else what was said."""
    with tempfile.TemporaryDirectory(prefix="odyssey-probe-") as empty:
        os.chmod(empty, 0o755)
        usual = Limits()
        layout = Layout(
            source_dir=Path(empty),
            environment=None,
            disk_bytes=usual.disk_bytes,
            memory_bytes=usual.memory_bytes,
        )
        sandbox = Sandbox(launcher, is_isolated=True)
        try:
            await sandbox.start(isolated(layout, python, bwrap=bwrap, slot=0))
        except StartFailed as error:
            return str(error)
        finally:
            await sandbox.close()
    return None


def _remedy(failures: list[str]) -> str:
    output = " ".join(failures)
    if "Unknown option" in output or "unknown option" in output:
        return "install bubblewrap 0.8 or newer"
    if _APPARMOR.exists() and _APPARMOR.read_text().strip() == "1":
        return f"AppArmor forbids bubblewrap to make user namespaces: give /usr/bin/bwrap a profile; {_GUIDE}"
    if Path("/.dockerenv").exists() or "unshare mounts" in output:
        return f"a container needs permission to make namespaces; {_GUIDE}"
    if "namespace" in output or "uid map" in output:
        return f"user namespaces are switched off (sysctl user.max_user_namespaces); {_GUIDE}"
    return _GUIDE
