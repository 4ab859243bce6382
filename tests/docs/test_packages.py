"""What people install: packages that build to the same bytes, containers, and services of systemd."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.repository import DOCS, ROOT

SOURCES = ("src", "examples", "pyproject.toml", "README.md", "LICENSE")


def checkout(folder: Path) -> Path:
    """A copy of what packages are made of, without what is ignored."""
    folder.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", *SOURCES, ".gitignore"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return folder


def build(sources: Path, out: Path, *targets: str) -> dict[str, str]:
    """The packages by name, with their digests."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out), *targets],
        cwd=sources,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}


@pytest.mark.slow
def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    first = build(checkout(tmp_path / "a"), tmp_path / "first")
    assert {name.rpartition(".")[2] for name in first} == {"whl", "gz"}
    assert build(checkout(tmp_path / "b"), tmp_path / "second") == first
    # The wheel that the source package gives is the wheel of the checkout.
    [archive] = (tmp_path / "first").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "c", filter="data")
    [unpacked] = (tmp_path / "c").iterdir()
    wheel = build(unpacked, tmp_path / "third", "-t", "wheel")
    assert wheel.items() <= first.items()


@pytest.mark.slow
def test_the_wheel_works_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """With the packages of this environment, which are the locked ones, and no checkout beside it."""
    [wheel] = build(checkout(tmp_path / "a"), tmp_path / "dist", "-t", "wheel")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    [site] = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    here = Path(yaml.__file__).parent.parent
    shutil.unpack_archive(tmp_path / "dist" / wheel, site, "zip")
    (site / "locked.pth").write_text(f"{here}\n")
    python = tmp_path / "venv" / "bin" / "python"

    def run(*arguments: str) -> str:
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "COLUMNS": "80"}
        done = subprocess.run(
            [str(python), *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert str(site) in run("-c", "import pipelines; print(pipelines.__file__)")
    run("-m", "pipelines.cli.main", "odyssey", "init", "--dir", "desk")
    assert "PASS" in run(str(site / "pipelines" / "examples" / "demo.py"))


def test_the_image_is_made_as_make_installs() -> None:
    makefile, image = (ROOT / "Makefile").read_text(), (ROOT / "Dockerfile").read_text()
    for step in re.findall(
        r"\$\(PIP\) (--require-hashes --no-deps -r constraints.txt|--no-deps --no-build-\S+)", makefile
    ):
        assert f"install --quiet {step}" in image
    copied = set(re.findall(r"^COPY (?!--)(.+) \S+$", image, re.MULTILINE))
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored
    assert "USER odyssey" in image


def test_the_services_are_confined_and_say_whether_they_are_well() -> None:
    compose: Any = yaml.safe_load((ROOT / "compose.yaml").read_text())
    services = compose["services"]
    assert set(services) == {"server", "worker", "database"}
    for name in ("server", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in services["database"]
    assert "HEALTHCHECK" in (ROOT / "Dockerfile").read_text()
    known = (DOCS / "reference" / "settings.md").read_text()
    used = re.findall(
        r"PIPELINES_\w+", (ROOT / "compose.yaml").read_text() + (ROOT / "Dockerfile").read_text()
    )
    assert all(f"`{name}`" in known for name in used)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_services_of_the_docs(tmp_path: Path) -> None:
    page = (DOCS / "howto" / "operate.md").read_text()
    units = [
        unit for unit in re.findall(r"^```ini\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "[Unit]" in unit
    ]
    assert units
    for number, unit in enumerate(units):
        path = tmp_path / f"odyssey-{number}.service"
        path.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit, flags=re.MULTILINE))
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True
        )
        own = [line for line in done.stderr.splitlines() if path.name in line]
        assert (done.returncode, own) == (0, []), done.stderr
