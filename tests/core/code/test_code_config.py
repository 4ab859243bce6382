"""What a code endpoint's config may say, and what is wrong with others: all of it at once."""

import base64
from typing import Any

import pytest

from pipelines.core.code.code_config import CodeConfig, FunctionEntry, read_code_config
from pipelines.core.code.code_tree import CodeFile, pack_tree
from pipelines.core.text.problems import Refused

FILES = {"shop/__init__.py": "", "shop/prices.py": "def price(): ...", "tools.py": "def a(): ..."}
ZIP = base64.b64encode(pack_tree([CodeFile("tools.py", b"def a(): ...")])).decode()


def entries(config: CodeConfig) -> list[str]:
    return [f"{entry.file}:{entry.function}" for entry in config.functions]


GOOD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a source, every function": ({"source": "def f(): ..."}, ["functions.py:None"]),
    "a source, none named": ({"source": "def f(): ...", "functions": []}, ["functions.py:None"]),
    "a source, by name": ({"source": "x", "functions": ["f", "g"]}, ["functions.py:f", "functions.py:g"]),
    "files": ({"files": FILES, "functions": ["shop/prices.py:price"]}, ["shop/prices.py:price"]),
    "files, the only one at the top": ({"files": FILES, "functions": ["a"]}, ["tools.py:a"]),
    "a zip": ({"zip": ZIP, "functions": ["tools.py:a"]}, ["tools.py:a"]),
}


@pytest.mark.parametrize(("body", "found"), GOOD.values(), ids=GOOD)
def test_functions_are_named(body: dict[str, Any], found: list[str]) -> None:
    assert entries(read_code_config(body)) == found


def test_everything_is_read() -> None:
    config = read_code_config(
        {
            "source": "x = 1",
            "functions": ["f"],
            "requirements": ["httpx>=0.27"],
            "env_vars": {"KEY": "SHOP_KEY"},
            "allow_hosts": ["api.example.com"],
        }
    )
    assert config.requirements == ("httpx>=0.27",)
    assert config.env_vars == {"KEY": "SHOP_KEY"}
    assert [host.name for host in config.allow_hosts] == ["api.example.com"]
    assert config.modules == ("functions.py",)
    assert config.functions == (FunctionEntry(file="functions.py", function="f"),)


def test_a_list_of_variables_names_credentials_of_the_same_name() -> None:
    assert read_code_config({"source": "x", "env_vars": ["A_KEY", "B_KEY"]}).env_vars == {
        "A_KEY": "A_KEY",
        "B_KEY": "B_KEY",
    }


def test_equal_code_has_an_equal_hash() -> None:
    assert (
        read_code_config({"source": "x"}).hash == read_code_config({"source": "x", "env_vars": ["A_K"]}).hash
    )
    assert read_code_config({"source": "x"}).hash != read_code_config({"source": "y"}).hash


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no code": ({}, "/config", "has no code"),
    "two codes": ({"source": "x", "zip": ZIP}, "/config", "has `source` and `zip`"),
    "an unknown field": ({"source": "x", "packages": []}, "/config/packages", "unknown field"),
    "no functions of several files": ({"files": {"a.py": "", "b.py": ""}}, "/config/functions", "missing"),
    "no functions": ({"files": {"a.py": "", "b.py": ""}, "functions": []}, "/config/functions", "missing"),
    "no name": ({"source": "x", "functions": ["a b"]}, "/config/functions/0", "has no function name"),
    "which file": (
        {"files": {"a.py": "", "b.py": ""}, "functions": ["f"]},
        "/config/functions/0",
        "does not name its file",
    ),
    "no such file": ({"source": "x", "functions": ["b.py:f"]}, "/config/functions/0", "not among the files"),
    "twice": ({"source": "x", "functions": ["f", "f"]}, "/config/functions/1", "is listed twice"),
    "one name in two files": (
        {"files": FILES, "functions": ["tools.py:a", "shop/prices.py:a"]},
        "/config/functions/1",
        "has the name of one in `tools.py`",
    ),
    "a variable of the system": ({"source": "x", "env_vars": ["PATH"]}, "/config/env_vars", "is set by"),
    "a variable of the proxy": (
        {"source": "x", "env_vars": {"https_proxy": "K_1"}},
        "/config/env_vars/https_proxy",
        "is set by",
    ),
    "a secret itself": (
        {"source": "x", "env_vars": {"KEY": "sk-very secret"}},
        "/config/env_vars/KEY",
        "is not a valid credential name",
    ),
    "no base64": ({"zip": "%%%", "functions": ["a"]}, "/config/zip", "is not base64"),
    "no zip": ({"zip": "aGVsbG8=", "functions": ["a"]}, "/config/zip", ""),
    "an address": ({"source": "x", "allow_hosts": ["10.0.0.1"]}, "/config/allow_hosts/0", "is an IP address"),
    "a path outside": (
        {"files": {"../a.py": ""}, "functions": ["f"]},
        "/config/files/..~1a.py",
        "points outside of the tree",
    ),
}


@pytest.mark.parametrize(("body", "path", "said"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_with_its_place(body: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        read_code_config(body)
    found = [problem for problem in refused.value.problems if problem.path == path]
    assert any(said in problem.message for problem in found), refused.value.problems


def test_a_value_that_may_be_a_secret_is_not_repeated() -> None:
    with pytest.raises(Refused) as refused:
        read_code_config({"source": "x", "env_vars": {"KEY": "sk-very secret"}})
    assert "sk-very" not in str([problem.as_json() for problem in refused.value.problems])


def test_all_problems_come_at_once() -> None:
    with pytest.raises(Refused) as refused:
        read_code_config({"colour": 1, "functions": ["a b"], "env_vars": ["PATH"], "allow_hosts": ["*"]})
    assert len(refused.value.problems) == 5
