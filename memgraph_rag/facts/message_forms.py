"""Recognise forms of pasted texts: forwarded mails, letters, lines of chats, and announcements of such texts.

The module knows one line, or a few lines, at a time. Announcements are English; headers and attributions are those of
mail and chat programs in the larger languages of Europe. Invariant: a label that people write before their own words
("Update: …", "My diet: …") is not a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memgraph_rag.facts.attributes import attribute_form, is_known_attribute
from memgraph_rag.lexical.roles import is_machine, is_user

_MOST_LINE = 400  # characters of a line that has one of these forms

_SPEECH = (
    r"(?:said|says?|wrote|writes?|told|tells?|texted|e-?mailed|mailed|messaged|replied|replies|answer(?:ed|s)|asked|"
    r"asks|posted|tweeted|commented|reads|stated|quoted|sent|claim(?:ed|s)|announce[ds]|schrieb(?:en)?|sagt[e]?|"
    r"geschrieben|a écrit|a dit|escribió|dijo|ha scritto|ha detto|schreef|zei|escreveu|disse|napisał\w*)"
)
_TEXT = (
    r"(?:e-?mail|mail|letter|message|text|note|chat|conversation|transcript|thread|article|post|review|comment|quote|"
    r"quotation|passage|paragraph|excerpt|essay|story|poem|script|document|report|paper|abstract|log|newsletter|prompt|"
    r"code|reply|response|statement|dialogue|dialog|description|bio|profile|template|draft|contract|policy|lyrics|"
    r"tweet|ad|listing|sentence|snippet|output|invitation|announcement|page|screenshot|memo|speech)(?:e?s)?"
)
_POINTER = (
    r"(?:this|these|that|those|the|following|below|here|forwarded|fwd|pasted?|copied|attached|got|received|found|read|a|"
    r"an|his|her|their|another|\w+['’]s?)"
)
_OWN_SPEECH = re.compile(
    rf"\b(?:i|we)(?:['’](?:ve|d|m|re|ll))?(?: \w+){{0,2}} (?:{_SPEECH}|to \w+|say|write|tell)\b|\bmy (?:news|update)\b",
    re.IGNORECASE,
)
_ANNOUNCEMENT = re.compile(
    rf"(?:\b{_SPEECH}\b(?:[^.!?;:]|[.:](?=\S)){{0,80}}|\b{_POINTER}\b[^.!?;:]{{0,60}}\b{_TEXT}\b[^.!?;:]{{0,80}})\s?[:：][*_\s]*$",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"^\W*(?:(?:please|can you|could you|would you|i(?:['’]d| would) like you to|i want you to|help me|kindly|then|"
    r"and) )*"
    r"(?:summari[sz]e|translate|proof-?read|rewrite|rephrase|paraphrase|correct|edit|improve|explain|analy[sz]e|review|"
    r"shorten|check|fix|classify|reply to|respond to|answer|look at|read|extract|continue|describe|comment on)\b"
    rf"[^.!?]{{0,60}}\b(?:this|these|following|below)\b[^.!?]{{0,60}}\b{_TEXT}\b[^.!?]{{0,40}}[.:?!]?\s*$",
    re.IGNORECASE,
)
_FORWARD = re.compile(
    r"^[\s>*_=-]*(?:(?:begin |start of )?(?:forwarded|original) (?:message|mail|e-?mail|post)|forwarded (?:from|by)\b|"
    r"(?:fwd?|wg|tr|rv|i|doorst)\s?:\s|(?:weitergeleitete|ursprüngliche) (?:nachricht|e-?mail)|message (?:transféré|"
    r"d['’]origine|original)|mensaje (?:reenviado|original)|messaggio (?:inoltrato|originale)|doorgestuurd bericht|"
    r"oorspronkelijk bericht|mensagem (?:encaminhada|original))",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"^[\s*_]*(?:from|to|cc|bcc|subject|date|sent|reply-to|von|an|gesendet|datum|betreff|de|à|objet|envoyé|"
    r"date d['’]envoi|enviado|para|asunto|fecha|da|a|oggetto|inviato|data|van|aan|onderwerp|verzonden|assunto)[*_]*\s?:"
    r"[*_]*\s+\S",
    re.IGNORECASE,
)
_MACHINE_READER = r"(?:me|god|lord|diary|all|ai|assistant|chat ?gpt|claude|gemini|copilot|bot|memory)\b"
_SALUTATION = re.compile(
    rf"^[\s*_]*(?:dear(?! {_MACHINE_READER})|sehr geehrte[rs]?|liebe[rs]?|cher|chère|chers|estimad[oa]s?|querid[oa]s?|"
    r"gentile|car[oa]|geachte|beste|prezad[oa]s?|to whom it may concern)\b[^\n:;.!?]{0,60}?"
    r"(?:\b(?:dr|mr|mrs|ms|st)\.[^\n:;.!?]{1,40})?[,:!]",
    re.IGNORECASE,
)
_GREETING = re.compile(
    rf"^[\s*_]*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|hallo|guten (?:tag|morgen|abend)|"
    rf"bonjour|hola|ciao|olá)(?! {_MACHINE_READER})\b[^\n.?:;]{{0,50}}[,!:–—-]?\s*$",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"^[\s*_—–-]*(?:(?:yours|best|kind|warm|many thanks|regards|sincerely|cheers|love|xoxo|take care|respectfully|"
    r"cordially|mit (?:freundlich|best|lieb)\w+ gr\w+|viele gr\w+|liebe gr\w+|beste gr\w+|cordialement|bien à|saludos|"
    r"un saludo|distinti saluti|cordiali saluti|met vriendelijke|atenciosamente|abraços)\b[^\n.?:;]{0,40}[,.!]?)\s*$",
    re.IGNORECASE,
)

_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[ap]\.?m\.?)?"
_DATE = r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|(?:today|yesterday|\w{3,9}\.? \d{1,2}(?:, \d{4})?)(?: at)?)"
_MOMENT = rf"(?:{_DATE}(?:[,T]?\s*{_CLOCK})?\S{{0,6}}|{_CLOCK})"
_STAMPED = re.compile(
    rf"^\s*(?:\[{_MOMENT}\]\s*(?:[-–—]\s*)?|{_MOMENT}\s*[-–—]\s*)(?:<[^<>\n]{{1,40}}>|[^:\n<>]{{1,40}}:)\s|"
    rf"^\s*<[@+~]?[\w.-]{{1,30}}>\s+(?=\S)|^\s*[^:\n()\[\]]{{1,40}}\s?[(\[]{_MOMENT}[)\]]\s*:|"
    rf"^\s*(?-i:[A-Z@~])[\w'’-]*(?: (?-i:[A-Z])[\w'’.-]*){{0,3}}(?:\s{{1,3}}|\s?[—–-]\s?|\s?\[)"
    rf"(?:{_DATE}\s*)?{_CLOCK}\]?\s*$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^[\s*_•-]*(?P<name>[@~]?[^\W\d_][^\s:：,;.!?()]*\.?(?: [^\s:：,;.!?()]+\.?){0,3}?)[*_]*\s?[:：][*_]*(?:\s|$)"
)
_OWN_LABELS = frozenset(
    """
    update updated edit edited note notes ps p.s pps nb n.b news correction corrected fyi tldr tl;dr reminder context
    background summary question questions answer problem issue goal goals task example examples idea plan plans reason
    result results status info information detail details fact facts random quick big small good bad great sad happy
    breaking important warning spoiler disclaimer confession personal about my our new current me myself i also and but
    so today yesterday tomorrow tonight now then monday tuesday wednesday thursday friday saturday sunday january
    february march april may june july august september october november december morning afternoon evening night
    breakfast lunch dinner snack first second third fourth finally next last lastly step option day week month year part
    chapter section pros cons pro con hobbies hobby likes dislikes interests skills experience education health family
    money work life favourites favorites budget weather mood weekend lesson moral point conclusion bottom short long
    simple honest honestly remember remark remarks request thanks sorry hint tip tips bonus extra conditions condition
    requirements requirement constraints input output role rule rules title topic subject theme style tone language
    format length audience setting scene case version total time place where when who what why how yes no ok okay well
    anyway actually basically seriously surprise guess joke kidding truth apparently currently recently previously
    originally nowadays meanwhile however turns fun true false wish list items item ingredients tools tech stack
    preference preferences instruction instructions reply replies see look here code error errors
    """.split()  # noqa: SIM905
)


def is_forward_start(lines: Sequence[str]) -> bool:
    """Return whether the first of these lines begins a forwarded mail or its headers.

    A header counts only if another one of the lines is a header, too. There must be at least one line.

    >>> is_forward_start(["-------- Forwarded message --------"]), is_forward_start(["From: Tom", "Subject: Move"])
    (True, True)
    """
    first = lines[0]
    if len(first) > _MOST_LINE:
        return False
    return bool(
        _FORWARD.match(first) or (_HEADER.match(first) and sum(bool(_HEADER.match(each)) for each in lines) > 1)
    )


def begins_letter(line: str, *, is_closed: bool) -> bool:
    """Return whether a line is a letter's salutation.

    Args:
        is_closed: whether a letter's closing line follows, so that "Hi Ann," alone on a line is a salutation, too.

    >>> begins_letter("Dear Ann, I live in Bonn.", is_closed=False), begins_letter("Hi Ann,", is_closed=False)
    (True, False)
    """
    return bool(_SALUTATION.match(line[:_MOST_LINE]) or (is_closed and _GREETING.match(line[:_MOST_LINE])))


def ends_letter(line: str) -> bool:
    """Return whether a line is a letter's closing: "Best regards,"."""
    return len(line) <= _MOST_LINE and bool(_CLOSING.match(line))


def is_announcement(line: str) -> bool:
    """Return whether a line announces another person's words, or a text to work on ("Summarise this mail").

    A line about the speaker's own words announces nothing, and neither does a line of more than 400 characters.

    >>> is_announcement("Here is the mail that I got:"), is_announcement("On Mon, Tom wrote:")
    (True, True)
    >>> is_announcement("I told him:")
    False
    """
    if len(line) > _MOST_LINE:
        return False
    if _TASK.match(line):
        return True
    return bool(_ANNOUNCEMENT.search(line)) and not _OWN_SPEECH.search(line)


def label_end(line: str, speaker: str) -> int:
    """Return where a line's words begin after the name of a person who is not ``speaker``; 0 without such a name.

    A line that begins as a program writes chats, such as with a time before the name, counts whoever it names. So does
    a role ("User", "Assistant"). A word such as "Update", a relative and a title in lower case are not names.

    >>> label_end("Tom: I live in Bonn", "Ann"), label_end("Ann: I live in Bonn", "Ann"), label_end("Update: Hi", "Ann")
    (5, 0, 0)
    """
    if stamped := _STAMPED.match(line[:_MOST_LINE]):
        return stamped.end()
    label = _LABEL.match(line[:_MOST_LINE])
    if label is None:
        return 0
    name = label["name"]
    if name.startswith(("@", "~")) or is_machine(name) or is_user(name):  # "User: …" is of another chat
        return label.end()
    is_own = name.casefold() == speaker.casefold() or name.casefold().split()[0].rstrip(".") in _OWN_LABELS
    is_title = any(word[0].islower() for word in name.split()) or is_known_attribute(attribute_form(name))
    return 0 if is_own or is_title else label.end()
