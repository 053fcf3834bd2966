"""The files for Docker Compose and Kubernetes, held to their schemas; the image is built where an engine answers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose

from memgraph_rag.cli.options import parse_layers
from memgraph_rag.cli.serve import _split

ROOT = Path(__file__).parent.parent
COMPOSE = ROOT / "docker-compose.yml"
MANIFESTS = sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))

KUBERNETES = ("1.30", "1.37")


def objects(*paths: Path) -> list[Any]:
    return [manifest for path in paths for manifest in yaml.safe_load_all(path.read_text("utf-8"))]


def test_compose_file_keeps_to_the_specification() -> None:
    (compose,) = objects(COMPOSE)
    text = yaml.safe_dump(compose)  # without merge keys, which this parser does not know
    names = ["memory", "memory-gpu", "neo4j", "proxy", "proxy-gpu"]
    assert sorted(PyCompose.from_yaml(text).service_names()) == names
    for right, wrong in (
        ("restart: unless", "restart: un"),
        ("profiles:", "profile:"),
        ("interval: 5s", "interval: soon"),
    ):
        with pytest.raises(ValueError):
            PyCompose.from_yaml(text.replace(right, wrong))


def test_compose_file_references_existing_services_and_files() -> None:
    (compose,) = objects(COMPOSE)
    services, volumes = compose["services"], compose["volumes"]
    mounted = {mount.split(":")[0] for service in services.values() for mount in service["volumes"]}
    assert mounted == set(volumes)
    assert {name for service in services.values() for name in service.get("depends_on", ())} <= set(services)
    assert [name for name, service in services.items() if "profiles" not in service] == ["neo4j"]
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", ()))
    assert (ROOT / services["memory"]["build"]["dockerfile"]).is_file()


def test_each_profile_of_compose_is_whole() -> None:
    (compose,) = objects(COMPOSE)
    services = compose["services"]
    for profile in ("serve", "gpu"):
        chosen = {name: service for name, service in services.items() if profile in service.get("profiles", [profile])}
        assert len(chosen) == 3
        networks = {service["network_mode"] for service in chosen.values() if "network_mode" in service}
        assert {network.removeprefix("service:") for network in networks} <= set(chosen)
        assert {name for service in chosen.values() for name in service.get("depends_on", ())} <= set(chosen)
    with_gpu = [name for name, service in services.items() if "deploy" in service]
    assert with_gpu == ["memory-gpu"]
    (device,) = services["memory-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], "gpu" in device["capabilities"]) == ("nvidia", True)
    differing = {key for key, value in services["memory"].items() if services["memory-gpu"][key] != value}
    assert differing == {"profiles", "build"}


def test_server_of_compose_builds_the_full_graph() -> None:
    (compose,) = objects(COMPOSE)
    command, _, layers = compose["services"]["memory"]["command"].rpartition("--layers ")
    assert command == "memgraph-rag serve "
    assert _split(parse_layers(layers.removeprefix("${MEMORY_LAYERS:-").removesuffix("}"))["layers"]) == (
        ("entities", "facts"),
        ("points", "relations"),
    )


def test_build_context_is_what_the_wheel_needs(tmp_path: Path) -> None:
    """Neither the history nor an environment of some gigabytes goes to the engine."""
    ignore, *lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert ignore == "*"
    context = tmp_path / "context"
    for kept in (line.removeprefix("!") for line in lines if line.startswith("!")):
        (context / kept).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / kept).is_dir():
            shutil.copytree(ROOT / kept, context / kept, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / kept, context / kept)
    assert sum(path.stat().st_size for path in context.rglob("*")) < 10 * 2**20
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "built")]
    subprocess.run(command, cwd=context, check=True, capture_output=True)
    (wheel,) = (tmp_path / "built").iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("memgraph_rag/cli/app.py", "memgraph_rag/_examples/peter_rabbit.txt"):
        assert part in names
    assert any(name.startswith("memgraph_rag/_cypher/") for name in names)


def test_dockerfile_passes_its_linter() -> None:
    linter = shutil.which("hadolint", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if linter is None:
        pytest.skip('no hadolint: pip install "memgraph_rag[dev]"')
    linted = subprocess.run([linter, ROOT / "deploy/Dockerfile"], capture_output=True, text=True, check=False)
    assert (linted.returncode, linted.stdout) == (0, "")


def test_dockerfile_keeps_no_sources_and_takes_torch_for_a_cpu() -> None:
    """Where no engine answers: what the built image shows below."""
    text = (ROOT / "deploy/Dockerfile").read_text("utf-8")
    assert not re.search(r"^(COPY|ADD) (?!--from=)", text, re.MULTILINE)
    assert 'ARG TORCH_BACKEND="cpu"' in text
    (compose,) = objects(COMPOSE)
    arguments = set(re.findall(r"^ARG (\w+)", text, re.MULTILINE))
    assert set(compose["services"]["memory-gpu"]["build"]["args"]) <= arguments


@pytest.fixture
def docker() -> str:
    """The client of a Docker engine that answers."""
    client = shutil.which("docker")
    if client is None or subprocess.run([client, "info"], capture_output=True, timeout=20, check=False).returncode:
        pytest.skip("no Docker engine answers")
    return client


@pytest.mark.timeout(1800)
def test_built_image_starts_and_keeps_no_sources(docker: str) -> None:
    def run(*command: str) -> str:
        done = subprocess.run([docker, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    image = "memgraph-rag-test"
    run("build", "--file", "deploy/Dockerfile", "--build-arg", "EXTRAS=mcp", "--tag", image, ".")
    try:
        assert "memgraph-rag" in run("run", "--rm", image, "memgraph-rag", "--help")
        assert run("run", "--rm", image, "sh", "-c", "id -u; ls -d /src || true").split() == ["10001"]
        version = run("run", "--rm", image, "python", "-c", "import torch; print(torch.version.cuda)")
        assert version.strip() == "None"
    finally:
        run("image", "rm", "--force", image)


def test_compose_reads_its_file(docker: str) -> None:
    command = [docker, "compose", "--profile", "serve", "--profile", "gpu", "config", "--quiet"]
    environment = {**os.environ, "NEO4J_PASSWORD": "a password"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_keep_to_the_schema(path: Path, version: str) -> None:
    manifests = objects(path)
    assert manifests
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**manifests[-1], "speck": {}}, version, strict=True)


def test_manifests_reference_existing_objects() -> None:
    """But for the certificate, which only its owner has."""
    texts = "".join(path.read_text("utf-8") for path in MANIFESTS)
    have = {manifest["metadata"]["name"] for manifest in objects(*MANIFESTS)} | {"memory-tls"}
    named = re.findall(r"(?:KeyRef|configMap|secret):\n +(?:secretN|n)ame: (\S+)", texts)
    assert named
    assert {*named, *re.findall(r"claimName: (\S+)", texts)} <= have
    for manifest in objects(*MANIFESTS):
        if manifest["kind"] in ("StatefulSet", "Deployment"):
            labels = manifest["spec"]["template"]["metadata"]["labels"]
            assert manifest["spec"]["selector"]["matchLabels"] == labels
            service = next(item for item in objects(*MANIFESTS) if item["kind"] == "Service" and same(item, manifest))
            assert service["spec"]["selector"] == labels


def same(one: Any, other: Any) -> bool:
    return one["metadata"]["name"] == other["metadata"]["name"]


def test_versions_are_those_of_the_library() -> None:
    from memgraph_rag.stores.neo4j.distribution import NEWEST

    images = {image for path in (COMPOSE, *MANIFESTS) for image in re.findall(r"image: (neo4j:\S+)", path.read_text())}
    assert images == {f"neo4j:{NEWEST}-community"}
