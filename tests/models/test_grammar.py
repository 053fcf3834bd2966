"""Writing under a schema: what is written follows it, the fast engine as its plain twin, guesses or not."""

from __future__ import annotations

import json
from itertools import chain

import numpy as np
import pytest
from architectures import write_checkpoint
from twins import PROMPTS, assert_same_generations

from memgraph_rag.errors import ModelError
from memgraph_rag.models.engine import language_model
from memgraph_rag.models.engine.batch_row import BatchRow
from memgraph_rag.models.engine.grammar import Form, Grammars, asks_to_stop
from memgraph_rag.models.engine.tokens import Tokens

NAME = {"type": "string", "minLength": 1, "maxLength": 12}
SCHEMA = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "items": NAME, "maxItems": 3},
        "pairs": {
            "type": "array",
            "items": {"type": "array", "prefixItems": [NAME, NAME], "items": False, "minItems": 2, "maxItems": 2},
            "maxItems": 2,
        },
    },
    "required": ["names", "pairs"],
    "additionalProperties": False,
}
LONG = 160  # more than the schema can take


@pytest.fixture(scope="module")
def tokens(tmp_path_factory) -> Tokens:
    return Tokens(write_checkpoint("llama", tmp_path_factory.mktemp("tokens")))


@pytest.fixture
def form(tokens) -> Form:
    return Grammars(tokens, tokens.size).form(SCHEMA)


def check(text: str) -> None:
    """That a whole reply follows the schema."""
    said = json.loads(text)
    assert list(said) == ["names", "pairs"]
    assert len(said["names"]) <= 3
    assert len(said["pairs"]) <= 2
    assert all(len(pair) == 2 for pair in said["pairs"])
    assert all(1 <= len(name) <= 12 for name in [*said["names"], *chain.from_iterable(said["pairs"])])


# ── the engine ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("most", [1, 7, LONG])
def test_many_prompts_at_different_places_of_the_schema(fast, twin, most):
    prompts = [*PROMPTS, *reversed(PROMPTS)]
    assert_same_generations(fast, twin, prompts, most, schema=SCHEMA)
    for generation in fast.generate(prompts, max_tokens=most, schema=SCHEMA):
        if generation.finish == "end":
            check(generation.text)
        else:
            assert generation.finish == "length"
            assert generation.text.startswith("{")


def test_replies_under_a_schema_end(fast):
    written = fast.generate(PROMPTS, max_tokens=LONG, schema=SCHEMA)
    assert [generation.finish for generation in written] == ["end"] * len(PROMPTS)
    for generation in written:
        check(generation.text)


@pytest.mark.parametrize("guess", ["none", "wrong", "right", "none that may come"])
def test_guessed_tokens_change_no_reply(fast, guess, monkeypatch):
    monkeypatch.setattr(language_model, "_MOST_GUESSED", 0)
    expected = fast.generate(PROMPTS, max_tokens=LONG, schema=SCHEMA)
    monkeypatch.undo()
    known = {generation.text: fast.tokens.encode(generation.text).ids for generation in expected}

    def guessed(row, most: int) -> list[int]:
        if guess == "right":
            text = fast.tokens.decode(row.written)
            rest = next(
                (generation.text[len(text) :] for generation in expected if generation.text.startswith(text)), ""
            )
            return fast.tokens.encode(rest).ids[:most]
        return {"none": [], "wrong": next(iter(known.values()))[:most], "none that may come": [0] * most}[guess]

    monkeypatch.setattr(BatchRow, "guess", lambda row, most: row.form.guess(guessed(row, most), most))
    for generation, other in zip(fast.generate(PROMPTS, max_tokens=LONG, schema=SCHEMA), expected, strict=True):
        assert (generation.text, generation.finish) == (other.text, other.finish)
        np.testing.assert_allclose(generation.attention, other.attention, rtol=1e-4, atol=1e-7)


def test_forced_tokens_are_guessed(fast, monkeypatch):
    passes = []
    forward = fast.forward

    def counted(ids, *args, **more):
        passes.append(len(ids[0]))
        return forward(ids, *args, **more)

    monkeypatch.setattr(fast, "forward", counted)
    constant = {"type": "object", "properties": {"a": {"const": "always the same words"}}, "required": ["a"]}
    (generation,) = fast.generate(PROMPTS[:1], max_tokens=99, schema={**constant, "additionalProperties": False})
    assert generation.text == '{"a": "always the same words"}'
    assert len(passes) < len(generation.offsets) / 2


def test_stop_is_asked_at_each_end_of_a_list(fast, twin):
    results = []
    for model in (fast, twin):
        asked: list[str] = []

        def stop(_, text: str, asked=asked) -> bool:
            asked.append(text)
            return len(asked) == 2

        (generation,) = model.generate(PROMPTS[:1], max_tokens=LONG, schema=SCHEMA, stop=stop)
        results.append((generation.text, generation.finish, asked))
    assert results[0] == results[1]
    assert results[0][1] == "stopped"


def test_schema_of_a_row_changes_no_other_row(fast, twin):
    fast.generate(PROMPTS, max_tokens=20, schema=SCHEMA)
    assert_same_generations(fast, twin, PROMPTS, 20)


def test_invalid_schema_is_refused_before_reading(fast, twin):
    for model in (fast, twin):
        with pytest.raises(ModelError, match="JSON Schema"):
            model.generate(PROMPTS, max_tokens=5, schema={"type": "objekt"})


# ── one form ─────────────────────────────────────────────────────────────────────────────────────────────────


def write(form: Form, tokens: Tokens, text: str) -> int:
    """How many of its tokens may come."""
    ids = tokens.encode(text).ids
    for place, token in enumerate(ids):
        if not form.mask_allowed()[token]:
            return place
        form.take(token)
    return len(ids)


def test_only_end_token_follows_complete_text(form, tokens):
    whole = '{"names": ["Ann \\"A\\"", "狐狸"], "pairs": []}'
    assert write(form, tokens, whole) == len(tokens.encode(whole).ids)
    assert set(np.flatnonzero(form.mask_allowed())) <= tokens.ends


@pytest.mark.parametrize(
    "text",
    [
        '{"pairs"',
        '{"names":["Ann"',
        '{"names": ["a", "b", "c", "d"',
        '{"names": [""',
        "[",
        " {",
        '{"names": ["1234567890123',
    ],
)
def test_tokens_that_break_the_schema_are_not_allowed(form, tokens, text):
    assert write(form, tokens, text) < len(tokens.encode(text).ids)


def test_control_tokens_do_not_count_as_text(form, tokens):
    write(form, tokens, '{"names": ["')
    assert not form.mask_allowed()[sorted(tokens.ends)].any()


def test_guess_is_cut_where_the_schema_forbids_it(form, tokens):
    write(form, tokens, '{"names": ["')
    good, bad = tokens.encode('Ann", "Tom"').ids, tokens.encode("}}").ids
    assert form.guess([*good, *bad], 99) == good
    assert form.guess(sorted(tokens.ends), 99) == []
    before = form.mask_allowed().copy()
    form.guess(good, 99)
    assert (form.mask_allowed() == before).all(), "guessing changes nothing"


def test_forms_of_one_schema_are_independent(tokens):
    grammars = Grammars(tokens, tokens.size)
    schema_form, other = grammars.form(SCHEMA), grammars.form(SCHEMA)
    write(schema_form, tokens, '{"names": ["')
    assert write(other, tokens, "{") == 1


def test_stop_is_called_at_line_or_list_ends(form):
    assert asks_to_stop("a\n", None)
    assert not asks_to_stop("]", None)
    assert asks_to_stop('"],', form)
    assert not asks_to_stop("a\n", form)
