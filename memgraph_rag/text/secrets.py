"""Find keys, tokens, passwords, card and account numbers in a text, and mask them.

It knows forms of secrets and no document. Most forms have a word without which their patterns cannot match, so they
cost an ordinary text a search for some words. Invariants: cards and accounts are found by their check digits; a masked
text has the same length, and the same white space.

Source: the forms that the issuers document, as collected in gitleaks and detect-secrets; ISO/IEC 7812 (cards), ISO
13616 (IBAN).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple


class Secret(NamedTuple):
    """A secret at ``[start, end)`` of a text, and its kind in words."""

    start: int
    end: int
    kind: str


class _Form(NamedTuple):
    """A kind of secret.

    Attributes:
        words: lower-case words of which the text must have one.
        pattern: its group "secret", or else the whole match, is the secret.
        check: whether a match is one.
    """

    kind: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Callable[[str], bool] = lambda _: True


_VENDORS = {
    "AWS key": ("AKIA ASIA", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "GitHub token": ("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{40,})"),
    "GitLab token": ("glpat- gldt- glrt-", r"\bgl(?:pat|dt|rt)-[\w-]{20,}"),
    "Slack token": ("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    "Slack webhook": ("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9_/-]{20,})"),
    "Stripe key": ("sk_live_ sk_test_ rk_live_ rk_test_", r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    "Anthropic key": ("sk-ant-", r"\bsk-ant-[\w-]{20,}"),
    "OpenAI key": ("sk-", r"\bsk-(?!ant-)(?:proj-|svcacct-|admin-|or-v1-)?(?=[\w-]{0,200}\d)[A-Za-z0-9_-]{20,}"),
    "Google key": ("AIza GOCSPX- ya29.", r"\bAIza[\w-]{35}|\bGOCSPX-[\w-]{20,}|\bya29\.[\w-]{20,}"),
    "npm token": ("npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    "PyPI token": ("pypi-", r"\bpypi-[\w-]{50,}"),
    "SendGrid key": ("SG.", r"\bSG\.[\w-]{16,32}\.[\w-]{32,64}"),
    "Twilio key": ("SK AC", r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    "Mailchimp key": ("-us", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    "Hugging Face token": ("hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    "token": (
        "dop_v1_ doo_v1_ shpat_ shpss_ shpca_ dapi lin_api_ ntn_ PMAK- sbp_ xai- gsk_ tskey- AGE-SECRET-KEY-1 whsec_",
        r"\b(?:do[op]_v1_[0-9a-f]{64}|shp(?:at|ss|ca)_[0-9a-f]{32}|dapi[0-9a-f]{32}|lin_api_\w{40}|ntn_\w{40,}"
        r"|PMAK-[\w-]{50,}|sbp_[0-9a-f]{40}|xai-\w{60,}|gsk_\w{40,}|tskey-[\w-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}"
        r"|whsec_[A-Za-z0-9+/=]{24,})",
    ),
    "Telegram bot token": (":AA", r"\b\d{8,10}:AA[\w-]{32,34}"),
    "Discord bot token": (".", r"\b[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,40}"),
    "JSON web token": ("eyJ", r"\beyJ[\w-]{8,2000}\.eyJ[\w-]{8,9000}\.[\w-]{8,}"),
    "Azure key": ("AccountKey= SharedAccessKey=", r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})"),
    "private key": (
        "PRIVATE KEY",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?P<secret>[^-]{30,20000})(?:-----END|\Z)",
    ),
    "password in an address": ("://", r"\b[a-z][a-z0-9+.-]{1,30}://[^\s/:@]{0,100}:(?P<secret>[^\s/@:]{3,100})@[\w.-]+"),
    "bearer token": ("Bearer Basic", r"\b(?:Bearer|Basic) (?P<secret>(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{20,}={0,2})"),
}  # fmt: skip
"""The forms of secrets that have marks of their own: words, separated by spaces, and a pattern."""

_NAMES = (
    r"(?:pass(?:word|wd|phrase|code|wort)|passwort|contraseña|mot de passe|pwd|pin code"
    r"|secret(?:[_ -]?(?:key|access[_ -]?key))?"
    r"|(?:api|access|auth|client|private|encryption|signing|account|storage)[_ -]?(?:key|token|secret)|token)"
)
_NAME_WORDS = ("passw", "passp", "passcode", "contraseña", "mot de passe", "pwd", "pin code", "secret", "key", "token")
_ASSIGNED = re.compile(
    rf"""{_NAMES}["']?\s{{0,3}}(?:[:=]|=>|\bis\b|\bist\b|\best\b|\bes\b)\s{{0,3}}["'`]?(?P<secret>[^\s"'`<>,;]{{6,200}})""",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<![\w.,/-])[2-6]\d{3}(?:[ -]?\d{3,6}){2,3}(?:[ -]?\d{1,4})?(?![\d.,/-]*\d)")
_IBAN = re.compile(r"\b[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_IBAN_LENGTHS = {
    "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18,
    "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SA": 24, "SE": 24, "SI": 19, "SK": 24,
    "TR": 26, "UA": 29, "AE": 23, "IL": 23,
}  # fmt: skip
_CARD_LENGTHS = {"2": {16}, "3": {14, 15}, "4": {13, 16, 19}, "5": {16}, "6": {16}}
_PLACEHOLDER = re.compile(
    r"[$%{(\[]|[)\]]|\*{3}|x{4}|\.\.\.|…|^(?:your|my|the|none|null|true|false|str|example)\b", re.I
)
_VISIBLE = re.compile(r"\S")
_LONG_WITHOUT_DIGIT = 24  # characters of a value without a digit that may still be a key


def _is_card(text: str) -> bool:
    """Return whether the digits have a length of their brand, and Luhn's check digit."""
    digits = [int(character) for character in text if character.isdigit()]
    if len(digits) not in _CARD_LENGTHS[str(digits[0])] or len(set(digits)) == 1:
        return False
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """Return whether the account number has the length of its country, and the remainder 1 by 97."""
    plain = text.replace(" ", "")
    if len(plain) != _IBAN_LENGTHS.get(plain[:2]):
        return False
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def _is_value(text: str) -> bool:
    """Return whether the value of a name such as "password" is a secret, and not a word, a call or a place holder."""
    if _PLACEHOLDER.search(text):
        return False
    kinds = sum(any(test(character) for character in text) for test in (str.isdigit, str.islower, str.isupper))
    has_sign = any(not character.isalnum() for character in text.rstrip(".!?:"))
    return any(map(str.isdigit, text)) or (kinds + has_sign >= 3) or (len(text) >= _LONG_WITHOUT_DIGIT and has_sign)


_FORMS = (
    *(_Form(kind, tuple(words.split()), re.compile(pattern)) for kind, (words, pattern) in _VENDORS.items()),
    _Form("account number", (), _IBAN, _is_iban),
    _Form("card number", (), _CARD, _is_card),
)
_PASSWORD = _Form("password or key", _NAME_WORDS, _ASSIGNED, _is_value)


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets of a text, in order, without overlaps: of two that overlap the first counts.

    >>> find_secrets("My card is 4111 1111 1111 1111, my password is Hunter2!x.")
    [Secret(start=11, end=30, kind='card number'), Secret(start=47, end=56, kind='password or key')]
    """
    found: list[Secret] = []
    for form in _FORMS:
        if not form.words or any(word in text for word in form.words):
            found += _matches(form, text)
    lower = text.lower()
    if any(word in lower for word in _NAME_WORDS):
        found += _matches(_PASSWORD, text)
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda each: each.start):  # stable, so the first kind stays first
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept


def _matches(form: _Form, text: str) -> Iterator[Secret]:
    for match in form.pattern.finditer(text):
        group = "secret" if "secret" in form.pattern.groupindex else 0
        value = match[group]
        ending = len(value) - len(value.rstrip(".!?:")) if form is _PASSWORD else 0
        if form.check(value):
            yield Secret(match.start(group), match.end(group) - ending, form.kind)


def mask_secrets(text: str, secrets: Sequence[Secret]) -> str:
    """Return the text with a star for each character of a secret that is no white space.

    Args:
        secrets: as ``find_secrets`` returns them: in order, without overlaps.

    >>> mask_secrets("PIN 12 34.", [Secret(4, 9, "card number")])
    'PIN ** **.'
    """
    pieces, end = [], 0
    for secret in secrets:
        pieces += text[end : secret.start], _VISIBLE.sub("*", text[secret.start : secret.end])
        end = secret.end
    return "".join([*pieces, text[end:]])
