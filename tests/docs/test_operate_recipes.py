"""Every recipe of docs/howto/operate.md that starts a server, read as settings: is a server that other people
reach also treated as one?"""

import itertools
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from pipelines.server.config.settings import SETTINGS, Settings, load_settings

pytestmark = pytest.mark.unit

PAGE = Path(__file__).parents[2] / "docs/howto/operate.md"
SECTION = re.compile(r"^## (.+)$", re.M)
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.M | re.S)
GIVEN = re.compile(r"(PIPELINES_[A-Z_]+)=([^\s`…]+)")
START = re.compile(r"pipelines (?:up|worker)\b([^\n`]*)")
KNOWN = {setting.variable for setting in SETTINGS}
FLAGS = {"--host": "PIPELINES_HOST", "--database-url": "PIPELINES_DATABASE_URL"}


class Recipe(NamedTuple):
    section: str
    environment: dict[str, str]

    def settings(self) -> Settings:
        return load_settings(self.environment)


def _recipes() -> list[Recipe]:
    """One per section that starts a server or says how others reach one."""
    pieces = SECTION.split(PAGE.read_text("utf-8"))[1:]
    found = []
    for title, text in zip(pieces[::2], pieces[1::2], strict=True):
        environment = {name: value for name, value in GIVEN.findall(text) if name in KNOWN}
        starts = [match.group(1) for block in BLOCK.findall(text) for match in START.finditer(block)]
        for start in starts:
            words = shlex.split(start, comments=True)
            for flag, value in itertools.pairwise(words):
                if flag in FLAGS:
                    environment[FLAGS[flag]] = value.replace("…", "user@host/database")
        if starts or "PIPELINES_PUBLIC_URL" in environment:
            environment.pop("PIPELINES_SANDBOX_CGROUP", None)  # names a group of the machine
            found.append(Recipe(title, environment))
    return found


RECIPES = {recipe.section: recipe for recipe in _recipes()}
REACHED_BY_OTHERS = {"Behind a proxy", "Several workers", "As a systemd service"}


def test_the_recipes_for_servers_that_others_reach_are_found():
    assert RECIPES.keys() >= REACHED_BY_OTHERS


@pytest.mark.parametrize("section", RECIPES)
def test_only_a_server_that_its_own_machine_alone_reaches_is_private(section: str):
    settings = RECIPES[section].settings()
    is_alone = section not in REACHED_BY_OTHERS
    assert settings.is_private is is_alone
    assert settings.allows_private_endpoints is is_alone
    assert (settings.calls_a_minute == 0) is is_alone
