"""Writing: what is generated, and the attention that is measured meanwhile, against transformers' plain attention."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch

from memgraph_rag.errors import WindowExceeded
from memgraph_rag.models.engine import language_model
from memgraph_rag.types import Prompt

PROMPTS = [
    Prompt(
        "Write a list of summary points, each on its own line, beginning with '* '.",
        (
            "Once upon a time there were four little Rabbits, and they lived with their Mother in a sand-bank.",
            "Peter, who was very naughty, ran straight away to Mr. McGregor's garden and squeezed under the gate.",
            "First he ate some lettuces and some French beans; and then he ate some radishes.",
        ),
    ),
    Prompt("List the people that are named.", ("Ada Lovelace wrote to Charles Babbage — «naïve» she was not. 🐇",)),
]


MOST = 20


@pytest.fixture(scope="module")
def generations(small):
    return small.generate(PROMPTS, max_tokens=MOST)


@pytest.fixture(scope="module")
def greedy(small, eager, plain_greedy) -> list[list[int]]:
    """What transformers' own ``generate`` writes to each prompt with plain attention."""
    return [plain_greedy(eager, small.tokens.prompt(prompt)[0], MOST, small.tokens.ends) for prompt in PROMPTS]


def _plain_attention(eager, small, prompt: Prompt, written: list[int]) -> np.ndarray:
    """PECAN 3.1 as written: one teacher-forced pass, mean over layers, heads and tokens."""
    ids, spans = small.tokens.prompt(prompt)
    with torch.inference_mode():
        output = eager(torch.tensor([ids + written]), output_attentions=True)
    attention = torch.stack(output.attentions).mean(dim=(0, 2))[0]  # (T, T)
    rows = attention[len(ids) :]
    return torch.stack([rows[:, start:end].mean(dim=1) for start, end in spans], dim=1).numpy()


def test_measured_attention_equals_eager_attention(small, eager, generations, greedy):
    for prompt, generation, written in zip(PROMPTS, generations, greedy, strict=True):
        expected = _plain_attention(eager, small, prompt, written)
        assert expected.shape == generation.attention.shape
        difference = np.abs(expected - generation.attention) / np.abs(expected)
        assert difference.max() < 1e-5


def test_text_equals_plain_greedy_decoding(small, generations, greedy):
    for generation, written in zip(generations, greedy, strict=True):
        assert generation.text == small.tokens.decode(written)


def test_rows_of_a_batch_are_independent(small, generations):
    for prompt, together in zip(PROMPTS, generations, strict=True):
        (alone,) = small.generate([prompt], max_tokens=MOST)
        assert alone.text == together.text
        np.testing.assert_allclose(alone.attention, together.attention, rtol=1e-4)


def test_offsets_tile_the_text(generations):
    for generation in generations:
        assert generation.offsets[0, 0] == 0
        assert generation.offsets[-1, 1] == len(generation.text)
        assert (generation.offsets[1:, 0] == generation.offsets[:-1, 1]).all()


def test_usage_counts_tokens_read_and_written(small, generations):
    for prompt, generation in zip(PROMPTS, generations, strict=True):
        assert generation.usage.prompt_tokens == len(small.tokens.prompt(prompt)[0])
        assert generation.usage.generated_tokens == len(generation.offsets)


def test_seconds_of_a_batch_add_up_to_the_time_it_took(small):
    started = time.perf_counter()
    written = small.generate(PROMPTS, max_tokens=4)
    assert 0 < sum(generation.usage.seconds for generation in written) <= time.perf_counter() - started


@pytest.mark.full("the packaged 0.5B model")
def test_stop_is_asked_at_line_ends_and_obeyed(packaged):
    seen: list[str] = []

    def stop(_: Prompt, text: str) -> bool:
        seen.append(text)
        return True

    (generation,) = packaged.generate(PROMPTS[:1], max_tokens=60, stop=stop)
    assert generation.finish == "stopped"
    assert seen == [generation.text]
    assert generation.text.count("\n") >= 1


def test_cut_generation_reports_length(small):
    (generation,) = small.generate(PROMPTS[:1], max_tokens=5)
    assert generation.finish == "length"
    assert len(generation.offsets) == 5


def test_text_beyond_the_window_is_refused_before_work(small):
    with pytest.raises(WindowExceeded, match=r"at most \d+ tokens .* got \d+"):
        small.generate([PROMPTS[0], Prompt("Summarise.", ("word " * 9000,))], max_tokens=10)


def test_empty_list_of_prompts_takes_no_pass(small):
    assert small.generate([], max_tokens=5) == []


@pytest.mark.full("the packaged 0.5B model")
def test_right_guesses_save_passes_and_keep_text(packaged, monkeypatch):
    line = "The quick brown fox jumps over the lazy dog near the river bank."
    prompt = Prompt("Copy the line below, three times, word by word.", (line, line))
    (guessed,) = packaged.generate([prompt], max_tokens=40)
    passes = _count_forwards(packaged, monkeypatch)
    assert packaged.generate([prompt], max_tokens=40)[0].text == guessed.text
    with_guesses = passes()
    monkeypatch.setattr(language_model, "_MOST_GUESSED", 0)
    (alone,) = packaged.generate([prompt], max_tokens=40)
    assert alone.text == guessed.text
    np.testing.assert_allclose(alone.attention, guessed.attention, rtol=1e-3, atol=1e-7)
    assert with_guesses < 0.7 * (passes() - with_guesses)


def test_prompts_are_read_in_few_lengths(small, monkeypatch):
    lengths: set[int] = set()
    forward = small.forward
    prompts = [Prompt("Copy.", ("word " * number,)) for number in range(1, 40, 4)]
    small.generate(prompts, max_tokens=1)  # what they all begin with is read now
    monkeypatch.setattr(
        small, "forward", lambda ids, *args, **given: lengths.add(len(ids[0])) or forward(ids, *args, **given)
    )
    small.generate(prompts, max_tokens=1)
    assert {length for length in lengths if length > 8} <= {16, 32, 48, 64}


def _count_forwards(model, monkeypatch):
    counted: list[int] = []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda *args, **given: counted.append(1) or forward(*args, **given))
    return lambda: len(counted)
