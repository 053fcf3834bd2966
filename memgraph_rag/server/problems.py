"""Failures of HTTP requests as problem documents (RFC 9457).

It knows the tree of our errors, and no tool. Invariants: a problem says what was expected, what came and what to do; of
a crash it tells the kind alone; of what may pass by itself it says when to try again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memgraph_rag.errors import (
    DocumentNotFound,
    MemgraphRagError,
    ModelError,
    QuestionNotFound,
    StoreError,
    StoreReadOnly,
)
from memgraph_rag.server.explanations import advise, explain_crash
from memgraph_rag.server.limits import RETRY_AFTER_S, TooManyCalls
from memgraph_rag.server.results import Problem

__all__ = ["PROBLEM", "answer_problem", "answer_unrouted", "problem_of"]

logger = logging.getLogger(__name__)

PROBLEM = "application/problem+json"

_STATUSES: tuple[tuple[type[MemgraphRagError], int], ...] = (
    (DocumentNotFound, 404),
    (QuestionNotFound, 404),
    (StoreReadOnly, 403),
    (StoreError, 500),
    (ModelError, 500),
)
"""The first that fits; what else is wrong came from the caller: 422. What may pass by itself is 503, or 429."""


def problem_of(error: Exception) -> Problem:
    """Describe an error; one that is not ours is logged, and nothing of its text is told."""
    title = type(error).__name__
    if not isinstance(error, MemgraphRagError):
        logger.exception("A request could not be answered.", exc_info=error)
        return Problem(title=title, status=500, detail=explain_crash(error))
    if error.retryable:
        status = 429 if isinstance(error, TooManyCalls) else 503
    else:
        status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 422)
    return Problem(title=title, status=status, detail=advise(error))


def answer_problem(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response that says so."""
    is_passing = problem.status in (429, 503)
    return JSONResponse(
        problem.model_dump(),
        problem.status,
        {**(headers or {}), **({"Retry-After": str(RETRY_AFTER_S)} if is_passing else {})},
        PROBLEM,
    )


async def answer_unrouted(request: Request, error: Exception) -> Response:
    """Answer a request for no address of this server, or with no method of that address; for Starlette."""
    assert isinstance(error, HTTPException)
    detail = f"Expected an address and a method of /openapi.json, got {request.method} and no such. Read it there."
    problem = Problem(title=error.detail.title().replace(" ", ""), status=error.status_code, detail=detail)
    return answer_problem(problem, error.headers)
