"""The `code` object of an agent: what is taken, and everything that is refused, with where and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.code.code_source import GitSource, UploadedFiles, is_git_ref, read_code_source
from pipelines.core.code.code_tree import CodeFile, pack_tree, tree_hash
from pipelines.core.code.code_zip import read_archive
from pipelines.core.text.problems import Refused

AGENT = "def run(task_input, *, proxy_url, run_token):\n    return 'done'\n"


def read(body, *, allow_http=False):
    return read_code_source(body, entrypoint="agent.py", allow_http=allow_http)


def problems_of(body, **more):
    with pytest.raises(Refused) as refused:
        read(body, **more)
    return {problem.path: problem.message for problem in refused.value.problems}


def test_pasted_text_is_the_entry_file():
    assert read({"source": "paste", "text": AGENT}) == UploadedFiles(
        source="paste", files=(CodeFile("agent.py", AGENT.encode()),)
    )


def test_a_git_source_says_what_it_leaves_out():
    full = {"source": "git", "url": "https://git.example.com/a/b.git", "ref": "v1.2", "directory": "/bots/"}
    assert read(full) == GitSource(url="https://git.example.com/a/b.git", ref="v1.2", directory="bots")
    assert read({"source": "git", "url": "https://git.example.com/a"}) == GitSource(
        url="https://git.example.com/a", ref="HEAD", directory=""
    )


BAD = {
    "no object": ("text", "/code", "must be a JSON object"),
    "no source": ({}, "/code/source", "is missing"),
    "unknown source": ({"source": "svn"}, "/code/source", "`paste`, `files`, `zip` or `git`"),
    "zip as JSON": ({"source": "zip"}, "/code/source", "cannot be sent as JSON"),
    "a stored record": ({"source": "paste", "text": "", "hash": "ab"}, "/code/hash", "unknown field"),
    "no text": ({"source": "paste"}, "/code/text", "is missing"),
    "text is a number": ({"source": "paste", "text": 7}, "/code/text", "must be a string"),
    "a large text": ({"source": "paste", "text": "#" * 204_801}, "/code/text", "at most 200 KB"),
    "half a character": ({"source": "paste", "text": "\ud800"}, "/code/text", "lone surrogate"),
    "no files": ({"source": "files", "files": {}}, "/code/files", "is empty"),
    "files is a list": ({"source": "files", "files": []}, "/code/files", "must be a JSON object"),
    "a file is null": ({"source": "files", "files": {"a.py": None}}, "/code/files/a.py", "not null"),
    "51 files": (
        {"source": "files", "files": {f"{n}.py": "" for n in range(51)}},
        "/code/files",
        "51 files; at most 50",
    ),
    "a large file": ({"source": "files", "files": {"a.py": "é" * 102_401}}, "/code/files/a.py", "200 KB"),
    "six files of 190 KB": (
        {"source": "files", "files": {f"{n}.py": "#" * 194_560 for n in range(6)}},
        "/code/files",
        "at most 1,024 KB",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_where_it_stands(case):
    body, path, message = BAD[case]
    assert message in problems_of(body)[path]


BAD_NAMES = {
    "..": "points outside of the tree",
    "../agent.py": "points outside of the tree",
    "a/../../b.py": "points outside of the tree",
    "/etc/passwd": "absolute",
    "C:/windows.py": "absolute",
    "a\\b.py": "backslash",
    "a//b.py": "empty part",
    "./a.py": "empty part",
    "a/": "empty part",
    "": "is not a valid file name",
    "  ": "is not a valid file name",
    "a\0.py": "control characters",
    "a\n.py": "control characters",
    "x" * 256: "too long",
    "d/" * 300 + "x": "too long",
}


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_names_that_lead_elsewhere_are_refused(name):
    found = problems_of({"source": "files", "files": {name: "", "agent.py": AGENT}})
    assert BAD_NAMES[name] in "".join(found.values())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.py", "A.py"], "are the same name"),
        (["caf\u00e9.py", "cafe\u0301.py"], "are the same name"),
        (["lib", "lib/x.py"], "a file here, but a folder"),
        (["Lib", "lib/x.py"], "a file here, but a folder"),
    ],
)
def test_names_that_would_lie_over_each_other_are_refused(names, message):
    found = problems_of({"source": "files", "files": dict.fromkeys(names, "")})
    assert message in "".join(found.values())


def test_all_problems_come_at_once():
    files = {"../a.py": "", "b.py": 3, "C.py": "", "c.py": ""}
    assert len(problems_of({"source": "files", "files": files, "more": 1})) == 4


BAD_URLS = [
    "/srv/git/agent.git",
    "./agent",
    "file:///srv/git/agent.git",
    "ext::sh -c whoami",
    "ext::whoami",
    "ssh://git@example.com/a.git",
    "git@example.com:a.git",
    "git://example.com/a.git",
    "--upload-pack=whoami",
    "-u",
    "https://-oProxyCommand=x/a",
    "https://user:password@example.com/a.git",
    "https://token@example.com/a.git",
    "https://example.com",
    "https://example.com/a.git?x=1",
    "https://example.com/a.git#x",
    "https://exa mple.com/a",
    "https://example.com/\u00e4",
    "https://[::1/a",
    "https://127%2e0%2e0%2e1/a",
    "https://git%2eexample.com/a",
    "https://%6cocalhost/a",
    "https://git.example.com%00.evil.example/a",
    "https://git.example.com\\evil.example/a",
    "https://git.example.com\\@evil.example/a",
    "https://evil.example;git.example.com/a",
    "https://git\u3002example.com/a",
    "https://127\uff0e0.0.1/a",
    "https://git.example.com\t/a",
    "https://git.example.com\n/a",
    "https://git.example.com./a",
    "https://git..example.com/a",
    "https://.example.com/a",
    "https://-git.example.com/a",
    "https://git-/a",
    "https://127.1/a",
    "https://2130706433/a",
    "https://0x7f000001/a",
    "https://0x7f.0.0.1/a",
    "https://0177.0.0.1/a",
    "https://127.0.0.1.5/a",
    "https://256.0.0.1/a",
    "https://[::1%25eth0]/a",
    "https://[v1.x]/a",
    "https://git.example.com:99999/a",
    "https://git.example.com:http/a",
    "HTTPS::/a",
    "http://example.com/a.git",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_only_plain_web_addresses_are_taken_for_git(url):
    assert "/code/url" in problems_of({"source": "git", "url": url})


def test_http_is_taken_where_private_endpoints_are():
    source = {"source": "git", "url": "http://127.0.0.1:3000/a.git"}
    assert isinstance(read(source, allow_http=True), GitSource)
    assert "https://" in problems_of(source)["/code/url"]


@pytest.mark.parametrize(
    "ref",
    [
        "-b",
        "--upload-pack=x",
        "a..b",
        "main@{1}",
        "a b",
        "a:b",
        "a^",
        "a~1",
        "x/",
        ".x",
        "a.lock",
        "a//b",
        "é",
        "",
    ],
)
def test_refs_that_are_more_than_names_are_refused(ref):
    assert not is_git_ref(ref)


@pytest.mark.parametrize("ref", ["main", "v1.0.2", "feature/x-1", "HEAD", "a" * 40, "release_2"])
def test_refs_that_are_names_are_taken(ref):
    assert is_git_ref(ref)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8})?", fullmatch=True), st.binary(max_size=50)))
def test_a_tree_has_one_name_and_one_archive_whatever_its_order(tree):
    files = [CodeFile(path, content) for path, content in tree.items()]
    assert pack_tree(files) == pack_tree(reversed(files))
    names = set(tree)
    if files and not any(path.split("/")[0] in names for path in names if "/" in path):
        archive = read_archive(pack_tree(files))
        assert {path: archive.read(path, 10**6) for path in archive.paths} == tree


def test_trees_that_differ_in_a_name_or_a_byte_have_different_names():
    trees = [{"a": "1"}, {"b": "1"}, {"a": "2"}, {"a": "1", "b": "1"}, {}]
    assert len({tree_hash(tree) for tree in trees}) == len(trees)


def test_the_file_that_pasted_text_becomes_has_a_name_that_a_file_can_have():
    with pytest.raises(Refused) as refused:
        read_code_source(
            {"source": "paste", "text": "def run(): ..."}, entrypoint="a" * 70_000 + ".py", allow_http=False
        )
    assert [problem.path for problem in refused.value.problems] == ["/entrypoint"]
