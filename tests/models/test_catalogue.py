"""Names become folders, or a clear error; packaged weights are verified and converted once."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from memgraph_rag.errors import ModelError, ModelNotFound
from memgraph_rag.models.files import catalogue
from memgraph_rag.models.files.catalogue import CATALOGUE, PackagedModel, find_language_model, fingerprint
from memgraph_rag.models.files.scratch import remove_abandoned, scratch_folder


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackagedModel:
    """A model in two packages, whose bytes are no checkpoint."""
    parts = [b"first ", b"second"]
    for number, data in enumerate(parts, 1):
        folder = tmp_path / f"made_up_part{number}"
        (folder / "data").mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "data" / f"part{number:02d}.bin").write_bytes(data)
    monkeypatch.syspath_prepend(str(tmp_path))
    model = PackagedModel("made-up", "extra", "made_up_part{}", 2, 12, hashlib.sha256(b"".join(parts)).hexdigest())
    monkeypatch.setattr(catalogue, "CATALOGUE", {"made-up": model})
    yield model
    for number in (1, 2):
        sys.modules.pop(f"made_up_part{number}", None)


def test_the_small_model_is_converted_and_found_again(small_weights):
    assert (Path(small_weights) / "config.json").is_file()
    assert (Path(small_weights) / "model.safetensors").stat().st_size > 9e8
    assert not list(Path(small_weights).parent.glob(".making-*"))


def test_hashes_of_the_catalogue_are_sha256():
    assert all(len(model.sha256) == 64 and int(model.sha256, 16) for model in CATALOGUE.values())


def test_parts_with_wrong_hash_are_refused(packaged, tmp_path):
    part = tmp_path / "made_up_part2" / "data" / "part02.bin"
    part.write_bytes(b"secone")
    with pytest.raises(ModelError, match=r"of SHA-256 .* got .* Reinstall them"):
        find_language_model("made-up", cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.*"))


def test_failed_conversion_leaves_no_file(packaged, tmp_path):
    with pytest.raises(ModelError, match="Expected a file that begins with GGUF"):
        find_language_model("auto", cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache" / "models").iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
@pytest.mark.parametrize("is_there", [False, True], ids=["a conversion", "a start"])
def test_folder_of_killed_process_is_removed(packaged, tmp_path, is_there):
    models = tmp_path / "cache" / "models"
    left, other = models / ".making-1-left", models / ".making-1-other"
    for folder in (left, other):
        (folder / "model").mkdir(parents=True)
    if is_there:
        done = models / f"made-up-{packaged.sha256[:12]}"
        done.mkdir()
        (done / "config.json").touch()
    import fcntl

    descriptor = os.open(other, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # as the process does that is at work there
    with suppress(ModelError):  # these bytes are no checkpoint
        find_language_model("made-up", cache_dir=tmp_path / "cache")
    assert (left.exists(), other.exists()) == (False, True)
    os.close(descriptor)
    with suppress(ModelError):
        find_language_model("made-up", cache_dir=tmp_path / "cache")
    assert not list(models.glob(".*"))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_locked_folder_is_not_removed(tmp_path):
    with scratch_folder(tmp_path) as outer, scratch_folder(tmp_path) as inner:
        remove_abandoned(tmp_path)
        assert outer.is_dir()
        assert inner.is_dir()
    assert not list(tmp_path.iterdir())


def test_missing_packages_name_the_extra(packaged, tmp_path):
    (tmp_path / "made_up_part1" / "data" / "part01.bin").unlink()
    with pytest.raises(ModelNotFound, match=r'pip install "memgraph_rag\[extra\]"'):
        find_language_model("made-up", cache_dir=tmp_path / "cache")
    with pytest.raises(ModelNotFound, match="none is installed"):
        find_language_model("auto", cache_dir=tmp_path / "cache")


def test_model_folder_is_used_unchanged(tmp_path):
    folder = tmp_path / "my-model"
    folder.mkdir()
    assert find_language_model(str(folder), cache_dir=tmp_path) == ("my-model", str(folder))


def test_hub_name_is_returned_with_a_warning(tmp_path, caplog):
    assert find_language_model("owner/model", cache_dir=tmp_path) == ("owner/model", "owner/model")
    assert "is downloaded now" in caplog.text


@pytest.mark.parametrize("name", ["no-such", "/no/such/folder", "./x/y", "a/b/c"])
def test_unknown_name_lists_known_names(name, tmp_path):
    with pytest.raises(ModelNotFound, match=r"Known names: qwen2\.5-coder-1\.5b-instruct"):
        find_language_model(name, cache_dir=tmp_path)


def test_a_folder_without_a_model_has_no_fingerprint(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"without config\.json"):
        fingerprint("mine", str(tmp_path))
