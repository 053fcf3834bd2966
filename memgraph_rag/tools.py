"""The tools search, ask, add and forget for a language model: JSON schemas, checked arguments, results as JSON.

It knows no framework. It calls only the functions that its caller passes. Invariant: the model receives an error that
it can correct as a sentence; other errors are raised.
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

ToolName = Literal["search", "ask", "add", "forget"]

TOOLS: tuple[ToolName, ...] = get_args(ToolName)

_MOST_RESULTS = 50
_MOST_WRONG = 8  # wrong arguments that one message names


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Search(_Arguments):
    query: Annotated[str, Field(description="The subject to search for, as a question or a few words.")]
    k: Annotated[int, Field(description="The largest number of passages to return.", ge=1, le=_MOST_RESULTS)] = 5
    since: Annotated[
        str | None, Field(description="Return only passages from this day or time on (ISO 8601: 2026-05-01).")
    ] = None
    until: Annotated[str | None, Field(description="Return only passages from before this day or time (ISO 8601).")] = (
        None
    )
    at: Annotated[
        str | None,
        Field(
            description="Return what was true on this day or at this time (ISO 8601): later passages are left out. "
            "Do not combine with until."
        ),
    ] = None


class _Ask(_Arguments):
    question: Annotated[str, Field(description="One complete question, with names instead of pronouns.")]
    at: Annotated[
        str | None,
        Field(description="Answer as of this day or time (ISO 8601): later passages are not read."),
    ] = None


class _Add(_Arguments):
    text: Annotated[
        str,
        Field(description="The text to remember: complete sentences, with names and dates instead of pronouns."),
    ]
    key: Annotated[
        str | None,
        Field(
            description="A name for the document, to replace or forget it later. A document with the same name is "
            "replaced."
        ),
    ] = None


class _Forget(_Arguments):
    document: Annotated[
        str,
        Field(description='The "document_key" of a passage from search, or the key that was given to add.'),
    ]


_MODELS: dict[ToolName, type[_Arguments]] = {"search": _Search, "ask": _Ask, "add": _Add, "forget": _Forget}

_DESCRIPTIONS: dict[ToolName, str] = {
    "search": "Search long-term memory for passages about a topic, a person or an earlier conversation. Returns "
    "passages word for word, each with the key of its document. Remarks tell which passages were superseded, and when. "
    "Relevant instructions and preferences of the user come last. Use this tool before you say that something is not "
    "known.",
    "ask": "Ask long-term memory a question that needs several passages together. Slower than search_memory. Returns "
    "an answer with quotes. abstained is true if the memory does not hold the answer.",
    "add": "Store a fact, a decision or a preference for later conversations. Search first, so that you do not store "
    "it twice.",
    "forget": "Remove one document from long-term memory permanently. Use it only when the user asks for it.",
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
    """Return the tools with these names, in the order of ``names``; an empty list without names.

    Args:
        search, wishes, ask, add, forget: the methods of a ``ScopedMemory``, which the tools call.

    Raises:
        SettingsError: ``names`` is not a list, or a tool does not exist.
    """
    is_list = isinstance(names, Iterable) and not isinstance(names, str)
    tool_names = list(names) if is_list else []
    if not is_list or not all(name in TOOLS for name in tool_names):
        raise SettingsError(f"Expected names as some of {', '.join(map(repr, TOOLS))} in a list, got {show(names)}.")

    functions: dict[ToolName, Callable[..., Any]] = {
        "search": lambda query, k, **scope: _passages(search(query, k=k, **scope), wishes(query, **scope)),
        "ask": lambda **arguments: _answer(ask(**arguments)),
        "add": lambda text, key: _receipt(add(text, key=key)),
        "forget": lambda document: _receipt(forget(document)),
    }
    return [_make_tool(name, functions[name]) for name in tool_names]


def _make_tool(name: ToolName, function: Callable[..., Any]) -> Tool:
    model = _MODELS[name]

    def call(arguments: Mapping[str, Any]) -> Any:
        return function(**_check_arguments(_NAMES[name], model, arguments))

    return Tool(_NAMES[name], _DESCRIPTIONS[name], _schema(model), function=call, to_text=partial(_to_text, call))


def _to_text(call: Callable[[Mapping[str, Any]], Any], arguments: object) -> str:
    """Call the tool and return its result as JSON text; an error that the model can correct as ``{"error": …}``."""
    try:
        result = call(_parse_arguments(arguments))
    except (SettingsError, DocumentError, QuestionError) as error:
        result = {"error": str(error)}
    return json.dumps(result, ensure_ascii=False)


def _parse_arguments(arguments: object) -> Mapping[str, Any]:
    """Return the arguments as a mapping. Text is parsed as JSON; empty text means no arguments."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as exc:
            raise SettingsError(
                f"Expected arguments as a JSON object, got text that is not JSON ({show(exc)})."
            ) from exc
    if not isinstance(arguments, Mapping):
        raise SettingsError(f"Expected arguments as a JSON object, got {type(arguments).__name__}.")
    return arguments


def _check_arguments(tool: str, model: type[_Arguments], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with their defaults.

    Raises:
        SettingsError: an argument is unknown, missing or of another type. The message names them and the valid ones.
    """
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
    """Return the JSON schema of a model without titles, defaults and null: the caller omits an optional argument."""
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
    """Return the plain form of the evidence, then of the wishes that are not among the evidence."""
    evidence_ids = {item.segment.id for item in evidence}
    return [_passage(item) for item in (*evidence, *(wish for wish in wishes if wish.segment.id not in evidence_ids))]


def _passage(evidence: Evidence) -> dict[str, Any]:
    form = _select_keys(evidence, "text", "document_key", "start", "end", "speaker", "time", "relevance", "remarks")
    return {name: value for name, value in form.items() if value not in ("", None, [])}


def _answer(answer: Answer) -> dict[str, Any]:
    citations = [_select_keys(citation, "document_key", "quote") for citation in answer.citations]
    return {**_select_keys(answer, "text", "abstained"), "citations": citations}


def _receipt(receipt: Receipt) -> dict[str, Any]:
    return _select_keys(receipt, "key", "action")


def _select_keys(record: Evidence | Answer | Citation | Receipt, *names: str) -> dict[str, Any]:
    """Return only these keys of a record's plain form, because each token that a model reads costs time."""
    form = record.as_dict()
    return {name: form[name] for name in names}
