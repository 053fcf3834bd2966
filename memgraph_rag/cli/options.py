"""The options that commands share, and the memory that these options open.

It knows no command. Invariant: a missing option is None, so the library's settings decide.
"""

from __future__ import annotations

import functools
import inspect
import json
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, get_type_hints

import typer

import memgraph_rag
from memgraph_rag.cli.sanitize import line, plain
from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagWarning, SettingsError, StoreUnavailable

if TYPE_CHECKING:
    from memgraph_rag import Memory, Settings
    from memgraph_rag.settings import Origin
    from memgraph_rag.types import MetadataValue

Json = Annotated[bool, typer.Option("--json", help="Print only JSON on standard output, for programs.")]
UserOf = Annotated[str | None, typer.Option("--user", help="Only documents of this user.")]
SessionOf = Annotated[str | None, typer.Option("--session", help="Only documents of this conversation.")]

_GROUP = "Where"
_OPTIONS: dict[str, Any] = {
    "store": Annotated[
        str | None,
        typer.Option(help="Path of a file, or an address such as neo4j://localhost:7687.", rich_help_panel=_GROUP),
    ],
    "namespace": Annotated[
        str | None, typer.Option(help="Namespace: separates memories in one store.", rich_help_panel=_GROUP)
    ],
    "model": Annotated[
        str | None,
        typer.Option(help="Language model: name, folder, GGUF file, or http://HOST/v1#NAME.", rich_help_panel=_GROUP),
    ],
    "reader": Annotated[
        str | None, typer.Option(help="Local model that computes attention for a remote one.", rich_help_panel=_GROUP)
    ],
    "embedder": Annotated[str | None, typer.Option(help="Embedder: name, folder or address.", rich_help_panel=_GROUP)],
    "read_only": Annotated[
        bool,
        typer.Option("--read-only", help="Change nothing; other processes may read the file.", rich_help_panel=_GROUP),
    ],
    "verbose": Annotated[bool, typer.Option("--verbose", help="Log to standard error.", rich_help_panel=_GROUP)],
}

_FLAGS = ("read_only", "verbose")


@dataclass(frozen=True, slots=True)
class Place:
    """The values of the shared options. None means that the option is missing."""

    store: str | None = None
    namespace: str | None = None
    model: str | None = None
    reader: str | None = None
    embedder: str | None = None
    read_only: bool = False

    def settings(self) -> Settings:
        """Return the settings: these options first, then variables, settings files and defaults."""
        return self.settings_and_origins()[0]

    def settings_and_origins(self) -> tuple[Settings, dict[str, Origin]]:
        """Return the settings, and the origin of each setting that is not a default, by the setting's name."""
        return memgraph_rag.Settings.resolve(store=self.store, read_only=self.read_only or None, **self._list_given())

    def open_existing(self, **more: Any) -> Memory:
        """Open an existing memory. As ``open``, but a missing file of ``--store`` is not created.

        Without ``--store`` the call equals ``open``: a missing file of the settings or of the default is created.

        Args:
            more: further arguments of ``Memory``.

        Raises:
            StoreUnavailable: the file of ``--store`` does not exist.
        """
        self.check_file()
        return self.open(**more)

    def check_file(self) -> None:
        """Check that the file of ``--store`` exists. Addresses, and stores of the settings, are not checked.

        Raises:
            StoreUnavailable: the file does not exist.
        """
        path = find_file(self.store) if self.store else None
        if path is not None and not path.exists():
            raise StoreUnavailable(
                f"Expected a memory at {show(self.store)}, got no such file. Look at its name, or begin one: "
                f"memgraph-rag add FILE --store {show(self.store)}",
                store=self.store,
            )

    def open(self, **more: Any) -> Memory:
        """Open the memory of this place, and create it if it does not exist.

        Args:
            more: further arguments of ``Memory``.
        """
        if self.read_only:
            more["read_only"] = True
        return memgraph_rag.Memory(self.store, **self._list_given() | more)

    def _list_given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("namespace", "model", "reader", "embedder")}


def find_file(store: str) -> Path | None:
    """Return the path of a store's file, or None if the store is a server or in memory.

    Raises:
        SettingsError: the path names the home of an unknown user (``~name``).
    """
    if "://" in store or store == ":memory:":
        return None
    try:
        return Path(store).expanduser()
    except RuntimeError as error:
        raise SettingsError(
            f"Expected a file, got one in the home of an unknown user: {show(store)}. Write the whole path.",
            store=store,
        ) from error


def parse_layers(names: str | None, openie: str | None = None) -> dict[str, Any]:
    """Return ``{"layers": …}`` for ``Memory``, or ``{}`` if both options are missing.

    Args:
        names: names of layers, separated by commas, among them "full", or "none".
        openie: path of an OpenIE file; its triples become a further layer.
    """
    layers: list[Any] = [] if names in (None, "none") else [name.strip() for name in names.split(",")]
    if openie is not None:
        from memgraph_rag.ingestion.layer_choice import make_layer

        layers.append(make_layer("triples", memgraph_rag.Settings.load(), {"path": openie}))
    return {"layers": tuple(layers)} if layers or names else {}


def parse_metadata(pairs: Sequence[str] | None, option: str) -> dict[str, MetadataValue] | None:
    """Parse NAME=VALUE pairs as metadata, or return None if there are no pairs.

    A value that is a JSON number or truth value keeps that type. All other values, and those of ``user`` and
    ``session``, are text. Of several values for one name the last counts.

    Args:
        option: name of the option, for the error message.

    Raises:
        BadParameter: a pair has no name or no ``=``.
    """
    metadata: dict[str, MetadataValue] = {}
    for pair in pairs or ():
        name, sign, value = pair.partition("=")
        if not name or not sign:
            raise typer.BadParameter(f"Expected NAME=VALUE, got {show(pair)}.", param_hint=option)
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = value
        is_text = name in ("user", "session") or not isinstance(parsed, (int, float, bool))
        metadata[name] = value if is_text else parsed
    return metadata or None


def bind_place(command: Callable[Concatenate[Place, ...], None]) -> Callable[..., None]:
    """Return the command with the shared options in place of its first argument, a ``Place``.

    The returned command also starts logging.
    """
    hints = get_type_hints(command, include_extras=True)
    own = list(inspect.signature(command).parameters.values())[1:]
    parameters = [
        *(given.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[given.name]) for given in own),
        *(
            Parameter(name, Parameter.KEYWORD_ONLY, default=False if name in _FLAGS else None, annotation=annotation)
            for name, annotation in _OPTIONS.items()
        ),
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        shared = {name: given.pop(name) for name in _OPTIONS}
        start_logging(verbose=shared.pop("verbose"))
        command(Place(**shared), **given)  # pyright: ignore[reportCallIssue]

    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


class _OneLine(logging.Formatter):
    """A log format without control characters. A message is one line; a traceback keeps its lines."""

    def format(self, record: logging.LogRecord) -> str:
        shown = super().format(record)
        return plain(shown) if record.exc_info else line(shown)


def _show_warning(message: Warning | str, *_: object) -> None:
    """Print a warning as one line on standard error."""
    typer.echo(f"Warning: {line(str(message))}", err=True)


def start_logging(*, verbose: bool) -> None:
    """Log to standard error: warnings of this library, and errors of other libraries.

    Python warnings of other libraries are turned off, and log messages of the driver of Neo4j below "critical".

    Args:
        verbose: log debug messages of this library, information of other libraries, and all Python warnings.
    """
    ours, others = (logging.DEBUG, logging.INFO) if verbose else (logging.WARNING, logging.ERROR)
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(message)s"))
    # On the handler, because some libraries set the level of their own logger.
    handler.addFilter(lambda record: record.levelno >= (ours if record.name.startswith("memgraph_rag") else others))
    logging.basicConfig(level=others, handlers=[handler])
    logging.getLogger("memgraph_rag").setLevel(ours)
    if verbose:
        logging.captureWarnings(True)
    else:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", MemgraphRagWarning)
        warnings.showwarning = _show_warning
        logging.getLogger("neo4j").setLevel(
            logging.CRITICAL
        )  # it logs each failed attempt; our error reports the result
