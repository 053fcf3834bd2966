"""Tell the language of a text: a document's by a model, a question's by its script and its frequent words.

The module knows no document. Invariants: the same text has the same language; a text whose language is not clear has
none for ``detect_language`` and is English for ``guess_language``, so that a name alone, or a line of code, is read as
English; only a text that is not English loads the model; only a part of a long text is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache

from memgraph_rag.lexical.tokenize import STOP_WORDS, words
from memgraph_rag.types.cosines import ENGLISH, OTHER

_SAMPLE = 1_000  # characters at the beginning, and as many in the middle
_FEWEST_LETTERS = 20
_CLEAR = 0.8  # probability; above it 3 of 1,000 samples of 40 characters and more were wrong
_ENGLISH_SHARE, _FEWEST_WORDS = 0.25, 12  # of stop words in English prose: 0.3 to 0.5; in German: below 0.15
_REACH = 2_000  # characters from which a language is guessed
_LOOKED_AT = 400  # characters that tell the kind

_SCRIPTS = {
    "ja": "\u3041-\u30ff",
    "ko": "\uac00-\ud7a3",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
    "th": "\u0e01-\u0e5b",
    "lo": "\u0e81-\u0edf",
    "km": "\u1780-\u17ff",
    "my": "\u1000-\u109f",
    "hi": "\u0900-\u097f",
    "bn": "\u0980-\u09ff",
    "ta": "\u0b80-\u0bff",
    "ar": "\u0600-\u06ff",
    "he": "\u0590-\u05ff",
    "el": "\u0370-\u03ff",
    "ru": "\u0400-\u04ff",
    "ka": "\u10a0-\u10ff",
    "hy": "\u0530-\u058f",
}
LATIN = "latin"
_KINDS = {"ja": "cjk", "ko": "cjk", "zh": "cjk", "ru": "cyrillic", "hi": "devanagari", "ar": "arabic"}
_RUNS = {language: re.compile(f"[{letters}]") for language, letters in _SCRIPTS.items()}
_LATIN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_OF_SIGNS = {"ja", "zh", "ko"}  # one of their signs says as much as several letters
_SHARE, _SHARE_OF_SIGNS = 0.5, 0.2  # of a text's letters that must be of a script
_SHORT = 12  # words
_LEAST_ENGLISH, _ENGLISH_WITHOUT = 0.05, 8  # share of English words; words of a text that may have none

FUNCTION_WORDS = {
    language: frozenset(listed.split())
    for language, listed in {
        "en": "the of and to in is was are were be been for on with as by at from that this it its he she they his her"
        " their which who what when where how why did does do has have had not or an but if you your can i my me we"
        " will would there than then into about after all also any because could should these those some such",
        "de": "der die das den dem des ein eine einen einem einer eines und oder aber nicht ist sind war waren wird"
        " werden wurde wurden hat haben hatte mit von vom zu zum zur im in am an auf aus bei für nach über unter als"
        " auch wie was wer wo wann warum welche welcher welches welchen welchem wenn dass sich er sie es ihr sein seine"
        " durch um bis nur noch mehr kann können man ich mein so dies diese dieser dieses wir du",
        "fr": "le la les un une des du de et ou mais est sont était étaient dans sur avec pour par pas ne que qui quoi"
        " quel quelle quels quelles où quand comment pourquoi il elle ils elles ce cette ces son sa ses leur leurs au"
        " aux en a ont été plus se nous vous je d'un d'une qu'il",
        "es": "el la los las un una unos unas y o pero es son era eran fue fueron en de del con por para no que qué"
        " quién quiénes cuál cuáles dónde cuándo cómo cuánto cuántos se su sus lo al a como más este esta estos estas"
        " ha han sido entre sobre desde",
        "it": "il lo la gli le un una uno e o ma è sono era erano fu furono in di del della dei delle nel nella con per"
        " non che chi cosa quale quali dove quando come perché si suo sua loro al alla da dal più questo questa ha"
        " hanno",
        "pt": "o a os as um uma e ou mas é são era eram foi foram em de do da dos das no na nos nas com por para não"
        " que quem qual quais onde quando como se seu sua ao à mais este esta foi ser",
        "nl": "de het een en of maar is zijn was waren in van met voor op aan door bij niet dat die wie wat waar"
        " wanneer hoe waarom welke er ook naar uit om als te werd worden heeft hebben zich",
        "sv": "och att det som en ett är var av för på med till den de inte om men har hade vid från vad vem när hur"
        " vilken vilket vilka efter eller",
        "da": "og at det som en et er var af for på med til den de ikke om men har havde ved fra hvad hvem hvornår"
        " hvordan hvilken hvilket hvilke efter eller",
        "pl": "i w na z że się nie jest są był była było były do od po przez dla jak co kto gdzie kiedy który która"
        " które jako oraz ale lub o to",
        "cs": "a v na z že se není je jsou byl byla bylo byly do od po pro jak co kdo kde kdy který která které jako"
        " ale nebo o to s",
        "ro": "și sau dar este sunt era erau în din de la cu pentru pe nu că care ce cine unde când cum a al ale ai o"
        " un fost mai se au lui prin după",
        "tr": "ve veya ama bir bu şu o ile için gibi daha en çok ne kim nerede ne zaman nasıl neden hangi mi mı mu mü"
        " olarak olan oldu değil var da de ise kadar sonra",
        "vi": "và hoặc nhưng là của trong với cho không một các những được đã có từ này đó ai gì đâu khi nào như thế"
        " tại vì sao bao nhiêu ở vào ra người",
        "fi": "ja tai mutta on ovat oli olivat ei että joka mikä kuka missä milloin miten miksi kun kuin myös se ne"
        " hän sen sekä",
        "ru": "и в во на с со к по из за от до о об не что как кто где когда почему какой какая какие какое который"
        " которая которые был была было были это его её их он она они а но или для при также",
        "el": "ο η το οι τα του της των τον την και ή αλλά είναι ήταν σε στο στη στην στον με για από που ποιος ποια"
        " ποιο τι πότε πού πώς γιατί δεν ότι ένα μια ένας ως",
        "hi": "का के की है हैं था थे थी में से को पर और या लेकिन एक यह वह ये वे जो कि क्या कौन कब कहाँ कैसे क्यों किस किसने"
        " ने नहीं भी तो ही कर किया गया गई करने होने होता लिए साथ अपने इस उस द्वारा जब तक बाद रूप जाता सकता",
        "ar": "في من على إلى عن مع هو هي هم ما ماذا من متى أين كيف لماذا هل أي التي الذي الذين هذا هذه ذلك تلك كان"
        " كانت يكون لا لم لن قد أو و ثم بعد قبل بين كل عند حيث أن إن كما",
    }.items()
}
"""The words of a language that are in nearly every text, and that are no names at the beginning of a sentence."""


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language by a model; empty if it is not clear.

    >>> detect_language("The old lighthouse keeper was the only one who knew what had happened on that night.")
    'en'
    >>> detect_language("Der Leuchtturmwärter war der Einzige, der wusste, was geschehen war."), detect_language("ok")
    ('de', '')
    """
    middle = len(text) // 2
    sample = text if len(text) <= 2 * _SAMPLE else f"{text[:_SAMPLE]}\n{text[middle : middle + _SAMPLE]}"
    if sum(map(str.isalpha, sample)) < _FEWEST_LETTERS:
        return ""
    listed = words(sample)
    is_english = len(listed) >= _FEWEST_WORDS and (
        sum(word in STOP_WORDS for word in listed) >= _ENGLISH_SHARE * len(listed)
    )
    if is_english:
        return "en"
    language, probability = _load_classifier()(sample)
    return language if probability >= _CLEAR else ""


def guess_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, also of a short one; "en" without evidence for another one.

    A language that shares its script with others is told only among those of ``FUNCTION_WORDS``: all others in Cyrillic
    are "ru", in Devanagari "hi", in Arabic letters "ar".

    >>> guess_language("Wer hat den Roman geschrieben?"), guess_language("谁写了这本书"), guess_language("Zoë Lund")
    ('de', 'zh', 'en')
    """
    return _guess(text[:_REACH])


@lru_cache(maxsize=4096)
def _guess(start: str) -> str:
    if not start.isascii():
        letters = sum(map(str.isalpha, start)) or 1
        for language, run in _RUNS.items():
            if len(run.findall(start)) > (_SHARE_OF_SIGNS if language in _OF_SIGNS else _SHARE) * letters:
                return language
    counted = Counter(word.lower() for word in _LATIN.findall(start))
    hits = {
        language: [counted[word] for word in counted if word in listed] for language, listed in FUNCTION_WORDS.items()
    }
    best = max(hits, key=lambda language: sum(hits[language]))
    english, needed = sum(hits["en"]), 1 if 3 < counted.total() < _SHORT else 3
    return best if len(hits[best]) >= needed and sum(hits[best]) > 2 * english else "en"


@lru_cache(maxsize=4_096)
def kind_of_text(text: str) -> str:
    """Return "english", "latin" for another language in Latin letters, else the script, such as "cyrillic" or "cjk".

    An embedder's cosines are read by this kind (``types.cosines``).

    >>> [kind_of_text(text) for text in ("Who owns the mill?", "Wem gehört die Mühle?", "谁拥有磨坊?", "42")]
    ['english', 'latin', 'cjk', 'english']
    """
    start = text[:_LOOKED_AT]
    language = guess_language(start)
    if language != "en":
        return LATIN if language in FUNCTION_WORDS and language not in _SCRIPTS else _KINDS.get(language, OTHER)
    latin = [word.lower() for word in _LATIN.findall(start)]
    if not latin and any(map(str.isalpha, start)):
        return OTHER
    of_english = sum(word in FUNCTION_WORDS["en"] for word in latin)
    if not of_english:
        return ENGLISH if start.isascii() and len(latin) < _ENGLISH_WITHOUT else LATIN
    return ENGLISH if of_english >= _LEAST_ENGLISH * len(latin) else LATIN


def kind_of_pair(question: str, text: str) -> str:
    """Return the kind of text, as ``kind_of_text``, by which the cosine of a question and a text is read.

    A question in another script than Latin decides; else the text, which has more words.
    """
    kind = kind_of_text(question)
    return kind_of_text(text) if kind in (ENGLISH, LATIN) else kind


@cache
def _load_classifier() -> Callable[[str], tuple[str, float]]:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True).classify
