"""The files for Docker Compose and Kubernetes, held to their schemas: no engine and no cluster runs here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose

ROOT = Path(__file__).parent.parent
COMPOSE = ROOT / "docker-compose.yml"
MANIFESTS = sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))

KUBERNETES = ("1.30", "1.37")


def objects(*paths: Path) -> list[Any]:
    return [manifest for path in paths for manifest in yaml.safe_load_all(path.read_text("utf-8"))]


def test_compose_file_keeps_to_the_specification() -> None:
    text = COMPOSE.read_text("utf-8")
    assert sorted(PyCompose.from_yaml(text).service_names()) == ["memory", "neo4j", "proxy"]
    for right, wrong in (
        ("restart: unless", "restart: un"),
        ("profiles:", "profile:"),
        ("interval: 5s", "interval: soon"),
    ):
        with pytest.raises(ValueError):
            PyCompose.from_yaml(text.replace(right, wrong))


def test_compose_names_only_what_it_has() -> None:
    (compose,) = objects(COMPOSE)
    services, volumes = compose["services"], compose["volumes"]
    mounted = {mount.split(":")[0] for service in services.values() for mount in service["volumes"]}
    assert mounted == set(volumes)
    assert {name for service in services.values() for name in service.get("depends_on", ())} <= set(services)
    assert [name for name, service in services.items() if "profiles" not in service] == ["neo4j"]
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", ()))
    assert (ROOT / services["memory"]["build"]["dockerfile"]).is_file()


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_keep_to_the_schema(path: Path, version: str) -> None:
    manifests = objects(path)
    assert manifests
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**manifests[-1], "speck": {}}, version, strict=True)


def test_manifests_name_only_what_they_have() -> None:
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
