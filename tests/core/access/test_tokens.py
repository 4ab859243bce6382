"""Which tokens are believed. Keys are real; nothing is fetched."""

import time
from typing import Any, NamedTuple

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.access.tokens import (
    PUBLIC_KEY_ALGORITHMS,
    LocalClaims,
    TokenClaims,
    TokenRules,
    is_like_token,
    keys_for,
    local_rules,
    local_token,
    public_keys,
    read_token,
    verified_claims,
)
from pipelines.wire import errors
from pipelines.wire.names import Role
from support.token_issuer import MAKERS, SigningKey, encoded

KEY = SigningKey("k")
KEYS = public_keys({"keys": [KEY.jwk]})
RULES = TokenRules(
    issuer="https://id.example.com", audience="odyssey", algorithms=PUBLIC_KEY_ALGORITHMS, skew_s=60
)
SECRET = b"s" * 32


class FromNow(NamedTuple):
    """A moment as seen when a token is made: tests run long after they are read."""

    seconds: int


NOW = FromNow(0)
CLAIMS: dict[str, Any] = {
    "iss": RULES.issuer,
    "aud": "odyssey",
    "sub": "ada",
    "role": "viewer",
    "iat": NOW,
    "exp": FromNow(300),
}


def claims_now(**changes: Any) -> dict[str, Any]:
    """Of a good token; None takes one out."""
    now = int(time.time())
    return {
        name: now + value.seconds if isinstance(value, FromNow) else value
        for name, value in (CLAIMS | changes).items()
        if value is not None
    }


def signed(**changes: Any) -> str:
    return jwt.encode(claims_now(**changes), KEY.private, "ES256", headers={"kid": "k"})


def read(text: str, rules: TokenRules = RULES) -> TokenClaims:
    token = read_token(text)
    return verified_claims(token, keys_for(KEYS, token), rules)


def test_a_good_token_says_who_it_is() -> None:
    assert read(signed(org="acme")) == TokenClaims(subject="ada", role=Role.VIEWER, org="acme")


def test_our_own_token_is_believed_with_our_key_and_no_other() -> None:
    claims = LocalClaims(
        subject="ci",
        org_id=3,
        role=Role.ADMIN,
        issued_at=int(time.time()),
        lasts_s=60,
        token_id="0123456789abcdef",
    )
    token = read_token(local_token(claims, SECRET))
    assert verified_claims(token, [SECRET], local_rules(60)) == TokenClaims(
        subject="ci", role=Role.ADMIN, org=3
    )
    with pytest.raises(errors.TokenSignatureInvalid):
        verified_claims(token, [b"t" * 32], local_rules(60))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"exp": FromNow(-90)}, errors.TokenExpired),
        ({"exp": None}, errors.TokenClaimMissing),
        ({"nbf": FromNow(90)}, errors.TokenNotYetValid),
        ({"iat": FromNow(90)}, errors.TokenNotYetValid),
        ({"iss": "https://id.example.org"}, errors.TokenWrongIssuer),
        ({"iss": None}, errors.TokenClaimMissing),
        ({"aud": "another"}, errors.TokenWrongAudience),
        ({"aud": ["another", 5]}, errors.TokenWrongAudience),
        ({"aud": None}, errors.TokenClaimMissing),
        ({"sub": None}, errors.TokenClaimMissing),
        ({"sub": ""}, errors.InvalidToken),
        ({"sub": "a\nb"}, errors.InvalidToken),
        ({"sub": "a" * 256}, errors.InvalidToken),
        ({"exp": 1e300}, None),
        ({"role": "superuser"}, errors.TokenRoleUnknown),
        ({"role": "Admin"}, errors.TokenRoleUnknown),
        ({"role": None}, errors.TokenRoleUnknown),
        ({"role": {"admin": True}}, errors.TokenRoleUnknown),
        ({"role": []}, errors.TokenRoleUnknown),
        ({"org": ["acme"]}, errors.TokenOrgUnknown),
        ({"org": True}, errors.TokenOrgUnknown),
    ],
    ids=str,
)
def test_claims_that_do_not_do(changes: dict[str, Any], error: type[Exception] | None) -> None:
    if error is None:
        read(signed(**changes))
        return
    with pytest.raises(errors.OdysseyError) as raised:
        read(signed(**changes))
    assert type(raised.value) is error


def test_clocks_may_differ_by_the_skew_and_no_more() -> None:
    read(signed(exp=FromNow(-30)))
    read(signed(nbf=FromNow(30), iat=FromNow(30)))
    strict = TokenRules(
        issuer=RULES.issuer, audience=RULES.audience, algorithms=PUBLIC_KEY_ALGORITHMS, skew_s=0
    )
    with pytest.raises(errors.TokenExpired):
        read(signed(exp=FromNow(-30)), strict)


@pytest.mark.parametrize("algorithm", MAKERS)
def test_each_kind_of_public_key_is_taken_with_and_without_its_alg(algorithm: str) -> None:
    key = SigningKey("k", algorithm)
    text = jwt.encode(claims_now(), key.private, algorithm, headers={"kid": "k"})
    for left_out in ((), ("alg",), ("alg", "use"), ("kid",)):
        jwk = {name: value for name, value in key.jwk.items() if name not in left_out}
        token = read_token(text)
        keys = keys_for(public_keys({"keys": [jwk]}), token)
        assert verified_claims(token, keys, RULES).subject == "ada"


def test_a_key_is_good_only_for_what_it_is_published_for() -> None:
    """A shared secret, a key for encryption, one of another algorithm, one that cannot be read."""
    others = [
        {"kty": "oct", "k": encoded(SECRET), "kid": "k", "alg": "HS256"},
        KEY.jwk | {"use": "enc"},
        KEY.jwk | {"alg": "ES384"},
        KEY.jwk | {"x": "?"},
        KEY.jwk | {"kid": 5},
        {"kty": "EC"},
        "no key",
    ]
    assert public_keys({"keys": others}) == ()
    with pytest.raises(ValueError, match="JWKS"):
        public_keys([])


def test_a_public_key_is_no_secret() -> None:
    """The oldest trick: HS256 with what everybody knows as its secret, under each name the key goes by."""
    for secret in (KEY.public_pem, jwt.utils.force_bytes(str(KEY.jwk))):
        head = encoded({"alg": "HS256", "typ": "JWT", "kid": "k"})
        body = encoded(claims_now())
        mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(
            f"{head}.{body}".encode(), secret
        )
        with pytest.raises(errors.TokenAlgorithmRefused):
            read(f"{head}.{body}.{encoded(mac)}")


def test_what_is_signed_with_a_public_key_algorithm_is_none_of_ours() -> None:
    text = jwt.encode(claims_now(iss=local_rules(0).issuer), KEY.private, "ES256")
    with pytest.raises(errors.TokenAlgorithmRefused):
        verified_claims(read_token(text), [SECRET], local_rules(60))


HEAD = encoded({"alg": "ES256", "kid": "k"})
BODY = encoded(claims_now())
TWICE, NO_NUMBER = b'{"iss": "a", "iss": "b"}', b'{"exp": NaN}'
SIGNATURE = signed().rpartition(".")[2]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{encoded({'alg': 'none'})}.{BODY}.", errors.TokenUnsigned),
        (f"{encoded({'alg': 'NoNe'})}.{BODY}.{SIGNATURE}", errors.TokenUnsigned),
        (f"{encoded({'typ': 'JWT'})}.{BODY}.{SIGNATURE}", errors.TokenUnsigned),
        (f"{HEAD}.{BODY}.", errors.TokenUnsigned),
        (f"{HEAD}.{BODY}.{SIGNATURE}", errors.TokenSignatureInvalid),
        (f"{encoded({'alg': 'HS512'})}.{BODY}.{SIGNATURE}", errors.TokenAlgorithmRefused),
        (f"{encoded({'alg': 'ES256', 'kid': 7})}.{BODY}.{SIGNATURE}", errors.InvalidToken),
        (f"{encoded({'alg': 'ES256', 'crit': ['b64'], 'b64': False})}..{SIGNATURE}", errors.InvalidToken),
        (f"{HEAD}.{encoded([1])}.{SIGNATURE}", errors.InvalidToken),
        (f"{HEAD}.{encoded(b'[' * 9000)}.{SIGNATURE}", errors.InvalidToken),
        (f"{HEAD}.{encoded(TWICE)}.{SIGNATURE}", errors.InvalidToken),
        (f"{HEAD}.{encoded(NO_NUMBER)}.{SIGNATURE}", errors.InvalidToken),
        (f"{HEAD}.{BODY}", errors.InvalidToken),
        (f"{HEAD}.{BODY}.{SIGNATURE}.x", errors.InvalidToken),
        (f"{HEAD}.{BODY}.{SIGNATURE}.x.y", errors.InvalidToken),
        (f"{HEAD}.{BODY}.{SIGNATURE}\u00e9", errors.InvalidToken),
        (f"{HEAD}.{BODY}.{'A' * 20_000}", errors.TokenTooLarge),
    ],
    ids=range(17),
)
def test_what_is_no_signed_token_is_refused_by_its_own_name(text: str, error: type[Exception]) -> None:
    with pytest.raises(errors.OdysseyError) as raised:
        read(text)
    assert type(raised.value) is error
    assert SIGNATURE not in raised.value.message


@given(st.integers(0, len(signed()) - 1), st.characters(min_codepoint=33, max_codepoint=126))
def test_a_token_changed_anywhere_is_not_believed(at: int, put: str) -> None:
    whole = signed()
    changed = whole[:at] + put + whole[at + 1 :]
    if changed != whole:
        with pytest.raises(errors.OdysseyError):
            read(changed)


@given(
    st.text(max_size=200) | st.from_regex(r"[A-Za-z0-9_-]{0,80}(\.[A-Za-z0-9_-]{0,80}){0,5}", fullmatch=True)
)
def test_nothing_that_is_sent_breaks_the_reader(text: str) -> None:
    is_like_token(text)
    with pytest.raises(errors.InvalidToken):
        read(text)


def test_a_role_may_stand_among_others_and_inside_others() -> None:
    """As Keycloak (`realm_access.roles`) and Auth0 (`https://…/roles`) write them."""
    several = {"role": ["offline_access", "viewer", "admin"]}
    assert read(signed(**several)).role is Role.ADMIN
    for name, claims in (
        ("realm_access.roles", {"realm_access": {"roles": ["contributor"]}}),
        ("https://odyssey.example.com/role", {"https://odyssey.example.com/role": "contributor"}),
    ):
        rules = TokenRules(
            issuer=RULES.issuer,
            audience="odyssey",
            algorithms=PUBLIC_KEY_ALGORITHMS,
            skew_s=0,
            role_claim=name,
        )
        assert read(signed(**claims), rules).role is Role.CONTRIBUTOR


def test_a_key_with_dots_in_it_is_no_token() -> None:
    assert is_like_token(signed())
    assert is_like_token(f"{HEAD}.{BODY}.")
    assert not is_like_token("pk_live_" + "a" * 40)
    assert not is_like_token("my.own.key")
