"""Whatever the arguments: a request inside the operation's own path, or a refusal that says why."""

import re
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_documents import one_operation, only_tool, request_of

from pipelines.core.openapi.base_url import base_path, base_url_complaint
from pipelines.core.openapi.styles import CannotBuild

PLACES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
MEDIA_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
TARGET = re.compile(r"/base/x/[!-~]+")
LINE = re.compile(r"[\t -~]*")

NASTY = (
    *(
        "..",
        ".",
        "",
        "%2e%2e",
        "%252e%252e",
        "a/../b",
        "..\\",
        "a%2f..",
        "..;x",
        "\r\nX-Evil: 1",
        "\x00",
        "/",
    ),
    *(
        "http://evil.example",
        "//evil.example",
        "?a=b",
        "#f",
        "%",
        "%zz",
        "a; b=c",
        "\ud800",
        "é",
        "a//b",
        "🙂",
    ),
)
nasty_text = st.text() | st.sampled_from(NASTY)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), nasty_text
)
values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(nasty_text, below, max_size=3),
    max_leaves=6,
)


@st.composite
def calls(draw):
    """An operation with one thing to give beside its path, and something for both."""
    place = draw(st.sampled_from([*PLACES, "body"]))
    names = [place] if place in ("path", "body") else ["path", place]
    parameters = [parameter(draw, name) for name in names if name != "body"]
    more = {}
    if place == "body":
        open_object = {"type": "object", "properties": {"body": {}}, "additionalProperties": True}
        content = {draw(st.sampled_from(MEDIA_TYPES)): {"schema": draw(st.sampled_from([open_object, {}]))}}
        more = {"requestBody": {"content": content}}
    path = draw(st.sampled_from(["/x/{path}", "/x/{path}/y", "/x/a{path}", "/x/{path}.{path}"]))
    tool = only_tool(one_operation(path, "post", parameters=parameters, **more))
    hard = draw(values)
    arguments = {"path": "fine", place: hard} if place != "path" else {"path": hard}
    return tool, arguments


def parameter(draw, place):
    style, explode = draw(st.sampled_from(PLACES[place])), draw(st.booleans())
    content = draw(st.sampled_from([None, None, None, "application/json", "text/plain"]))
    form = {"content": {content: {}}} if content else {"style": style, "explode": explode, "schema": {}}
    return {"name": place, "in": place, "required": place == "path", **form}


def depth(path):
    """How many steps down a path leads, however it is decoded; None where it leads up."""
    for _ in range(6):
        steps = re.split(r"[/\\]", path)[1:]
        if any(step.partition(";")[0] in (".", "..") for step in steps):
            return None
        if path == (path := unquote(path)):
            break
    return len(steps)


@settings(max_examples=400)
@given(calls())
def test_any_arguments_make_a_request_in_its_place_or_none(call):
    tool, arguments = call
    try:
        request = request_of(tool, **arguments)
    except CannotBuild as error:
        assert str(error)  # noqa: PT017 - either way is right
        return
    target = base_path("http://h/base/") + request.target
    assert TARGET.fullmatch(target), target
    assert "#" not in target
    path = target.partition("?")[0]
    assert depth(path) is not None
    assert path.startswith("/base/x/")
    assert len(path.split("/")) == len(tool.call["path"].split("/")) + 1
    assert all(step != "" for step in path.split("/")[1:])
    for name, value in request.headers.items():
        assert name in ("Accept", "Content-Type", "Cookie", "header")
        assert LINE.fullmatch(value), value
    if "Cookie" in request.headers:
        assert all(pair.startswith("cookie=") for pair in request.headers["Cookie"].split("; "))


UP_OR_EMPTY = ["a/../b", "a/..", "a/", "a//b", "a%2F%2e%2E", "a\x00b", "a\r\nb", "a%0d%0ab", "a\\..\\b", None]
#: In the other styles something stands before a value: `;p=..` leads nowhere.
UP_ALONE = ["", ".", "..", "%2e", "%2E%2e", "%252e%252e", "../a", "/a", "..\\a", "..;a=b", "%2f"]


@pytest.mark.parametrize(
    ("style", "value"),
    [("simple", value) for value in UP_OR_EMPTY + UP_ALONE]
    + [(style, value) for style in ("label", "matrix") for value in UP_OR_EMPTY]
    + [("label", value) for value in ("", ".", "%2e", ".;x")],
)
def test_a_step_of_the_path_is_never_empty_or_up(style, value):
    parameter = {"name": "p", "in": "path", "required": True, "style": style, "schema": {"type": "string"}}
    tool = only_tool(one_operation("/a/{p}", parameters=[parameter]))
    with pytest.raises(CannotBuild, match="`p`"):
        request_of(tool, p=value)


@pytest.mark.parametrize(
    ("value", "target"), [("a/b", "/a/a%2Fb"), ("...", "/a/..."), ("%41", "/a/%2541"), ("é", "/a/%C3%A9")]
)
def test_other_values_of_a_path_are_sent_encoded(value, target):
    parameter = {"name": "p", "in": "path", "required": True, "schema": {"type": "string"}}
    assert request_of(only_tool(one_operation("/a/{p}", parameters=[parameter])), p=value).target == target


def test_two_values_of_one_step_are_judged_together():
    parameters = [{"name": n, "in": "path", "required": True, "schema": {}} for n in ("a", "b")]
    tool = only_tool(one_operation("/x/{a}{b}", parameters=parameters))
    with pytest.raises(CannotBuild, match="`a` or `b` would make a part of the path"):
        request_of(tool, a=".", b=".")


def test_members_of_an_exploded_object_do_not_pass_for_other_parameters():
    parameters = [
        {"name": "admin", "in": "query", "schema": {"type": "boolean"}},
        {"name": "filter", "in": "query", "schema": {"type": "object"}},
    ]
    tool = only_tool(one_operation(parameters=parameters))
    assert request_of(tool, filter={"a": 1}).target == "/x?a=1"
    with pytest.raises(CannotBuild, match="`filter` has members with the names of other parameters: `admin`"):
        request_of(tool, filter={"admin": True})


BASES = [
    ("https://api.example", None),
    ("http://127.0.0.1:8000/v1/", None),
    ("ftp://api.example", "must start with http"),
    ("https://user:secret@api.example", "has a user name"),
    ("https://api.example/v1?key=1", "has a query"),
    ("https://api.example/v1#", "has a query or a fragment"),
    ("https://api.example/a/%2e%2e/b", "has a path with a part"),
    ("https://api.example/é", "outside ASCII"),
    ("https://0x7f.1/", "almost an IPv4 address"),
    ("https://api.example:0/", "has port 0"),
    ("https://[::1", "is not a URL"),
    ("", "must start with http"),
]


@pytest.mark.parametrize(("url", "words"), BASES)
def test_a_base_url(url, words):
    complaint = base_url_complaint(url)
    assert complaint is None if words is None else words in complaint


TOO_LONG = {
    "a path": ("path", "simple", "x" * 70_000, "its path would have"),
    "a path that is decoded again and again": ("path", "simple", "%252e" * 70_000, "its path would have"),
    "a query": ("query", "form", ["x"] * 20_000, "its path and query would have"),
    "a header": ("header", "simple", "x" * 70_000, "its headers would have"),
}


@pytest.mark.parametrize(("place", "style", "value", "said"), TOO_LONG.values(), ids=TOO_LONG)
def test_what_no_server_would_read_is_not_sent(place, style, value, said):
    path = "/x/{p}" if place == "path" else "/x"
    parameter = {"name": "p", "in": place, "required": True, "style": style, "schema": {}}
    tool = only_tool(one_operation(path, "get", parameters=[parameter]))
    with pytest.raises(CannotBuild, match=f"{said} [0-9,]+ characters; at most 65,536"):
        request_of(tool, p=value)
