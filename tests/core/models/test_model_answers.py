"""Answers of models as they go by: what they say of themselves, and the key that must not be in them."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.access.key_mask import KeyMask
from pipelines.core.models import model_usage
from pipelines.core.models.model_usage import AnswerUsage, ModelUsage, model_of


def events(*bodies: object) -> bytes:
    return b"".join(b"data: " + json.dumps(body).encode() + b"\n\n" for body in bodies) + b"data: [DONE]\n\n"


CHAT = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}}
ANSWERS: dict[str, tuple[str, bytes, ModelUsage]] = {
    "a chat": (
        "application/json",
        json.dumps({"model": "m", "usage": CHAT}).encode(),
        ModelUsage(model="m", input_tokens=11, output_tokens=7),
    ),
    "a chat in events": (
        "text/event-stream; charset=utf-8",
        events({"model": "m", "usage": None}, {"model": "m", "choices": [], "usage": CHAT}),
        ModelUsage(model="m", input_tokens=11, output_tokens=7),
    ),
    "a chat in events without counts": ("text/event-stream", events({"model": "m"}), ModelUsage()),
    "a response in events": (
        "text/event-stream",
        events(
            {"type": "response.created", "response": {"model": "m", "usage": None}},
            {"response": {"model": "m", "usage": {"input_tokens": 3, "output_tokens": 2}}},
        ),
        ModelUsage(model="m", input_tokens=3, output_tokens=2),
    ),
    "a message of Anthropic": (
        "application/json",
        json.dumps(
            {"model": "c", "usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 3}}
        ).encode(),
        ModelUsage(model="c", input_tokens=9, output_tokens=3),
    ),
    "a message of Anthropic in events": (
        "text/event-stream",
        b"event: message_start\n"
        + events(
            {"message": {"model": "c", "usage": {"input_tokens": 5, "output_tokens": 1}}},
            {"type": "message_delta", "usage": {"output_tokens": 9}},
        ),
        ModelUsage(model="c", input_tokens=5, output_tokens=9),
    ),
    "embeddings": (
        "application/json",
        json.dumps({"model": "e", "data": [], "usage": {"prompt_tokens": 6, "total_tokens": 6}}).encode(),
        ModelUsage(model="e", input_tokens=6),
    ),
    "lines that end as on Windows": (
        "text/event-stream",
        events({"usage": CHAT}).replace(b"\n", b"\r\n"),
        ModelUsage(input_tokens=11, output_tokens=7),
    ),
    "counts that are none": (
        "application/json",
        b'{"model": 7, "usage": {"prompt_tokens": -1, "completion_tokens": true, "input_tokens": "3"}}',
        ModelUsage(),
    ),
    "no JSON": ("text/html", b"<html>", ModelUsage()),
    "no object": ("application/json", b'["usage"]', ModelUsage()),
    "too long": ("application/json", b'{"usage": 1, "x": "' + b"y" * 1_100_000 + b'"}', ModelUsage()),
    "an event too long, then one that counts": (
        "text/event-stream",
        b'data: {"usage": "' + b"y" * 300_000 + b'"}\n' + events({"usage": CHAT}),
        ModelUsage(input_tokens=11, output_tokens=7),
    ),
}


@pytest.mark.parametrize(("kind", "raw", "told"), ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("size", [1, 7, 16_384])
def test_what_an_answer_says_of_itself_however_it_comes(kind, raw, told, size):
    seen = AnswerUsage(kind)
    step = size if len(raw) < 100_000 else 16_384
    for start in range(0, len(raw), step):
        seen.take(raw[start : start + step])
    assert seen.usage() == told


@pytest.mark.parametrize(
    ("body", "model"),
    [
        (b'{"model": "gpt"}', "gpt"),
        (b'{"model": ""}', None),
        (b"[]", None),
        (b'{"model": "\\ud800"}', None),
        (b'{"model": ["m"]}', None),
        (b'{"messages": [[[]]], "model": "m", "model": "n"}', "n"),
        (b"{", None),
        (b"", None),
        (b'{"model": "' + b"m" * 900 + b'"}', "m" * 200),
        (b'{"x": "' + b"y" * 1_100_000 + b'", "model": "m"}', None),
    ],
)
def test_which_model_a_question_names(body, model):
    assert model_of(body) == model


KEY = "sk-aab/aabc0123"


@given(st.sampled_from([KEY, '/"aab/"aab', "%2Faaaaaa"]), st.lists(st.integers(0, 9), max_size=12), st.data())
def test_no_key_passes_and_nothing_else_is_changed(key, words, data):
    """However it is cut into parts: texts of the key, of its beginnings, and of others."""
    raw = "".join(
        [key, key[:-1], key[:3], key[:1], "x", *(key[:size] for size in range(1, 6))][n] for n in words
    )
    expected = raw
    for spelled in sorted({key, json.dumps(key)[1:-1], quote(key, safe="")}, key=len, reverse=True):
        expected = expected.replace(spelled, "*" * len(spelled))
    assert passed(key, raw, data) == expected


def passed(key: str, text: str, data: st.DataObject) -> str:
    raw, mask = text.encode(), KeyMask(key)
    out, at = b"", 0
    while at < len(raw):
        size = data.draw(st.integers(1, 9))
        out += mask.masked(raw[at : at + size])
        at += size
    return (out + mask.rest()).decode()


@pytest.mark.parametrize("spelled", [KEY, KEY.replace("/", "%2F"), json.dumps(KEY)[1:-1]])
def test_a_key_is_known_in_its_other_spellings(spelled):
    assert KeyMask(KEY).text(f"a {spelled} b") == f"a {'*' * len(spelled)} b"


def test_without_a_key_all_passes_at_once():
    assert KeyMask(None).masked(b"sk-") == b"sk-"


def test_nothing_waits_that_cannot_be_the_key():
    mask = KeyMask(KEY)
    assert mask.masked(b'data: {"a": 1}\n\n') == b'data: {"a": 1}\n\n'


ODD = {
    "usage is a list": b'{"model": "m", "usage": [{"prompt_tokens": 1}]}',
    "a count is a text": b'{"model": "m", "usage": {"prompt_tokens": "1"}}',
    "a count is true": b'{"model": "m", "usage": {"prompt_tokens": true}}',
    "a message is a text": b'{"model": "m", "message": "usage"}',
    "the inner usage is odd": b'{"model": "m", "response": {"usage": 5}}',
}


@pytest.mark.parametrize("raw", ODD.values(), ids=ODD)
def test_what_is_no_count_is_not_said_and_the_rest_is(raw):
    usage = AnswerUsage("application/json")
    usage.take(raw)
    assert usage.usage() == ModelUsage(model="m")


def test_of_long_events_only_some_are_read_and_short_ones_always():
    usage = AnswerUsage("text/event-stream")
    long = b'data: {"model": "m", "usage": {"prompt_tokens": %d}, "x": "' + b"x" * 200_000 + b'"}\n\n'
    for count in range(20):
        usage.take(long % count)
    assert usage.usage().input_tokens == 4
    usage.take(events({"usage": {"prompt_tokens": 99}}))
    assert usage.usage().input_tokens == 99


def test_of_many_events_in_one_part_the_first_and_the_last_words_stand(monkeypatch):
    read: list[bytes] = []
    real = model_usage._usage_of
    monkeypatch.setattr(model_usage, "_usage_of", lambda raw: read.append(raw) or real(raw))
    first = {"message": {"model": "m", "usage": {"input_tokens": 3}}}
    told = [first, *[{"usage": {"output_tokens": count}} for count in range(1_000)]]
    usage = AnswerUsage("text/event-stream")
    usage.take(b"\n" + b"".join(events(each) for each in told))
    assert usage.usage() == ModelUsage(model="m", input_tokens=3, output_tokens=999)
    assert len(read) <= 2 * model_usage.FEW_LINES


def test_a_large_answer_says_that_reading_it_takes_time_until_it_is_read():
    usage = AnswerUsage("application/json")
    usage.take(b'{"model": "m", "x": "' + b"x" * model_usage.LARGE_BYTES)
    usage.take(b'"}')
    assert usage.is_large
    assert usage.usage() == ModelUsage(model="m")
    assert not usage.is_large
    assert usage.usage() == ModelUsage(model="m"), "also when it is asked again"


@given(
    st.lists(st.sampled_from([b"\n", b"data: ", b'{"usage": {"prompt_tokens": 7}}', b"x"]), max_size=30),
    st.data(),
)
def test_however_a_stream_is_cut_the_same_is_read(pieces, data):
    whole = b"".join(pieces)
    at_once, cut = AnswerUsage("text/event-stream"), AnswerUsage("text/event-stream")
    at_once.take(whole)
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    for start, end in zip([0, *places], [*places, len(whole)], strict=True):
        cut.take(whole[start:end])
    assert cut.usage() == at_once.usage()
