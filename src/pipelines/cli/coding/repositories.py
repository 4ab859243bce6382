"""Local repositories as archives of one commit, for rows whose repository is not fetched."""

import base64
import subprocess
import tempfile
from pathlib import Path

from pipelines.core.text.json_text import JsonObject

SUFFIXES = ("", ".git", ".bundle")
GIT_S = 120


class RepositoryNotFound(Exception):
    """The repository or the commit is missing; the message says which."""


def seed_at(repos: Path, repo: str, commit: str) -> JsonObject:
    """The tree of a commit, without any history, as a workspace seed. Raises RepositoryNotFound."""
    source = _find_repository(repos, repo)
    with tempfile.TemporaryDirectory() as folder:
        # A clone, since a bundle is no repository, and so that nothing is ever written to the source.
        _git(
            "clone",
            "-q",
            "--bare",
            "--no-hardlinks",
            "--",
            str(source),
            folder,
            what=f"{source} cannot be read",
        )
        # Attributes of the tree could leave files out of an archive: without a work tree this reads none.
        archive = ("archive", "--worktree-attributes", "--format=tar.gz", commit)
        data = _git("-C", folder, *archive, what=f"{source} has no commit {commit[:40]}")
    return {"type": "archive", "data": base64.b64encode(data).decode()}


def _find_repository(repos: Path, repo: str) -> Path:
    names = [repo, repo.replace("/", "__"), repo.rpartition("/")[2]]
    for place in (repos / f"{name}{suffix}" for name in names for suffix in SUFFIXES):
        if place.is_file() or (place.is_dir() and ((place / ".git").exists() or (place / "HEAD").is_file())):
            return place
    raise RepositoryNotFound(f"{repos} has no repository {repo} ({repo}, {repo}.git or {repo}.bundle)")


def _git(*arguments: str, what: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, timeout=GIT_S, check=False)
    except FileNotFoundError:
        raise RepositoryNotFound("git is not installed here, and --repos needs it") from None
    except subprocess.TimeoutExpired:
        raise RepositoryNotFound(f"{what}: git took over {GIT_S} s") from None
    if done.returncode:
        text = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RepositoryNotFound(f"{what}: {text[-1] if text else 'git says nothing'}")
    return done.stdout
