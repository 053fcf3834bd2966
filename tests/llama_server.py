"""A real llama.cpp server for the tests of endpoints, as a process: ``python llama_server.py WEIGHTS PORT KEY``.

It knows ``xllamacpp`` and the packaged 0.5B model. Invariant: it ends with the process that started it.
"""

from __future__ import annotations

import sys


def serve(weights: str, port: int, key: str) -> None:
    """Serve chat and embeddings with one thread until standard input is closed."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = ["small"]
    params.n_parallel, params.n_ctx = 2, 2 * 2048
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.embedding, params.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.warmup, params.verbosity = False, 0
    params.port, params.api_keys = port, [key]
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
