"""Reads the values of settings: arguments, environment variables, ``.env`` and ``memgraph_rag.toml``.

The module does not know the types of values. Invariants: only this module reads the environment, and nothing changes
it. Each value has its origin. A relative path in a file is relative to the folder of the file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs
from dotenv import dotenv_values
from pydantic import BaseModel

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports] - only Python 3.10 has it

APP = "memgraph_rag"
FILE_NAME = f"{APP}.toml"

Given = Mapping[str, "Value"]
"""Values by the name of their setting, such as ``window`` or ``neo4j.password``."""

_PATHS = ("store", "cache_dir")
_NAMES_OR_PATHS = ("model", "reader", "embedder", "calibration")  # a path only where it begins with a dot


@dataclass(frozen=True, slots=True)
class Origin:
    """The place where the value of a setting was read.

    Attributes:
        variable: the name of a variable in the environment or in ``.env``.
        path: the file of the value, if it was read from a file.
        is_project: whether the file belongs to the project, and so maybe to a stranger.
    """

    kind: Literal["argument", "variable", "file"]
    variable: str = ""
    path: Path | None = None
    is_project: bool = False

    def __str__(self) -> str:
        if self.kind == "argument":
            return "argument"
        if self.kind == "file":
            return f"file {show(self.path)}"
        return f"variable {self.variable}" + (f" in {show(self.path)}" if self.path else "")


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a setting as it was read, before any check, and the place where it was read."""

    given: object
    origin: Origin


def read_all(arguments: Mapping[str, object], *, groups: Collection[str], variables: Mapping[str, str]) -> Given:
    """Read the values of settings from all places; return each by the setting's name, from its first place.

    The priority is: argument, environment variable, ``.env``, the project's file, the user's file.

    Args:
        arguments: by field; None counts as not given.
        groups: names of the fields that contain further fields.
        variables: the setting of each variable. If several variables belong to one setting, the first non-empty one
            counts.

    Raises:
        SettingsError: a file cannot be read.
    """
    values: dict[str, Value] = {}
    if os.path.lexists(user_file()):
        values |= _list_toml_values(user_file(), groups, is_project=False)
    if (project := project_file()) is not None:
        values |= _list_toml_values(project, groups, is_project=True)
    folder = _working_directory() if project is None else project.parent
    if folder is not None:
        values |= _list_dotenv_values(folder / ".env", variables)
    values |= _list_variable_values(os.environ, variables)
    origin = Origin("argument")
    values |= {name: Value(value, origin) for name, value in _flatten(arguments, groups) if value is not None}
    return values


def user_file() -> Path:
    """Return the path of the user's own settings file (``memgraph_rag.toml``). The file may not exist."""
    return Path(platformdirs.user_config_dir(APP)) / FILE_NAME


def project_file() -> Path | None:
    """Return the nearest ``memgraph_rag.toml`` in the working directory and its parents, up to the repository's root.

    None if there is no such file, if the nearest file is the user's own file, or if the working directory was deleted.

    The root is the folder that contains ``.git``. Outside a repository only the working directory counts, so that a
    file of another user in a parent folder has no effect.
    """
    here = _working_directory()
    if here is None:
        return None
    folders = [here, *here.parents]
    root = next((depth for depth, folder in enumerate(folders) if os.path.lexists(folder / ".git")), 0)
    paths = (folder / FILE_NAME for folder in folders[: root + 1])
    path = next((path for path in paths if os.path.lexists(path)), None)
    return None if path == user_file() else path


def stanza_folder() -> Path | None:
    """Return the folder in stanza's own variable, STANZA_RESOURCES_DIR; None if it is not set or empty.

    The folder may not exist.
    """
    folder = os.environ.get("STANZA_RESOURCES_DIR")
    return Path(folder) if folder else None


def read_toml(path: Path) -> dict[str, object]:
    """Read a TOML file, and return its content as a dict.

    Raises:
        SettingsError: the file cannot be read, or it is not TOML.
    """
    try:
        if path.is_file():
            return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, show(error)) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = "lists too deep in one another" if isinstance(error, RecursionError) else show(error)
        raise SettingsError(
            f"Expected TOML in {show(path)}, got another text: {reason}. Correct it, or remove the file.",
            settings_file=path,
        ) from error
    raise _unreadable(path, "a folder, or no file at all")


def _working_directory() -> Path | None:
    """Return the working directory; None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _list_toml_values(path: Path, groups: Collection[str], *, is_project: bool) -> dict[str, Value]:
    table = read_toml(path)
    origin = Origin("file", path=path, is_project=is_project)
    return {name: Value(_resolve_path(path.parent, name, value), origin) for name, value in _flatten(table, groups)}


def _list_dotenv_values(path: Path, variables: Mapping[str, str]) -> dict[str, Value]:
    """Return the values in a ``.env`` file, if it is a file; some virtual environments are folders of that name.

    ``${NAME}`` in it is not replaced. Otherwise a stranger's file could write a secret of the environment into an
    address.
    """
    try:
        texts = dotenv_values(path, interpolate=False, encoding="utf-8") if path.is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, show(error)) from error
    given = _list_variable_values({name: text for name, text in texts.items() if text}, variables, path)
    return {name: Value(_resolve_path(path.parent, name, value.given), value.origin) for name, value in given.items()}


def _list_variable_values(
    texts: Mapping[str, str], variables: Mapping[str, str], path: Path | None = None
) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for variable, name in variables.items():
        if texts.get(variable) and name not in values:
            values[name] = Value(texts[variable], Origin("variable", variable, path, is_project=path is not None))
    return values


def _flatten(given: Mapping[str, object], groups: Collection[str]) -> Iterator[tuple[str, object]]:
    """Yield each value with the name of its setting; values of a group as ``group.field``."""
    for name, value in given.items():
        if name in groups and isinstance(value, BaseModel):
            yield from ((f"{name}.{field}", getattr(value, field)) for field in value.model_fields_set)
        elif name in groups and isinstance(value, Mapping):
            yield from ((f"{name}.{field if isinstance(field, str) else show(field)}", value[field]) for field in value)
        else:
            yield name, value


def _resolve_path(folder: Path, name: str, value: object) -> object:
    """Return a value of a file, with a relative path resolved to the file's folder and ``~`` to the home folder."""
    if not isinstance(value, str) or "://" in value or value in ("", ":memory:"):
        return value
    if name in _PATHS or (name in _NAMES_OR_PATHS and value.startswith(("./", "../", "~/"))):
        return os.path.normpath(folder / os.path.expanduser(value))  # noqa: PTH111 - that of Path may raise
    return value


def _unreadable(path: Path, got: str) -> SettingsError:
    return SettingsError(
        f"Expected a file that can be read at {show(path)}, got {got}. Correct it, or move it away.", settings_file=path
    )
