"""Text to tokens and back, with character offsets, around a chat template.

It knows the tokenizer, its template, and which words of ``prompts.py`` go where in it; no weights, no cache.
Invariant: text that came from outside is never read as a control token: ``<|im_end|>`` in a document is seven
ordinary characters to the model.
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

__all__ = ["Encoded", "Tokens", "Turns"]

_MARK = re.compile(r"[<\[]\S+[>\]]")  # what control tokens look like; others are runs of blanks, or words
_SLOT = "\u241fslot\u241f"  # stands for the content while the template is cut into its parts


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids, and the characters that each covers."""

    ids: list[int]
    offsets: list[tuple[int, int]]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The tokens that begin within these characters, as a half-open range; a first token may begin before."""
        inside = [index for index, (_, stop) in enumerate(self.offsets) if start < stop]
        first = inside[0] if inside else len(self.ids)
        last = next((index for index, (begin, _) in enumerate(self.offsets) if begin >= end), len(self.ids))
        return first, last


@dataclass(frozen=True, slots=True)
class Turns:
    """The fixed token runs of the chat template: what stands before, between and after the messages."""

    opening: list[int]  # up to the first user content
    reply: list[int]  # from the user content to where the assistant begins
    next_user: list[int]  # from the assistant's content to the second user content


class Tokens:
    """A tokenizer with its chat template taken apart.

    Args:
        folder: where the tokenizer's files lie (or the name of one on a hub).
    """

    def __init__(self, folder: str | Path) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(str(folder))
        self.turns = self._take_template_apart()
        self.yes, self.no = self._spellings("yes"), self._spellings("no")
        ends = {self._tokenizer.eos_token_id, *self.turns.reply[:1], *self.turns.next_user[:1]}
        special = set(self._tokenizer.all_special_ids)
        self.ends: frozenset[int] = frozenset(token for token in ends if token in special)
        # From here on the tokenizer sees foreign text only.
        self._tokenizer.split_special_tokens = True
        self._spell_out_marks()

    @property
    def size(self) -> int:
        """How many tokens there are."""
        return len(self._tokenizer)

    def serialised(self) -> str:
        """The tokenizer as JSON of the ``tokenizers`` library."""
        return self._tokenizer.backend_tokenizer.to_str()

    def encode(self, text: str) -> Encoded:
        """Tokens of foreign text; control tokens in it are spelled out."""
        encoding = self._tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True, verbose=False
        )
        return Encoded(encoding["input_ids"], encoding["offset_mapping"])

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        if not texts:
            return []
        encoding = self._tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False)
        return [len(ids) for ids in encoding["input_ids"]]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these tokens, control tokens left out."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def decode_with_offsets(self, ids: Sequence[int]) -> tuple[str, NDArray[np.int64]]:
        """The text, and the characters (T, 2) that each token added to it.

        A character of several tokens belongs to the token that completes it; the others cover nothing.
        """
        text, offsets, anchor, shown = "", [], 0, ""
        for index in range(len(ids)):
            window = self.decode(ids[anchor : index + 1])
            start = len(text)
            if not window.endswith("\ufffd"):
                text += window[len(shown) :]
                shown = window
                if len(shown) > 64:  # a window long enough for any merge, short enough to stay linear
                    anchor, shown = index, self.decode(ids[index : index + 1])
            offsets.append((start, len(text)))
        return text, np.array(offsets, np.int64).reshape(-1, 2)

    # ── what the model is told, as tokens ────────────────────────────────────────────────────────────────

    def prompt(self, prompt: Prompt) -> tuple[list[int], list[tuple[int, int]]]:
        """A whole prompt up to where the assistant writes, and the tokens of each input, half open."""
        text, characters = prompts.prompt_text(prompt)
        content = self.encode(text)
        before = len(self.turns.opening)
        spans = [content.span(*span) for span in characters]
        ids = [*self.turns.opening, *content.ids, *self.turns.reply]
        return ids, [(before + start, before + max(end, start + 1)) for start, end in spans]

    def question(self, question: str) -> tuple[list[int], tuple[int, int]]:
        """Everything before the first node, and the tokens of it that are the question, half open."""
        text, characters = prompts.question_head(question)
        head = self.encode(text)
        before = len(self.turns.opening)
        start, end = head.span(*characters)
        return [*self.turns.opening, *head.ids], (before + start, before + end)

    def nodes(self, texts: Sequence[str]) -> tuple[list[int], list[tuple[int, int]]]:
        """Nodes as bullet lines, and the tokens of each node's text, half open; at least one, the mark left out."""
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        for text in texts:
            line, characters = prompts.node_line(text)
            encoded = self.encode(line)
            start, end = encoded.span(*characters)
            spans.append((len(ids) + start, len(ids) + max(end, start + 1)))
            ids += encoded.ids
        return ids, spans

    def answer_turn(self, question: str, *, says_yes: bool) -> list[int]:
        """The end of the probe's turn, its verdict, and the second turn of PECAN's prompt, up to the answer."""
        return self.request_turn(prompts.answer_request(question), says_yes=says_yes)

    def request_turn(self, request: str, *, says_yes: bool) -> list[int]:
        """The end of the probe's turn, its verdict, and what is asked next, up to the reply."""
        verdict = self.encode(prompts.PROBE_YES if says_yes else prompts.PROBE_NO).ids
        asked = self.encode(request).ids
        return [*self.turns.reply, *verdict, *self.turns.next_user, *asked, *self.turns.reply]

    def _take_template_apart(self) -> Turns:
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
        """Make control tokens of those, too, that the tokenizer does not call special: Qwen's ``<tool_call>``."""
        added = self._tokenizer.added_tokens_decoder.values()
        marks = [str(token.content) for token in added if not token.special and _MARK.fullmatch(str(token.content))]
        self._tokenizer.add_tokens([AddedToken(mark, special=True) for mark in marks], special_tokens=True)

    def _encode_template(self, part: str) -> list[int]:
        return self._tokenizer(part, add_special_tokens=False, split_special_tokens=False)["input_ids"]

    def _spellings(self, word: str) -> list[int]:
        """All tokens that say the word, in any case and spacing."""
        return sorted(
            index
            for token, index in self._tokenizer.get_vocab().items()
            if word in token.casefold() and self._tokenizer.decode([index]).strip().casefold() == word
        )
