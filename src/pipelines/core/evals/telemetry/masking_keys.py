"""What the name of a field says about its value: a secret, a person, or neither."""

import re
from typing import Literal, TypeAlias

#: `secret`: all that is below it goes. `personal`: a text or number goes, an object is looked through.
KeyKind: TypeAlias = Literal["secret", "personal"]

LONGEST_KEY = 200  # characters: what is longer is no name
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


_SECRET_WORDS = _names(
    "password, passwd, pwd, passphrase, passcode, secret, secrets, apikey, authorization, cookie, "
    "cookies, credential, credentials, cvv, cvc, otp"
)
_SECRET_PAIRS = _names(
    "api key, private key, secret key, access key, account key, encryption key, signing key, "
    "access token, refresh token, auth token, session token, id token, bearer token, csrf token, "
    "api token, pin code, security code"
)
_SECRET_ALONE = frozenset({"token", "pin", "pass"})

_PERSONAL_WORDS = _names(
    "email, emails, phone, phones, telephone, mobile, msisdn, fax, surname, lastname, firstname, "
    "fullname, username, dob, birthdate, birthday, ssn, iban, passport, cardholder, street"
)
_PERSONAL_PAIRS = _names(
    "first name, last name, full name, middle name, given name, family name, maiden name, user name, "
    "holder name, birth date, of birth, security number, passport number, national id, tax id, "
    "account number, account holder, card number, credit card, phone number, mobile number, "
    "cell phone, fax number, email address, street address, home address, shipping address, "
    "billing address, postal address, mailing address, delivery address, address line, "
    "license number, licence number"
)
#: Whose `name` is that of a person: `customer.name`, `customer_name`, {"customer": {"name": …}}.
_PEOPLE = _names(
    "customer, user, patient, contact, employee, recipient, sender, passenger, guest, client, "
    "member, person, cardholder, applicant, buyer, student, tenant, caller, subscriber, beneficiary"
)


def kind_of_key(parent: str, key: str) -> KeyKind | None:
    """Of a field, by its name and that of the object it stands in ("" where there is none)."""
    words = _words(key)
    while words and words[-1].isdigit():  # address_line_1
        words.pop()
    if not words:
        return None
    last, pair = words[-1], " ".join(words[-2:])
    if last in _SECRET_WORDS or pair in _SECRET_PAIRS or (len(words) == 1 and last in _SECRET_ALONE):
        return "secret"
    if last in _PERSONAL_WORDS or pair in _PERSONAL_PAIRS:
        return "personal"
    owner = words[-2] if len(words) > 1 else (_words(parent) or [""])[-1]
    return "personal" if last == "name" and owner in _PEOPLE else None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name[:LONGEST_KEY])]
