"""openapi-core reads every request that we build, and finds the arguments in it."""

from dataclasses import asdict, is_dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_documents import one_operation, only_tool, request_of, understood

STRING, LIST = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
OBJECT = {
    "type": "object",
    "properties": {"R": {"type": "integer"}, "G": {"type": "string"}},
    "required": ["R", "G"],
    "additionalProperties": False,
}
NUMBER, BOOLEAN = {"type": "integer"}, {"type": "boolean"}
# Without what separates items, or ends a step of a path in WSGI, which hands over paths decoded.
texts = st.text(
    st.characters(codec="utf-8", exclude_characters=",./;=| ?#%\\", exclude_categories=["Cc", "Cs"]),
    min_size=1,
)
VALUES = {
    "string": (STRING, texts),
    "list": (LIST, st.lists(texts, min_size=2, max_size=3)),
    "object": (OBJECT, st.fixed_dictionaries({"R": st.integers(0, 10**6), "G": texts})),
    "number": (NUMBER, st.integers(-(10**6), 10**6)),
    "boolean": (BOOLEAN, st.booleans()),
}
#: The oracle reads matrix only where a path says it as RFC 6570 does, and label nowhere (its path cannot be
#: formatted): that one is in the table of styles alone.
TEMPLATES = {
    ("simple", False): "{p}",
    ("simple", True): "{p}",
    ("matrix", False): "{;p}",
    ("matrix", True): "{;p*}",
}
CASES = [("path", style, explode, kind) for style, explode in TEMPLATES for kind in VALUES]
CASES += [("query", "form", explode, kind) for explode in (True, False) for kind in VALUES]
CASES.remove(("query", "form", True, "object"))  # not read by the oracle; ours is in the table of styles
CASES += [("query", "pipeDelimited", False, kind) for kind in ("list", "object")]
CASES += [("query", "deepObject", True, "object")]
CASES += [("header", "simple", explode, kind) for explode in (True, False) for kind in VALUES]
CASES += [("cookie", "form", explode, kind) for explode in (True, False) for kind in VALUES]
CASES.remove(("cookie", "form", True, "object"))  # which would set cookies that are not declared
ascii_texts = st.text("abcXYZ019_-~!*'()", min_size=1)


def plain(value):
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


@pytest.mark.parametrize(("place", "style", "explode", "kind"), CASES)
@settings(max_examples=10)
@given(data=st.data())
def test_a_parameter_comes_out_as_it_went_in(data, place, style, explode, kind):
    schema, values = VALUES[kind]
    if place in ("header", "cookie"):  # nobody decodes these
        words = {"string": ascii_texts, "list": st.lists(ascii_texts, min_size=2, max_size=3)}
        words["object"] = st.fixed_dictionaries({"R": st.integers(0, 9), "G": ascii_texts})
        values = words.get(kind, values)
    value = data.draw(values)
    parameter = {
        "name": "p",
        "in": place,
        "style": style,
        "explode": explode,
        "required": True,
        "schema": schema,
    }
    ours = one_operation("/x/{p}" if place == "path" else "/x", parameters=[parameter])
    theirs = one_operation(
        f"/x/{TEMPLATES[style, explode]}" if place == "path" else "/x", parameters=[parameter]
    )
    request = request_of(only_tool(ours), p=value)
    read = getattr(understood(theirs, request).parameters, place)["p"]
    assert plain(read) == value


BODY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "count": {"type": "integer"}, "tags": LIST},
    "required": ["name"],
    "additionalProperties": False,
}
any_text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\r"))
tags = st.lists(any_text, min_size=2, max_size=3)
MEDIA_TYPES = {
    "application/json": {"name": any_text, "count": st.integers(-(2**53), 2**53), "tags": tags},
    "application/x-www-form-urlencoded": {
        "name": any_text,
        "count": st.integers(-(2**53), 2**53),
        "tags": tags,
    },
    "multipart/form-data": {"name": any_text, "tags": tags},  # of which the oracle makes no numbers
}


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
@settings(max_examples=20)
@given(data=st.data())
def test_a_body_comes_out_as_it_went_in(data, media_type):
    value = data.draw(st.fixed_dictionaries(MEDIA_TYPES[media_type]))
    content = {"required": True, "content": {media_type: {"schema": BODY}}}
    made = one_operation(method="post", requestBody=content)
    request = request_of(only_tool(made), **value)
    assert plain(understood(made, request).body) == value
