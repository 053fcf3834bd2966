"""A method is one line of a table, as data: a strategy or a search mode, and how documents are stored for it.

It knows names and arguments, no strategy and no memory. Invariant: two methods with equal arguments and equal builds
share their outcomes, whatever their labels are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

Arguments = Mapping[str, Any]
"""Keyword arguments, as JSON values."""


@dataclass(frozen=True, slots=True)
class Build:
    """How documents are stored for a method.

    Attributes:
        layers: the layers to build, each with its arguments.
        settings: settings of the memory that differ from those of the run.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # of a table's file

    layers: Mapping[str, Arguments] = field(default_factory=dict)
    settings: Arguments = field(default_factory=dict)

    @property
    def key(self) -> str:
        """An id of this build, six hex digits from its settings and its layers' arguments; empty if it has none.

        Builds with the same key share one memory, with the layers of all of them.
        """
        changed = {name: arguments for name, arguments in self.layers.items() if arguments}
        if not changed and not self.settings:
            return ""
        told = json.dumps([changed, self.settings], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(told.encode()).hexdigest()[:6]


@dataclass(frozen=True, slots=True)
class Method:
    """A way to answer or search that a run evaluates: one line of a table, with either ``strategy`` or ``mode``.

    Attributes:
        label: the name in the table, unique in a run; that of a search begins with "search ".
        strategy: the name of the strategy that answers.
        mode: the name of the search mode.
        arguments: of the strategy or of the mode.
        arguments_of: further arguments for some sets, by the name of the set's folder.
        build: how documents are stored for it.
    """

    label: str
    strategy: str = ""
    mode: str = ""
    arguments: Arguments = field(default_factory=dict)
    arguments_of: Mapping[str, Arguments] = field(default_factory=dict)
    build: Build = field(default_factory=Build)

    def choose_arguments(self, dataset: str) -> dict[str, Any]:
        """Return the arguments of the strategy or mode for an evaluation set, by the set's name."""
        return {**self.arguments, **self.arguments_of.get(dataset.removesuffix(" closed"), {})}

    def list_identity(self, dataset: str) -> list[Any]:
        """Return JSON values that identify this method's results in a set: everything except its label."""
        return [self.strategy, self.mode, self.choose_arguments(dataset), self.build.key]


def group_builds(methods: Iterable[Method]) -> dict[str, Build]:
    """Join the builds of methods by ``Build.key``; return by key a build with the layers of all its methods."""
    builds: dict[str, Build] = {}
    for method in methods:
        build = method.build
        known = builds.get(build.key, Build(settings=build.settings))
        builds[build.key] = Build({**known.layers, **build.layers}, build.settings)
    return builds
