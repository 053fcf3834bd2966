"""Converts errors of HTTP requests into problem documents (RFC 9457).

It knows ``memgraph_rag.errors``, and no tool. Invariants: a problem says what was expected, what was received and what
to do. Of an unexpected error it holds only the class. For a temporary error it says when to try again.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Mapping
from datetime import datetime, timezone

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
from memgraph_rag.server.results import Failure, Problem

logger = logging.getLogger(__name__)

PROBLEM = "application/problem+json"

_MOST_FAILURES = 20  # kept of a namespace

_STATUSES: tuple[tuple[type[MemgraphRagError], int], ...] = (
    (DocumentNotFound, 404),
    (QuestionNotFound, 404),
    (StoreReadOnly, 403),
    (StoreError, 500),
    (ModelError, 500),
)
"""The first class that matches gives the status. Retryable errors are 503 or 429, all other errors 422."""


class Failures:
    """The last failures of the server itself, by the namespace of their caller. Errors of callers are left out."""

    def __init__(self) -> None:
        self._by_namespace: defaultdict[str, deque[Failure]] = defaultdict(lambda: deque(maxlen=_MOST_FAILURES))

    def add(self, namespace: str, operation: str, problem: Problem) -> None:
        """Keep a problem with a status from 500 on, in place of the oldest if there are too many."""
        if problem.status >= 500:
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            self._by_namespace[namespace].append(
                Failure(at=now, operation=operation, title=problem.title, detail=problem.detail)
            )

    def list_failures(self, namespace: str) -> list[Failure]:
        """Return the failures of a namespace, newest first."""
        return list(reversed(self._by_namespace.get(namespace, ())))


def describe_problem(error: Exception) -> Problem:
    """Return the problem document of an error. An unexpected error is logged, and gives status 500 and its class."""
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
    """Return the HTTP response with a problem document and its status; for 429 and 503 with ``Retry-After``."""
    is_passing = problem.status in (429, 503)
    return JSONResponse(
        problem.model_dump(),
        problem.status,
        {**(headers or {}), **({"Retry-After": str(RETRY_AFTER_S)} if is_passing else {})},
        PROBLEM,
    )


async def answer_unrouted(request: Request, error: Exception) -> Response:
    """Answer a request for an unknown address or with a wrong method. It is an exception handler of Starlette."""
    assert isinstance(error, HTTPException)
    detail = (
        f"Expected an address and a method of /openapi.json, got {request.method} and an unknown pair. Read "
        "/openapi.json."
    )
    problem = Problem(title=error.detail.title().replace(" ", ""), status=error.status_code, detail=detail)
    return answer_problem(problem, error.headers)
