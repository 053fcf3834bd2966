"""Find orders to ignore earlier instructions ("ignore all previous instructions") in many languages.

The module knows the stems of three kinds of words in each language. It searches texts of letters only
(``seen_text.as_letters``), so spaces, line wraps, punctuation and accents make no difference. Invariant: an order has a
verb, a word for what was before, and a word for an instruction, close to each other.
"""

from __future__ import annotations

import re

from memgraph_rag.text.seen_text import as_letters

_ORDERS = (
    # verbs | words for what was before | words for an instruction
    ("ignore disregard forget override bypass neglect donotfollow paynoattentionto",
     "previous prior above earlier preceding foregoing",
     "instruction prompt directive guideline"),
    ("ignorier vergiss vergesst vergessensie missachte übergehe beachtenicht befolgenicht",
     "vorherig bisherig vorangegangen vorangehend früher obig vorig",
     "anweisung instruktion befehl vorgabe"),
    ("ignore ignorez oublie oubliez neglige negligez faisabstraction faitesabstraction netienspascompte",
     "précédent antérieur cidessus préalable",
     "instruction consigne directive ordre"),
    ("ignora ignore ignorad olvida olvide descarta descarte hazcasoomiso hagacasoomiso",
     "anterior previa previo precedente",
     "instruccion indicacion orden directriz directrices"),
    ("ignora ignorate dimentica dimenticate trascura",
     "precedent anterior",
     "istruzion indicazion ordini direttiv"),
    ("ignore ignora esqueça desconsidere",
     "anterior prévia precedente acima",
     "instruç instruções ordens comandos diretriz"),
    ("negeer vergeet",
     "vorige eerdere voorgaande bovenstaande",
     "instructie opdracht aanwijzing"),
    ("zignoruj ignoruj zapomnij pomin",
     "poprzedni wcześniejsz powyższ",
     "instrukcj poleceni"),
    ("ignorera glöm bortse",
     "tidigare föregående ovanstående",
     "instruktion anvisning"),
    ("yoksay gözardiet unut dikkatealma",
     "önceki yukarıdaki",
     "talimat komut yönerge"),
    ("игнорируй проигнорируй забудь",
     "предыдущ прежни вышеуказанн",
     "инструкци указани команд"),
    ("ігноруй проігноруй забудь",
     "попередн",
     "інструкці вказівк"),
    ("忽略 无视 無視 忘记 忘記 不要理会 不要理會 不要遵循",
     "之前 先前 以上 上面 前面 上述 所有",
     "指令 指示 提示词 提示詞 命令"),
    ("無視 忘れ",
     "以前 前の 上記 これまで 今まで すべて",
     "指示 命令 プロンプト"),
    ("무시 잊",
     "이전 위의 앞의 모든",
     "지시 명령 지침 프롬프트"),
    ("تجاهل انس",
     "السابقة أعلاه",
     "التعليمات الأوامر"),
    ("अनदेखा नज़रअंदाज़ भूल",
     "पिछले पूर्व ऊपर",
     "निर्देश आदेश"),
)  # fmt: skip
_NEAR = r".{0,24}?"


def _alternatives(stems: str) -> str:
    return f"(?:{'|'.join(map(as_letters, stems.split()))})"


def _pattern(verbs: str, before: str, orders: str) -> str:
    verb, former, order = map(_alternatives, (verbs, before, orders))
    former_order = f"(?:{former}{_NEAR}{order}|{order}{_NEAR}{former})"
    return f"{verb}{_NEAR}{former_order}|{former_order}{_NEAR}{verb}"


_ANY = re.compile("|".join(_pattern(*stems) for stems in _ORDERS))


def find_overriding_order(letters: str) -> tuple[int, int] | None:
    """Return the (start, end) of the first order in a text of letters only (``as_letters``); None without an order.

    >>> find_overriding_order("ignoreallpreviousinstructions"), find_overriding_order("thepreviousordersweresent")
    ((0, 28), None)
    """
    match = _ANY.search(letters)
    return match.span() if match else None
