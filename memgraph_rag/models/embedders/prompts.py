"""The prompts that an embedding model expects before questions and before passages.

The module reads the files of sentence-transformers and knows some names; it never runs a model. Invariant: the prompts
in a model's own files come first, then its name decides.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_RETRIEVE = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_REPRESENT = "Represent this sentence for searching relevant passages: "
_REPRESENT_ZH = "为这个句子生成表示以用于检索相关文章："
_PASSAGE_NAMES = ("document", "passage", "corpus")  # in the order of ``SentenceTransformer.encode_document``


@dataclass(frozen=True, slots=True)
class Prompts:
    """The text before every question, and the text before every passage; either may be empty."""

    question: str = ""
    passage: str = ""

    def __bool__(self) -> bool:
        return bool(self.question or self.passage)


NO_PROMPTS = Prompts()

_BY_NAME = [
    (re.compile(pattern), prompts)
    for pattern, prompts in (
        (r"\be5\b.*\binstruct\b|\be5-mistral\b|\bgte-qwen", Prompts(f"{_RETRIEVE} ")),
        (r"\be5\b", Prompts("query: ", "passage: ")),
        (r"\bbge-(?:small|base|large)-en\b", Prompts(_REPRESENT)),
        (r"\bbge-(?:small|base|large)-zh\b", Prompts(_REPRESENT_ZH)),
        (r"\bnomic-embed-text\b", Prompts("search_query: ", "search_document: ")),
        (r"\bqwen3-embedding\b", Prompts(_RETRIEVE)),
    )
]
"""By the models' own pages. gte and bge-m3 have none, as all other names."""


def find_prompts(name: str, folder: str = "") -> Prompts:
    """Return the texts that an embedding model expects before each question and each passage.

    >>> find_prompts("intfloat/multilingual-e5-base"), find_prompts("all-MiniLM-L6-v2")
    (Prompts(question='query: ', passage='passage: '), Prompts(question='', passage=''))

    Args:
        name: the name of the model, or of its folder.
        folder: the folder of the model, if there is one. A name of a hub has none: then the name alone decides.
    """
    if folder and (own := _read_prompts(Path(folder))):
        return own
    plain = name.lower().replace("_", "-")
    return next((prompts for pattern, prompts in _BY_NAME if pattern.search(plain)), NO_PROMPTS)


def _read_prompts(folder: Path) -> Prompts:
    """Return the prompts in a folder's own files; none if they hold none or cannot be read."""
    try:
        config = json.loads((folder / "config_sentence_transformers.json").read_text("utf-8"))
        texts = {name: text for name, text in (config.get("prompts") or {}).items() if isinstance(text, str)}
    except (OSError, ValueError, AttributeError):
        return NO_PROMPTS
    usual = texts.get(config.get("default_prompt_name") or "", "")
    passage = next((texts[name] for name in _PASSAGE_NAMES if name in texts), usual)
    return Prompts(texts.get("query", usual), passage)
