"""Search, ask, add and forget as functions for a language model: schemas, checked arguments, answers in JSON.

It knows no framework and no memory but the functions that it is given. Invariant: what a model may write wrong
comes back to it as a sentence that it can act on; what it cannot mend is raised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, QuestionError, SettingsError
from memgraph_rag.types import Answer, Citation, Evidence, Receipt, Tool

__all__ = ["TOOLS", "ToolName", "make_tools"]

ToolName = Literal["search", "ask", "add", "forget"]

TOOLS: tuple[ToolName, ...] = get_args(ToolName)

_MOST_RESULTS = 50
_MOST_WRONG = 8  # arguments that a message names


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Search(_Arguments):
    query: Annotated[str, Field(description="What to look for, as a question or a few words.")]
    k: Annotated[int, Field(description="How many passages at most.", ge=1, le=_MOST_RESULTS)] = 5
    since: Annotated[
        str | None, Field(description="Only what is not older than this day or time (ISO 8601: 2026-05-01).")
    ] = None
    until: Annotated[str | None, Field(description="Only what is older than this day or time (ISO 8601).")] = None
    at: Annotated[
        str | None,
        Field(description="What held on this day or at this time (ISO 8601): later words are left out. Without until."),
    ] = None


class _Ask(_Arguments):
    question: Annotated[str, Field(description="One question, whole: names, not pronouns.")]
    at: Annotated[
        str | None,
        Field(description="As of this day or time (ISO 8601): the answer rests on nothing that was said later."),
    ] = None


class _Add(_Arguments):
    text: Annotated[str, Field(description="What to remember, in whole sentences with names and dates, not pronouns.")]
    key: Annotated[
        str | None,
        Field(description="Its name, to forget or replace it by; what is stored under the same name is replaced."),
    ] = None


class _Forget(_Arguments):
    document: Annotated[str, Field(description='The "document_key" of a passage found, or the key it was added under.')]


_MODELS: dict[ToolName, type[_Arguments]] = {"search": _Search, "ask": _Ask, "add": _Add, "forget": _Forget}

_DESCRIPTIONS: dict[ToolName, str] = {
    "search": "Search long-term memory for passages about a topic, a person or an earlier conversation. Returns "
    "passages word for word, each with the document it stands in; remarks say what was superseded and when. "
    "The user's instructions and preferences that bear on it come last. Use it before saying that something is not "
    "known.",
    "ask": "Ask long-term memory a question that needs several passages read together. Slower than search_memory. "
    "Returns an answer with quotes; abstained is true where memory does not say.",
    "add": "Remember a fact, a decision or a preference for later conversations. Search first, so that nothing is "
    "stored twice.",
    "forget": "Remove one document from long-term memory for good. Only when the user asks for it.",
}

_NAMES: dict[ToolName, str] = {
    "search": "search_memory",
    "ask": "ask_memory",
    "add": "add_to_memory",
    "forget": "forget_document",
}


def make_tools(
    names: Sequence[ToolName],
    *,
    search: Callable[..., list[Evidence]],
    wishes: Callable[..., list[Evidence]],
    ask: Callable[..., Answer],
    add: Callable[..., Receipt],
    forget: Callable[[str], Receipt],
) -> list[Tool]:
    """The tools of these names, in their order. The functions keep to one scope.

    Raises:
        SettingsError: no tool of that name.
    """
    is_list = isinstance(names, Iterable) and not isinstance(names, str)
    wanted = list(names) if is_list else []
    if not is_list or not all(name in TOOLS for name in wanted):
        raise SettingsError(f"Expected names as some of {', '.join(map(repr, TOOLS))} in a list, got {show(names)}.")

    functions: dict[ToolName, Callable[..., Any]] = {
        "search": lambda query, k, **scope: _passages(search(query, k=k, **scope), wishes(query, **scope)),
        "ask": lambda **given: _answer(ask(**given)),
        "add": lambda text, key: _receipt(add(text, key=key)),
        "forget": lambda document: _receipt(forget(document)),
    }
    return [_tool(name, functions[name]) for name in wanted]


def _tool(name: ToolName, function: Callable[..., Any]) -> Tool:
    model = _MODELS[name]

    def call(arguments: Mapping[str, Any]) -> Any:
        return function(**_checked(_NAMES[name], model, arguments))

    return Tool(_NAMES[name], _DESCRIPTIONS[name], _schema(model), function=call, to_text=partial(_to_text, call))


def _to_text(call: Callable[[Mapping[str, Any]], Any], arguments: object) -> str:
    """The result as JSON; what the model can mend as ``{"error": …}``."""
    try:
        result = call(_parsed(arguments))
    except (SettingsError, DocumentError, QuestionError) as error:
        result = {"error": str(error)}
    return json.dumps(result, ensure_ascii=False)


def _parsed(arguments: object) -> Mapping[str, Any]:
    """The arguments as a mapping: models write JSON, and sometimes nothing where they mean no arguments."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as exc:
            raise SettingsError(
                f"Expected arguments as a JSON object, got text that is no JSON ({show(exc)})."
            ) from exc
    if not isinstance(arguments, Mapping):
        raise SettingsError(f"Expected arguments as a JSON object, got {type(arguments).__name__}.")
    return arguments


def _checked(tool: str, model: type[_Arguments], arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return model.model_validate(arguments).model_dump()
    except ValidationError as exc:
        wrong = "; ".join(
            f"{show('.'.join(map(str, error['loc']))) if error['loc'] else 'arguments'}: {error['msg']}"
            for error in exc.errors(include_url=False)[:_MOST_WRONG]
        )
        takes = ", ".join(
            f"{name}{'' if field.is_required() else ' (optional)'}" for name, field in model.model_fields.items()
        )
        raise SettingsError(f"Expected other arguments of {tool}, got {wrong}. It takes {takes}.") from exc


def _schema(model: type[_Arguments]) -> dict[str, Any]:
    """The JSON schema without titles, which repeat the names; an optional value is left out or given."""
    schema = model.model_json_schema()
    properties = {
        name: {
            **{key: value for key, value in field.items() if key not in ("title", "anyOf", "default")},
            **next((kind for kind in field.get("anyOf", ()) if kind.get("type") != "null"), {}),
        }
        for name, field in schema["properties"].items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": schema["required"],
        "additionalProperties": False,
    }


def _passages(evidence: Sequence[Evidence], wishes: Sequence[Evidence]) -> list[dict[str, Any]]:
    """What was found, and behind it the wishes that are not among it."""
    there = {item.segment.id for item in evidence}
    return [_passage(item) for item in (*evidence, *(wish for wish in wishes if wish.segment.id not in there))]


def _passage(evidence: Evidence) -> dict[str, Any]:
    form = _some(evidence, "text", "document_key", "start", "end", "speaker", "time", "relevance", "remarks")
    return {name: value for name, value in form.items() if value not in ("", None, [])}


def _answer(answer: Answer) -> dict[str, Any]:
    citations = [_some(citation, "document_key", "quote") for citation in answer.citations]
    return {**_some(answer, "text", "abstained"), "citations": citations}


def _receipt(receipt: Receipt) -> dict[str, Any]:
    return _some(receipt, "key", "action")


def _some(record: Evidence | Answer | Citation | Receipt, *names: str) -> dict[str, Any]:
    """Return these keys of a record's plain form: what a model reads costs tokens."""
    form = record.as_dict()
    return {name: form[name] for name in names}
