"""Settings: flags before variables before defaults, and every problem at once."""

import base64
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.text.problems import Refused
from pipelines.server.config.settings import SETTINGS, load_settings
from pipelines.server.service.sandboxes import mcp_commands


def test_the_defaults_are_those_of_the_table() -> None:
    loaded = load_settings({})
    for setting in SETTINGS:
        assert str(getattr(loaded, setting.field)) == str(setting.default)
    assert loaded.host == "127.0.0.1"
    assert loaded.calls_a_minute == 0


def test_a_flag_wins_over_its_variable_and_a_variable_over_the_default() -> None:
    environment = {"PIPELINES_PORT": "1234", "PIPELINES_HOST": "0.0.0.0"}
    loaded = load_settings(environment, port=99, host=None)
    assert (loaded.port, loaded.host) == (99, "0.0.0.0")


def test_zero_is_a_value() -> None:
    loaded = load_settings({"PIPELINES_PROXY_RATE_LIMIT": "0"}, port=0)
    assert (loaded.port, loaded.calls_a_minute) == (0, 0)


PLACES: dict[str, tuple[dict[str, str], int]] = {
    "on loopback there is no limit": ({}, 0),
    "on loopback by name": ({"PIPELINES_HOST": "localhost"}, 0),
    "reached from elsewhere": ({"PIPELINES_HOST": "0.0.0.0"}, 60),
    "reached through something in front": ({"PIPELINES_PUBLIC_URL": "https://odyssey.example.com"}, 60),
    "asked for on loopback": ({"PIPELINES_PROXY_RATE_LIMIT": "60"}, 60),
    "asked not to have one": ({"PIPELINES_HOST": "0.0.0.0", "PIPELINES_PROXY_RATE_LIMIT": "0"}, 0),
    "asked to depend": ({"PIPELINES_HOST": "::", "PIPELINES_PROXY_RATE_LIMIT": "auto"}, 60),
}


@pytest.mark.parametrize(("environment", "limit"), PLACES.values(), ids=PLACES)
def test_the_rate_limit_fits_the_place(environment: dict[str, str], limit: int) -> None:
    assert load_settings(environment).calls_a_minute == limit


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "data/odyssey.db"),
        ("sqlite:///other.db", "other.db"),
        ("sqlite:////var/lib/o.db", "/var/lib/o.db"),
    ],
)
def test_where_the_database_is(url: str, path: str) -> None:
    assert load_settings({"PIPELINES_DATABASE_URL": url}, data_dir="data").database_path == Path(path)


BAD: dict[str, tuple[str, str]] = {
    "a port that is no number": ("PIPELINES_PORT", "http"),
    "a port below zero": ("PIPELINES_PORT", "-1"),
    "a port too high": ("PIPELINES_PORT", "65536"),
    "a port of thousands of digits": ("PIPELINES_PORT", "9" * 5000),
    "an empty port": ("PIPELINES_PORT", ""),
    "digits of another script": ("PIPELINES_PORT", "１２３"),
    "a limit that is no number": ("PIPELINES_PROXY_RATE_LIMIT", "many"),
    "another durability": ("PIPELINES_SYNCHRONOUS", "off"),
    "another database": ("PIPELINES_DATABASE_URL", "mysql://localhost/x"),
    "a database that is no URL": ("PIPELINES_DATABASE_URL", "odyssey.db"),
    "a database without a path": ("PIPELINES_DATABASE_URL", "sqlite:///"),
    "a short key": ("PIPELINES_API_KEY", "short"),
    "a key with a space": ("PIPELINES_API_KEY", "pk_live_ 123"),
    "a key with a line break": ("PIPELINES_API_KEY", "pk_live_123\n"),
    "a key that is not ASCII": ("PIPELINES_API_KEY", "pk_live_ä123"),
    "a secret key that is none": ("PIPELINES_SECRET_KEY", "not base64"),
    "a secret key too short": ("PIPELINES_SECRET_KEY", base64.b64encode(b"x" * 16).decode()),
    "no time at all": ("PIPELINES_MANUAL_RUN_TTL_S", "0"),
    "a time past the calendar": ("PIPELINES_MANUAL_RUN_TTL_S", "9" * 18),
    "a level that is none": ("PIPELINES_LOG_LEVEL", "loud"),
    "a level in capitals": ("PIPELINES_LOG_LEVEL", "INFO"),
    "another log format": ("PIPELINES_LOG_FORMAT", "xml"),
    "half an access log": ("PIPELINES_ACCESS_LOG", "on"),
    "no upload at all": ("PIPELINES_UPLOAD_LIMIT_MB", "0"),
}
PUBLIC_URLS: dict[str, tuple[str, str]] = {
    "without a scheme": ("odyssey.example.com", "https://odyssey.example.com"),
    "a port without a scheme": ("odyssey.example.com:8420", "https://odyssey.example.com:8420"),
    "another scheme": ("ftp://odyssey.example.com/base", "https://odyssey.example.com/base"),
    "one slash": ("https:/odyssey.example.com", "https://odyssey.example.com"),
    "no host": ("https://", "https://odyssey.example.com"),
    "a port and no host": ("http://:8420", "https://odyssey.example.com"),
    "a port that is none": ("http://a:99999", "https://odyssey.example.com"),
    "port zero": ("http://a:0", "https://odyssey.example.com"),
    "credentials": ("https://me:secret@a.example/base", "https://a.example/base"),
    "an empty user": ("https://@a.example", "https://a.example"),
    "a query": ("https://a.example/?tenant=1", "https://a.example/"),
    "an empty query": ("https://a.example?", "https://a.example"),
    "a fragment": ("https://a.example/base#top", "https://a.example/base"),
    "a space": ("https://a.example/my base", "https://odyssey.example.com"),
    "a line break": ("https://a.example\n", "https://a.example"),
    "half an address": ("http://[::1", "https://odyssey.example.com"),
    "an address to listen on": ("http://0.0.0.0:8420", "https://odyssey.example.com"),
    "the same of IPv6": ("http://[::]:8420", "https://odyssey.example.com"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_refused_by_the_name_of_its_variable(case: str) -> None:
    variable, value = BAD[case]
    with pytest.raises(Refused) as refused:
        load_settings({variable: value})
    assert [problem.path for problem in refused.value.problems] == [variable]


@pytest.mark.parametrize("case", PUBLIC_URLS)
def test_a_public_url_that_no_agent_could_call_is_refused_with_what_to_write(case: str) -> None:
    value, better = PUBLIC_URLS[case]
    with pytest.raises(Refused) as refused:
        load_settings({"PIPELINES_PUBLIC_URL": value})
    (problem,) = refused.value.problems
    assert (problem.path, problem.hint) == ("PIPELINES_PUBLIC_URL", f"write {better}")
    assert "secret" not in problem.message


def test_all_problems_are_told_at_once() -> None:
    environment = {
        "PIPELINES_PORT": "x",
        "PIPELINES_SYNCHRONOUS": "x",
        "PIPELINES_API_KEY": "x",
        "PIPELINES_UPLOAD_LIMIT_MB": "0",
    }
    with pytest.raises(Refused) as refused:
        load_settings(environment)
    assert {problem.path for problem in refused.value.problems} == set(environment)


@pytest.mark.parametrize(
    "value",
    [
        "http://a",
        "https://odyssey.example.com/base/",
        "http://10.0.0.1:8420",
        "http://[::1]:8420",
        "HTTPS://Odyssey.example.com",
        "http://my_host:1",
    ],
)
def test_a_public_url_is_taken(value: Any) -> None:
    assert load_settings({"PIPELINES_PUBLIC_URL": value}).public_url == value


def test_a_folder_of_mcp_servers_must_be_there(tmp_path: Path) -> None:
    assert mcp_commands(load_settings({"PIPELINES_DATA_DIR": str(tmp_path)}), None) is None
    named = {"PIPELINES_DATA_DIR": str(tmp_path), "PIPELINES_MCP_STDIO": str(tmp_path)}
    assert mcp_commands(load_settings(named), None) is not None
    for wrong in ("yes", str(tmp_path / "nowhere")):
        with pytest.raises(Refused) as refused:
            mcp_commands(load_settings(named | {"PIPELINES_MCP_STDIO": wrong}), None)
        (problem,) = refused.value.problems
        assert problem.path == f"PIPELINES_MCP_STDIO={wrong}"
