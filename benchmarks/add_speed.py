"""How fast are documents added, beside others that embed the same documents with the same model?

    python benchmarks/add_speed.py DIR [DIR …] [--documents N] [--runs 2] [--rivals PYTHON] [--systems NAME …]

The model is all-MiniLM-L6-v2 for all. Systems, each in a process of its own, in turn, on ``docs.jsonl`` of each DIR:

- memgraph_rag: segments, names (spaCy), vectors, one Ladybug file; "vectors" is the same without names.
- LlamaIndex: ``VectorStoreIndex`` with its own splitter and store. LightRAG: its chunks and its vector store, without
  its language model. Both cut chunks of 1,024 and 1,200 tokens, of which the model reads the first 256; "whole" are
  the same with chunks of at most 200 tokens, so that the model reads all of the text, as ours does.
- sentence-transformers: passages that the model reads whole, one ``encode`` each ("loop"), or all at once.

Not counted is what a process needs once: imports, weights, 30,000 characters to warm up. PYTHON has the rivals:
``uv pip install llama-index-core llama-index-embeddings-huggingface lightrag-hku sentence-transformers`` in an
environment of their own. Without it only our systems are measured.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

EMBEDDER = "all-MiniLM-L6-v2"
WARM_CHARACTERS = 30_000
CHUNK_TOKENS = 200
"""Tokens of OpenAI's tokenizer in a chunk that the embedder reads whole: nearly always below 256 of its own."""
COLUMNS = ("system", "documents/s", "processor s", "wall s", "peak, MiB", "vectors", "tokens read")

Add = Callable[[Sequence[str]], list[str]]
"""Store these documents, and return the texts that were embedded."""


def load_ours(folder: str, scratch: Path, *, layers: tuple[str, ...]) -> Add:
    """Return what adds documents to a memory."""
    from memgraph_rag import Memory
    from memgraph_rag.models.embedders import SentenceEmbedder
    from memgraph_rag.types import Failure

    read: list[str] = []

    class Recorder(SentenceEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            read.extend(texts)
            return super().embed(texts)

    memory = Memory(scratch / "ours.lbug", embedder=Recorder(folder, name=EMBEDDER), layers=layers)

    def add(texts: Sequence[str]) -> list[str]:
        read.clear()
        for outcome in memory.add_many(texts):
            if isinstance(outcome, Failure):
                raise outcome.error
        return read

    return add


def load_llama_index(folder: str, scratch: Path, *, chunk_tokens: int | None) -> Add:
    """Return what adds documents to a vector store of LlamaIndex, and saves it."""
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    embedder = HuggingFaceEmbedding(model_name=folder, device="cpu")
    splitter = SentenceSplitter(chunk_size=chunk_tokens, chunk_overlap=0) if chunk_tokens else SentenceSplitter()

    def add(texts: Sequence[str]) -> list[str]:
        index = VectorStoreIndex.from_documents(
            [Document(text=text) for text in texts], embed_model=embedder, transformations=[splitter]
        )
        index.storage_context.persist(scratch)
        return [node.text for node in index.docstore.docs.values()]  # type: ignore[attr-defined]

    return add


def load_lightrag(folder: str, scratch: Path, *, chunk_tokens: int | None) -> Add:
    """Return what cuts documents as LightRAG does, and adds the chunks to its vector store."""
    import asyncio

    from lightrag.chunker.token_size import chunking_by_token_size
    from lightrag.kg.nano_vector_db_impl import NanoVectorDBStorage
    from lightrag.kg.shared_storage import initialize_pipeline_status, initialize_share_data
    from lightrag.utils import EmbeddingFunc, Tokenizer
    from llama_index.core.utils import get_tokenizer
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu")
    encode = get_tokenizer()  # OpenAI's, from a file; LightRAG would fetch its own
    tokenizer = Tokenizer("gpt-4o-mini", encode.func.__self__)

    async def embed(texts: list[str]) -> Any:
        return await asyncio.to_thread(model.encode, texts, show_progress_bar=False)

    settings = {
        "working_dir": str(scratch),
        "embedding_batch_num": 10,
        "vector_db_storage_cls_kwargs": {"cosine_better_than_threshold": 0.2},
    }
    initialize_share_data()
    sizes = {"chunk_overlap_token_size": 0, "chunk_token_size": chunk_tokens} if chunk_tokens else {}

    async def store(texts: Sequence[str]) -> list[str]:
        await initialize_pipeline_status("added")
        storage = NanoVectorDBStorage(
            namespace="chunks", workspace="added", global_config=settings, meta_fields={"content"},
            embedding_func=EmbeddingFunc(embedding_dim=384, func=embed, max_token_size=8192),
        )  # fmt: skip
        await storage.initialize()
        chunks = [chunk for text in texts for chunk in chunking_by_token_size(tokenizer, text, **sizes)]
        await storage.upsert({f"chunk-{place}": chunk for place, chunk in enumerate(chunks)})
        await storage.index_done_callback()
        return [chunk["content"] for chunk in chunks]

    return lambda texts: asyncio.run(store(texts))


def load_plain(folder: str, scratch: Path, *, together: bool) -> Add:  # noqa: ARG001
    """Return what embeds passages with sentence-transformers, and stores nothing."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu")

    def add(texts: Sequence[str]) -> list[str]:
        passages = [passage for text in texts for passage in _cut(model.tokenizer, text)]
        if together:
            model.encode(passages, show_progress_bar=False)
        else:
            for passage in passages:
                model.encode(passage, show_progress_bar=False)
        return passages

    return add


def _cut(tokenizer: Any, text: str, most: int = 254) -> Iterator[str]:
    places = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
    for first in range(0, len(places), most):
        yield text[places[first][0] : places[min(first + most, len(places)) - 1][1]]


SYSTEMS: dict[str, Callable[[str, Path], Add]] = {
    "memgraph_rag": partial(load_ours, layers=("entities",)),
    "memgraph_rag, vectors": partial(load_ours, layers=()),
    "sentence-transformers, loop": partial(load_plain, together=False),
    "sentence-transformers": partial(load_plain, together=True),
    "LlamaIndex": partial(load_llama_index, chunk_tokens=None),
    "LlamaIndex, whole": partial(load_llama_index, chunk_tokens=CHUNK_TOKENS),
    "LightRAG": partial(load_lightrag, chunk_tokens=None),
    "LightRAG, whole": partial(load_lightrag, chunk_tokens=CHUNK_TOKENS),
}


def measure(system: str, folder: str, texts: Sequence[str]) -> dict[str, float]:  # in a child
    """Add the documents, and return what it cost."""
    with tempfile.TemporaryDirectory() as scratch:
        add = SYSTEMS[system](folder, Path(scratch))
        warm = "Ann Lee of Warsaw keeps a fox, and Tom Ray does not mind. "
        add([warm * (WARM_CHARACTERS // len(warm))])
        started, before = time.perf_counter(), _processor_s()
        embedded = list(add(texts))
        wall, processor = time.perf_counter() - started, _processor_s() - before
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + sum(map(_peak_kib, _children()))
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    most = 10**9 if system.startswith("memgraph_rag") else 254  # ours reads a long text in windows
    tokens = [len(encoding.ids) for encoding in tokenizer.encode_batch(embedded, add_special_tokens=False)]
    return {
        "wall": wall,
        "processor": processor,
        "peak": peak_kib / 1024,
        "vectors": len(embedded),
        "tokens": sum(min(count, most) for count in tokens),
    }


def _children() -> list[Path]:
    """Return the folders in /proc of the running children: ours finds names in a process of its own."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [Path("/proc", pid) for task in tasks for pid in task.read_text().split()]


def _processor_s() -> float:
    """Return the seconds of this process and of its running children."""
    ticks = sum(sum(map(int, (child / "stat").read_text().rpartition(")")[2].split()[11:13])) for child in _children())
    return sum(os.times()[:4]) + ticks / os.sysconf("SC_CLK_TCK")


def _peak_kib(process: Path) -> int:
    return int((process / "status").read_text().partition("VmHWM:")[2].split()[0])


def in_process(python: str, system: str, folder: str, texts: Sequence[str]) -> dict[str, float]:
    """Measure in a new process of this Python."""
    done = subprocess.run(
        [python, __file__, "--child", system, folder], input=json.dumps(list(texts)), text=True, check=True,
        stdout=subprocess.PIPE, env=os.environ | {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"},
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print a table for each folder, and write each row as soon as it is measured."""
    if sys.argv[1:2] == ["--child"]:
        print("\n" + json.dumps(measure(sys.argv[2], sys.argv[3], json.load(sys.stdin))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--documents", type=int, help="only so many of each folder")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--rivals", metavar="PYTHON", help="a Python that has the rivals")
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), metavar="NAME", default=list(SYSTEMS))
    options = parser.parse_args()
    from memgraph_rag.evaluation.machine import machine_line, version_line
    from memgraph_rag.models.files.catalogue import find_embedder

    _, folder = find_embedder(EMBEDDER, cache_dir=Path())
    print(f"{version_line('torch')}\n{machine_line()}\nembedder {EMBEDDER}; medians of {options.runs} runs in turn")
    for corpus in options.folders:
        lines = (corpus / "docs.jsonl").read_text("utf-8").splitlines()[: options.documents]
        texts = [json.loads(line)["text"] for line in lines]
        pythons = {
            system: sys.executable if system.startswith("memgraph_rag") else options.rivals
            for system in options.systems
        }
        runs: dict[str, list[dict[str, float]]] = {system: [] for system, python in pythons.items() if python}
        for _ in range(options.runs):
            for system, done in runs.items():
                done.append(in_process(pythons[system], system, folder, texts))
                print(corpus.name, system, done[-1], f"load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
        print(f"\n{corpus.name}: {len(texts):,} documents, {sum(map(len, texts)):,} characters\n")
        print(f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|")
        for system, done in runs.items():
            figures = {name: median(run[name] for run in done) for name in done[0]}
            print(
                f"| {system} | {len(texts) / figures['wall']:.1f} | {figures['processor']:.1f} "
                f"| {figures['wall']:.1f} | {figures['peak']:,.0f} | {figures['vectors']:,.0f} "
                f"| {figures['tokens']:,.0f} |"
            )


if __name__ == "__main__":
    main()
