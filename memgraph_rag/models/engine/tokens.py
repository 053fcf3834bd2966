"""Conversion of text to tokens and back, with character offsets, around a chat template.

The module knows the tokenizer, its template, and the place of each text of ``prompts.py`` in the template. It does not
know weights or caches. Invariant: text from outside is never read as a control token: ``<|im_end|>`` in a document
becomes ordinary tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import AddedToken, AutoTokenizer

from memgraph_rag.models.engine import prompts
from memgraph_rag.types import Prompt

_MARK = re.compile(r"[<\[]\S+[>\]]")  # the form of control tokens; other added tokens are blanks or words
_SLOT = "\u241fslot\u241f"  # placeholder for the content while the template is split


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids, and the half-open character range of each token."""

    ids: list[int]
    offsets: list[tuple[int, int]]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the half-open range of the tokens that overlap characters ``start`` to ``end``; (i, i) without one."""
        inside = [index for index, (_, stop) in enumerate(self.offsets) if start < stop]
        first = inside[0] if inside else len(self.ids)
        last = next((index for index, (begin, _) in enumerate(self.offsets) if begin >= end), len(self.ids))
        return first, last


@dataclass(frozen=True, slots=True)
class Turns:
    """The fixed tokens of the chat template: before, between and after the messages."""

    opening: list[int]  # before the first user content
    reply: list[int]  # between the user content and the assistant's content
    next_user: list[int]  # between the assistant's content and the second user content


class Tokens:
    """A tokenizer with its chat template split into parts.

    Args:
        folder: the folder with the tokenizer's files, or their name on a hub.
    """

    def __init__(self, folder: str | Path) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
        self.turns = self._split_template()
        self.yes, self.no = self._find_spellings("yes"), self._find_spellings("no")
        ends = {self._tokenizer.eos_token_id, *self.turns.reply[:1], *self.turns.next_user[:1]}
        special = set(self._tokenizer.all_special_ids)
        self.ends: frozenset[int] = frozenset(token for token in ends if token in special)
        # From here on the tokenizer sees only text from outside.
        self._tokenizer.split_special_tokens = True
        self._spell_out_marks()

    @property
    def size(self) -> int:
        """The number of tokens in the vocabulary, added tokens included."""
        return len(self._tokenizer)

    def to_json(self) -> str:
        """Return the tokenizer as a JSON text, in the form of the ``tokenizers`` library."""
        return self._tokenizer.backend_tokenizer.to_str()

    def encode(self, text: str) -> Encoded:
        """Return the tokens of a text from outside; control tokens in it become ordinary tokens. It adds no token."""
        encoding = self._tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True, verbose=False
        )
        return Encoded(encoding["input_ids"], encoding["offset_mapping"])

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, as ``encode`` gives them."""
        if not texts:
            return []
        encoding = self._tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False)
        return [len(ids) for ids in encoding["input_ids"]]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of these tokens, without control tokens; U+FFFD for a character that is not complete."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def decode_with_offsets(self, ids: Sequence[int]) -> tuple[str, NDArray[np.int64]]:
        """Return the text, and the (T, 2) half-open character range that each token added to it.

        If several tokens make up one character, the character belongs to the last of them; the ranges of the others are
        empty. A character that is not complete at the end is left out, unlike in ``decode``.
        """
        text, offsets, anchor, shown = "", [], 0, ""
        for index in range(len(ids)):
            window = self.decode(ids[anchor : index + 1])
            start = len(text)
            if not window.endswith("\ufffd"):
                text += window[len(shown) :]
                shown = window
                if len(shown) > 64:  # long enough for any merge of tokens, short enough for linear time
                    anchor, shown = index, self.decode(ids[index : index + 1])
            offsets.append((start, len(text)))
        return text, np.array(offsets, np.int64).reshape(-1, 2)

    # ── prompts as tokens ────────────────────────────────────────────────────────────────────────────────

    def prompt(self, prompt: Prompt) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the tokens of a whole prompt, and the half-open token range of each input.

        The tokens end where the assistant begins to write. A range holds at least one token, even for an empty input.
        """
        text, characters = prompts.prompt_text(prompt)
        content = self.encode(text)
        before = len(self.turns.opening)
        spans = [content.span(*span) for span in characters]
        ids = [*self.turns.opening, *content.ids, *self.turns.reply]
        return ids, [(before + start, before + max(end, start + 1)) for start, end in spans]

    def question(self, question: str) -> tuple[list[int], tuple[int, int]]:
        """Return the search prompt's tokens up to its first node, and the half-open range of the question in them."""
        text, characters = prompts.question_head(question)
        head = self.encode(text)
        before = len(self.turns.opening)
        start, end = head.span(*characters)
        return [*self.turns.opening, *head.ids], (before + start, before + end)

    def nodes(self, texts: Sequence[str]) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the tokens of nodes as bullet lines, and the half-open token range of each node's text.

        A range holds at least one token and leaves the bullet mark out.
        """
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        for text in texts:
            line, characters = prompts.node_line(text)
            encoded = self.encode(line)
            start, end = encoded.span(*characters)
            spans.append((len(ids) + start, len(ids) + max(end, start + 1)))
            ids += encoded.ids
        return ids, spans

    def request_turn(self, request: str, *, says_yes: bool) -> list[int]:
        """Return the tokens from the end of the probe to the start of the reply, with the template around them.

        In order: the start of the assistant's turn, its verdict, the start of the user's turn, the request, the start
        of the reply.
        """
        verdict = self.encode(prompts.PROBE_YES if says_yes else prompts.PROBE_NO).ids
        request_ids = self.encode(request).ids
        return [*self.turns.reply, *verdict, *self.turns.next_user, *request_ids, *self.turns.reply]

    def _split_template(self) -> Turns:
        if not self._tokenizer.chat_template:
            encode = self._encode_template
            return Turns(opening=[], reply=encode("\nAnswer: "), next_user=encode("\n\n"))
        user, assistant = {"role": "user", "content": _SLOT}, {"role": "assistant", "content": _SLOT}
        rendered = self._tokenizer.apply_chat_template(
            [user, assistant, user], tokenize=False, add_generation_prompt=True
        )
        opening, reply, next_user, _ = (self._encode_template(part) for part in rendered.split(_SLOT))
        return Turns(opening, reply, next_user)

    def _spell_out_marks(self) -> None:
        """Register more control tokens, so that text from outside never becomes one of them.

        Some tokenizers have control tokens that they do not mark as special, such as Qwen's ``<tool_call>``.
        """
        added = self._tokenizer.added_tokens_decoder.values()
        marks = [str(token.content) for token in added if not token.special and _MARK.fullmatch(str(token.content))]
        self._tokenizer.add_tokens([AddedToken(mark, special=True) for mark in marks], special_tokens=True)

    def _encode_template(self, part: str) -> list[int]:
        return self._tokenizer(part, add_special_tokens=False, split_special_tokens=False)["input_ids"]

    def _find_spellings(self, word: str) -> list[int]:
        """Return all tokens that spell the word, in any case and with any blanks around it."""
        return sorted(
            index
            for token, index in self._tokenizer.get_vocab().items()
            if word in token.casefold() and self._tokenizer.decode([index]).strip().casefold() == word
        )
