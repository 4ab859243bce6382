"""What secrets and personal data look like in a text: which places of it are to be hidden, and as what.

Patterns stay linear: every repetition is bounded, or runs over characters that cannot begin another match.
Names of people in running text are not found: no pattern tells them from other words.
"""

import re
from collections import Counter
from collections.abc import Callable
from math import log2
from typing import NamedTuple, TypeAlias

#: Of a match: what of it is to be hidden, as (start, end); None where it only looks like it.
HiddenPart: TypeAlias = Callable[[re.Match[str]], tuple[int, int] | None]

MOST_PHONE_DIGITS = 15  # by E.164; an extension is not part of it
LONG_TOKEN = 32  # characters: shorter ones are ids, which people need to tell orders apart
SOLID = 20  # of it, without a separator
LEAST_ENTROPY = 3.5  # bits per character: words run together stay below, random text of 20 is above


class Rule(NamedTuple):
    kind: str  # stands in the placeholder
    #: None where the rule need not look; a plain search, so that most texts cost little.
    hint: Callable[[str], object]
    pattern: re.Pattern[str]
    hidden: HiddenPart


def _whole(match: re.Match[str]) -> tuple[int, int]:
    return match.span()


def _group(match: re.Match[str]) -> tuple[int, int]:
    return match.span(1)


def _with_digit(match: re.Match[str]) -> tuple[int, int] | None:
    return match.span(1) if _has_digit(match[1]) else None


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


# -- secrets

_SECRET_NAMES = (
    r"pass(?:word|wd|phrase|code)|pwd|secret(?:[ _-]?(?:access[ _-]?)?key)?"
    r"|(?:api|access|account|private)[ _-]?key|(?:access|refresh|auth|id|session)?[ _-]?token"
    r"|client[ _-]?secret|signature|sig"
)
_ASSIGNED = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_SECRET_NAMES})(?![A-Za-z])[\"']?\s{{0,3}}(=|:|\bis\b)\s{{0,3}}"
    r"([\"']?)([^\s\"',;&\[\]]{1,4096})",
    re.IGNORECASE,
)
_NOT_VALUES = frozenset({"true", "false", "null", "none", "required", "optional", "missing", "invalid"})


def _assigned_part(match: re.Match[str]) -> tuple[int, int] | None:
    """`password=x` says it clearly; `password: x` and `password is x` also begin sentences."""
    sign, quote, value = match[1], match[2], match[3].rstrip(".!?)") or match[3]
    if value.lower() in _NOT_VALUES or len(value) < 4:
        return None
    if sign == "=" or (sign == ":" and quote):
        return match.span(3)
    has_mark = _has_digit(value)
    return match.span(3) if has_mark and (sign == ":" or len(value) >= 6) else None


_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk)[_-](?:live|test)_\w{10,200}|whsec_\w{16,200}|gh[pousr]_\w{30,255}|github_pat_\w{20,255}"
    r"|glpat-[\w-]{16,100}|xox[abeprs]-[\w-]{10,200}|(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"
    r"|AIza[\w-]{30,100}|hf_[A-Za-z0-9]{30,100}|npm_[A-Za-z0-9]{30,100}|pypi-[\w-]{40,400}"
    r"|SG\.[\w-]{16,100}\.[\w-]{16,100}|ya29\.[\w-]{20,400}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"
    r"|dop_v1_[0-9a-f]{40,100}|sq0[a-z]{3}-[\w-]{20,100}|EAA[A-Za-z0-9]{60,400})"
)
_PREFIXES = re.compile(
    r"[spr]k[_-](?:live|test)_|whsec_|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|A[KS]IA|AIza|hf_|npm_|pypi-"
    r"|SG\.|ya29\.|shp|dop_v1_|sq0|EAA"
)
_SK = re.compile(r"(?<![A-Za-z0-9])(sk-[A-Za-z0-9_-]{16,400})")
_WEBHOOK = re.compile(r"(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/([\w/-]{8,400})")
_JWT = re.compile(
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{6,8192}\.[A-Za-z0-9_-]{6,65536}\.[A-Za-z0-9_-]{0,8192}"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}-----|\Z)", re.S
)
_IN_URL = re.compile(r"(?<=://)([^/\s:@\"'?#]{0,256}:[^/\s@\"']{1,256})@")
_AUTHORIZATION = re.compile(r"\b(?:bearer|basic)\s{1,3}([A-Za-z0-9._~+/=-]{12,8192})", re.IGNORECASE)
_LONG_TOKEN = re.compile(r"[A-Za-z0-9+/_-]{32,}={0,2}")
_PIECES = re.compile(r"[+/_-]+")


def _random(match: re.Match[str]) -> tuple[int, int] | None:
    """A long token of all kinds of characters, as generators of keys make them. Not hex: hashes and trace ids
    are, and give nothing away."""
    longest = max(_PIECES.split(match[0].rstrip("=")), key=len)
    digits = sum(character.isdigit() for character in longest)
    is_mixed = digits >= 3 and longest.upper() != longest and longest.lower() != longest
    if len(longest) < SOLID or not is_mixed or _entropy(longest) < LEAST_ENTROPY:
        return None
    return match.span()


def _entropy(text: str) -> float:
    return -sum(count / len(text) * log2(count / len(text)) for count in Counter(text).values())


# -- personal data

_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+'-])[A-Za-z0-9._%+'-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])"
)
_NO_EMAIL = re.compile(r"git@.*|.*\.(?:png|jpe?g|gif|svg|webp)", re.IGNORECASE)


def _email(match: re.Match[str]) -> tuple[int, int] | None:
    return None if _NO_EMAIL.fullmatch(match[0]) else match.span()


_DIGITS = r"\d(?:[ ().\-/]{0,2}\d){6,17}"
_SEVEN_DIGITS = re.compile(_DIGITS)
_INTERNATIONAL = re.compile(rf"(?<![\w+])(\+{_DIGITS})(?!\w)")
_AMERICAN = re.compile(
    r"(?<![\w.\-/+])((?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])\d{3}[ .-]\d{4})(?![\w-]|[.,]\d)"
)
_STATED_PHONE = re.compile(
    r"\b(?:tel|phone|telephone|mobile|cell|fax|whatsapp|my number|phone number|mobile number)\b"
    rf"[.:# ]{{0,3}}(?:(?:no|is|at)\b[.: ]{{0,3}})?({_DIGITS})(?!\w)",
    re.IGNORECASE,
)
_NATIONAL = re.compile(r"(?<![\w.\-/])(0[1-9]\d{0,3}(?:[ /]\d{2,8}){1,5})(?!\w|[.,]\d)")
_CARD = re.compile(r"(?<![\w.])(\d(?:[ -]?\d){13,18})(?!\w)")
_SSN = re.compile(r"(?<![\w-])((?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4})(?![\w-])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_IBAN_HINT = re.compile(r"[A-Z]{2}\d{2}")
_IPV4 = re.compile(r"(?<![\w.])((?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d))(?![\w.])")


def _phone(match: re.Match[str]) -> tuple[int, int] | None:
    count = sum(character.isdigit() for character in match[1])
    return match.span(1) if 7 <= count <= MOST_PHONE_DIGITS else None


def _national(match: re.Match[str]) -> tuple[int, int] | None:
    """Nine digits at least: with fewer it is a date."""
    count = sum(character.isdigit() for character in match[1])
    return match.span(1) if 9 <= count <= 12 else None


def _card(match: re.Match[str]) -> tuple[int, int] | None:
    return match.span(1) if is_card(match[1].replace(" ", "").replace("-", "")) else None


#: By issuer: what numbers begin with, and how long they are. Times in any unit begin with 1.
_ISSUERS = re.compile(
    r"4(?:\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}"
)


def is_card(digits: str) -> bool:
    if _ISSUERS.fullmatch(digits) is None:
        return False
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0


def _iban(match: re.Match[str]) -> tuple[int, int] | None:
    """Checked by its own check digits. A capital word behind it may look like its last group."""
    text = match[0]
    while True:
        bare = text.replace(" ", "")
        if 15 <= len(bare) <= 34 and int("".join(str(int(c, 36)) for c in bare[4:] + bare[:4])) % 97 == 1:
            return match.start(), match.start() + len(text)
        if " " not in text:
            return None
        text = text.rpartition(" ")[0]


# -- hints: what a text must have for a rule to find anything. Plain searches, as most texts hold nothing.

#: Too short for any rule, and without what e-mail addresses, assignments and written-out numbers need.
_PLAIN = re.compile(r"[A-Za-z_-]{0,12}\d{0,10}[A-Za-z]{0,4}")
SHORT = 15
LEAST_TOKEN = 9  # characters: `a://b:c@d` is the shortest thing that one of its rules finds


def is_plain(text: str) -> bool:
    return len(text) < SHORT and _PLAIN.fullmatch(text) is not None


def _may_be_prefixed(text: str) -> bool:
    has_mark = "_" in text or "-" in text or "IA" in text or "Iz" in text or "." in text or "EAA" in text
    return has_mark and _PREFIXES.search(text) is not None


def _may_authorize(text: str) -> bool:
    lower = text.lower()
    return "bearer" in lower or "basic" in lower


def _may_assign(text: str) -> bool:
    if not ("=" in text or ":" in text or " is " in text or " IS " in text):
        return False
    lower = text.lower()
    return any(word in lower for word in ("pass", "pwd", "secret", "key", "token", "sig"))


def _has_long_token(text: str) -> bool:
    return len(text) >= LONG_TOKEN and max(map(len, text.split()), default=0) >= LONG_TOKEN


#: Looked at only where LEAST_TOKEN characters stand together without a space. Here and below, in this order:
#: what is hidden by one rule is not looked at by those after it.
TOKEN_RULES: tuple[Rule, ...] = (
    Rule("private_key", lambda text: "PRIVATE KEY" in text, _PRIVATE_KEY, _whole),
    Rule("jwt", lambda text: "eyJ" in text, _JWT, _whole),
    Rule("credentials", lambda text: "://" in text and "@" in text, _IN_URL, _group),
    Rule("secret", lambda text: "/services/" in text or "/webhooks/" in text, _WEBHOOK, _group),
    Rule("secret", _may_be_prefixed, _PREFIXED, _whole),
    Rule("secret", lambda text: "sk-" in text, _SK, _with_digit),
    Rule("secret", _may_authorize, _AUTHORIZATION, _with_digit),
    Rule("secret", _has_long_token, _LONG_TOKEN, _random),
)
#: Of these, what has the shape of a secret wherever it stands; the last one only looks random.
SHAPE_RULES = TOKEN_RULES[:-1]
#: What may be a password that people chose, which could be found out from anything that is made of it.
GUESSABLE = frozenset((_IN_URL, _AUTHORIZATION))
RULES: tuple[Rule, ...] = (
    Rule("secret", _may_assign, _ASSIGNED, _assigned_part),
    Rule("email", lambda text: "@" in text, _EMAIL, _email),
    Rule("iban", lambda text: len(text) >= SHORT and _IBAN_HINT.search(text), _IBAN, _iban),
)
#: Looked at only where seven digits stand together.
NUMBER_RULES: tuple[Rule, ...] = (
    Rule("card", lambda text: True, _CARD, _card),
    Rule("ssn", lambda text: "-" in text, _SSN, _group),
    Rule("phone", lambda text: "+" in text, _INTERNATIONAL, _phone),
    Rule("phone", lambda text: True, _AMERICAN, _phone),
    Rule("phone", lambda text: True, _STATED_PHONE, _phone),
    Rule("phone", lambda text: "0" in text, _NATIONAL, _national),
)
ADDRESS_RULES: tuple[Rule, ...] = (Rule("ip", lambda text: text.count(".") >= 3, _IPV4, _group),)


def rules_for(text: str, *, ips: bool) -> list[Rule]:
    """Those that may find something in this text."""
    found: list[Rule] = []
    if max(map(len, text.split()), default=0) >= LEAST_TOKEN:
        found += [rule for rule in TOKEN_RULES if rule.hint(text)]
    found += [rule for rule in RULES if rule.hint(text)]
    if _SEVEN_DIGITS.search(text):
        found += [rule for rule in NUMBER_RULES if rule.hint(text)]
    if ips:
        found += [rule for rule in ADDRESS_RULES if rule.hint(text)]
    return found
