"""Secrets: what they may be called, and that nothing of them stays in what is kept."""

import base64
import gc
import json
import random
import re
import string
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipelines.core.code.code_secrets import (
    name_complaint,
    together_complaint,
    value_complaint,
    value_warnings,
)
from pipelines.core.code.redaction import Redaction
from pipelines.sandbox.output import LEFT_OUT


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "_x", "a1", "A" * 128])
def test_names_of_variables_are_taken(name):
    assert name_complaint(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *("", "1A", "A-B", "A B", "A=B", "É", "A" * 129, "A\n"),
        *("PIPELINES_RUN_TOKEN", "_PIPELINES_TASK_INPUT_JSON", "pipelines_x"),
        *("LD_PRELOAD", "PYTHONPATH", "PATH", "HOME"),
    ],
)
def test_other_names_are_refused(name):
    assert name_complaint(name) is not None


def test_one_secret_may_be_part_of_another():
    hidden = Redaction({"SHORT": "s3cret", "LONG": "s3cret-and-more"})
    assert hidden.text("s3cret-and-more, s3cret") == "[secret LONG], [secret SHORT]"


CHARACTERS = st.characters(exclude_categories=["Cs"])


@given(st.text(CHARACTERS, min_size=4, max_size=20), st.text(CHARACTERS, max_size=20), st.booleans())
def test_no_spelling_of_a_secret_stays_in_json(secret, around, in_ascii):
    assume(value_complaint(secret) is None)
    hidden = Redaction({"KEY": secret})
    raw = json.dumps({"text": [f"{around}{secret}{around}"], secret: 1}, ensure_ascii=in_ascii).encode()
    kept = hidden.json_bytes(raw)
    assert secret not in str(json.loads(kept)).replace("[secret KEY]", "\0")
    assert kept.count(b"[secret KEY]") >= 2


def test_json_without_a_secret_stays_byte_for_byte():
    raw = b' {"amount": 1.10, "name": "\\u00e9"} '
    assert Redaction({"KEY": "s3cret"}).json_bytes(raw) == raw


def test_what_is_no_json_is_cleaned_too():
    kept = Redaction({"KEY": 's3"cret'}).json_bytes(b'{"a": "s3\\"cret", "a": s3"cret')
    assert kept == b'{"a": "[secret KEY]", "a": [secret KEY]'


# -- spellings


def pem(seed: int, lines: int = 26) -> str:
    """Looks like a private key; is chance."""
    chance = random.Random(seed)
    body = ["".join(chance.choices(string.ascii_letters + string.digits + "+/", k=64)) for _ in range(lines)]
    return "\n".join(
        ["-----BEGIN PRIVATE KEY-----", *body, body[0][:37] + "=", "-----END PRIVATE KEY-----", ""]
    )


KEY = pem(1)
MIXED = 'first line, "quoted"\n\tsecond päge\nthird/line+more=\n'
SPELLINGS = {
    "as it stands": lambda value: value,
    "without the last line break": lambda value: value.strip(),
    "indented": lambda value: value.replace("\n", "\n        "),
    "with the line breaks of Windows": lambda value: value.replace("\n", "\r\n"),
    "as JSON": json.dumps,
    "as JSON that keeps letters": lambda value: json.dumps(value, ensure_ascii=False),
    "as JSON in JSON": lambda value: json.dumps({"log": json.dumps(value)}),
    "as Python prints it": repr,
    "in ASCII": ascii,
    "in a URL": lambda value: quote(value, safe=""),
    "in a URL in small letters": lambda value: re.sub(
        "%..", lambda match: match[0].lower(), quote(value, safe="")
    ),
    "in a form": quote_plus,
    "in hex": lambda value: value.strip().encode().hex(),
    "in base64": lambda value: base64.b64encode(value.encode()).decode(),
    "in base64 for URLs": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "in the base64 of more": lambda value: base64.b64encode(b"user:" + value.encode() + b"\n").decode(),
    "in the base64 of a letter more": lambda value: base64.b64encode(b"x" + value.encode()).decode(),
}


def pieces(text: str, size: int) -> set[str]:
    return {text[start : start + size] for start in range(len(text) - size + 1)}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("value", [KEY, MIXED, "sk-live-0123456789abcdef", pem(2, 60)], ids=range(4))
def test_nothing_of_a_secret_stays_however_it_is_spelled(value, spell):
    spelled = spell(value)
    kept = Redaction({"KEY": value}).text(f"before {spelled} after")
    assert "[secret KEY]" in kept
    assert kept.startswith("before ")
    assert kept.endswith(" after")
    left = kept.replace("[secret KEY]", "\0")
    assert not pieces(left, 12) & pieces(spelled, 12), left


def test_of_base64_with_line_breaks_no_more_stays_than_a_piece():
    spelled = base64.encodebytes(KEY.encode()).decode()
    kept = Redaction({"KEY": KEY}).text(spelled)
    assert not pieces(kept, 32) & pieces(spelled, 32)


def test_each_line_of_a_key_is_hidden_alone():
    hidden = Redaction({"KEY": KEY})
    for line in KEY.splitlines():
        assert hidden.text(f"line: {line}.") == "line: [secret KEY]."
        assert hidden.json_bytes(json.dumps([line, {line: 1}]).encode()).count(b"[secret KEY]") == 2


@pytest.mark.parametrize("size", [32, 33, 47, 64, 500])
def test_a_piece_that_a_cut_left_of_a_long_secret_is_hidden(size):
    hidden = Redaction({"KEY": KEY})
    for start in range(0, len(KEY) - size, 7):
        assert hidden.text(f"<{KEY[start : start + size]}>") == "<[secret KEY]>"


@pytest.mark.parametrize(
    ("secret", "number"),
    [
        *(("12345678", "12345678"), ("12345678", "12345678.0"), ("12345678", "1.2345678e7")),
        *(("00123456", "123456"), ("-4521.50", "-4521.5"), ("1234567890123456789", "1234567890123456789")),
        *(("3.14159265358979323846264338", "3.14159265358979323846264338"), ("9876", "[1, 9876]")),
        ("9999999999999999999999", "9999999999999999999999"),
    ],
)
def test_a_secret_that_is_a_number_is_hidden_as_one(secret, number):
    kept = Redaction({"PIN": secret}).json_bytes(b'{"pin": %b, "other": 42}' % number.encode())
    assert "[secret PIN]" in str(json.loads(kept)["pin"])
    assert json.loads(kept)["other"] == 42


def test_digits_past_what_a_number_holds_do_not_carry_a_secret():
    kept = Redaction({"PIN": "4567890123"}).json_bytes(b'{"pin": 0.12345678901234567890123}')
    assert b"4567890123" not in kept.replace(b"0.12345678901234568", b"")


def test_secrets_that_overlap_are_both_hidden():
    assert Redaction({"A": "abcdef", "B": "defghi"}).text("abcdefghi!") == "[secret A][secret B]!"


@given(
    st.dictionaries(st.sampled_from("ABC"), st.text(CHARACTERS, min_size=4, max_size=90), min_size=1),
    st.text(CHARACTERS, max_size=60),
    st.data(),
)
def test_no_secret_stays_in_a_text(secrets, around, data):
    secrets = {name: value for name, value in secrets.items() if value_complaint(value) is None}
    assume(secrets)
    order = data.draw(st.lists(st.sampled_from(sorted(secrets)), max_size=5))
    text = around.join(["", *(secrets[name] for name in order), ""])
    kept = Redaction(secrets).text(text)
    for name in secrets:
        kept = kept.replace(f"[secret {name}]", "\ue000")
    assert not any(secrets[name] in kept for name in order if "\ue000" not in secrets[name])


def test_other_texts_stay_as_they_are():
    text = "The order 4521 was refunded; see https://example.com/orders/4521?x=%20y. " * 50
    hidden = Redaction({"KEY": KEY, "TOKEN": "sk-live-0123456789abcdef", "PIN": "99999999"})
    assert hidden.text(text) == text
    raw = json.dumps({"text": text, "n": 4521, "f": 1.5}).encode()
    assert hidden.json_bytes(raw) == raw


def test_what_lies_across_a_cut_goes_with_it():
    hidden = Redaction({"TOKEN": "sk-live-0123456789abcdef", "KEY": KEY})
    for value in ("sk-live-0123456789abcdef", KEY):
        for at in range(4, len(value) - 4, 3):
            cut = f"{'x' * 100}{value[:at]}\n[... 900 bytes dropped ...]\n{value[at:]}{'y' * 100}"
            kept = hidden.cut_text(cut, LEFT_OUT)
            assert "[... 900 bytes dropped ...]" in kept
            assert not pieces(kept, 4) & pieces(value.replace("-----", "").replace("PRIVATE KEY", ""), 4) - {
                "\n[..",
                "]\n[s",
            }, (at, kept)


def test_looking_takes_time_in_proportion_to_the_text():
    """A hundred secrets, lines that are all alike, and a text that nearly has them: a pass, not a product."""
    secrets = {f"K{number}": f"{'a' * 40}{number:03}\n" * 6 for number in range(100)}
    hidden = Redaction(secrets)
    times = []
    for size in (50_000, 400_000):
        text = ("a" * 39 + "b") * (size // 40)
        gc.disable()  # what other tests of this process have left is not to be looked through meanwhile
        started = time.thread_time()
        hidden.text(text)
        times.append(time.thread_time() - started)
        gc.enable()
    assert times[1] < 24 * max(times[0], 0.002), times


def test_what_cannot_be_hidden_is_said_when_it_is_stored():
    assert "fewer than 4" in (value_complaint("1") or "")
    assert "fewer than 4" in (value_complaint(" \n 1 2") or "")
    assert value_complaint("1234") is None
    assert value_warnings("s3cret") == value_warnings(KEY) == []
    assert "2 of its lines" in value_warnings("{\n  a long enough line\n}")[0]
    assert together_complaint({"A": "x" * 32_768}) is None
    assert "32,770" in (together_complaint({"A": "x" * 32_768, "B": "yy"}) or "")
