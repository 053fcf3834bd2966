"""Files of settings: which are read, what goes before what, and what a file of a stranger cannot do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph_rag import Settings
from memgraph_rag.errors import SettingsError
from memgraph_rag.settings import Origin, project_file, user_file
from memgraph_rag.settings.sources import FILE_NAME

WriteFile = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A repository, which is the working directory; no variable is set."""
    for name in list(os.environ):
        if name.startswith(("MEMGRAPH_RAG_", "NEO4J_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def write(tmp_path: Path) -> WriteFile:
    """Make a file: of the user where it is named "user", else of the project."""

    def write_file(name: str, text: str) -> Path:
        path = user_file() if name == "user" else tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return write_file


# ── what is read, and what counts more ───────────────────────────────────────────────────────────────────────


def test_each_origin_beats_the_next(monkeypatch: pytest.MonkeyPatch, write: WriteFile) -> None:
    def namespace(**given: Any) -> tuple[str, str]:
        settings, origins = Settings.resolve(**given)
        return settings.namespace, str(origins["namespace"]) if "namespace" in origins else "default"

    assert namespace() == ("default", "default")
    of_user = write("user", 'namespace = "user"')
    assert namespace() == ("user", f"file '{of_user}'")
    of_project = write(FILE_NAME, 'namespace = "project"')
    assert namespace() == ("project", f"file '{of_project}'")
    dotenv = write(".env", "MEMGRAPH_RAG_NAMESPACE=dotenv")
    assert namespace() == ("dotenv", f"variable MEMGRAPH_RAG_NAMESPACE in '{dotenv}'")
    monkeypatch.setenv("MEMGRAPH_RAG_NAMESPACE", "variable")
    assert namespace() == ("variable", "variable MEMGRAPH_RAG_NAMESPACE")
    assert namespace(namespace="argument") == ("argument", "argument")


def test_parts_of_group_come_from_several_files(monkeypatch: pytest.MonkeyPatch, write: WriteFile) -> None:
    write("user", '[neo4j]\nuser = "ann"\npassword = "sesame"\n[endpoint]\nseconds = 20\n')
    write(FILE_NAME, '[neo4j]\nuser = "tom"\n[endpoint]\nbody = {reasoning_effort = "none"}\n')
    monkeypatch.setenv("NEO4J_DATABASE", "stories")
    settings = Settings.load(endpoint={"requests": 2})
    assert (settings.neo4j.user, settings.neo4j.database) == ("tom", "stories")
    assert settings.neo4j.password is not None
    assert settings.neo4j.password.get_secret_value() == "sesame"
    assert (settings.endpoint.requests, settings.endpoint.seconds) == (2, 20)
    assert settings.endpoint.body == {"reasoning_effort": "none"}


def test_dotenv_holds_variables_of_others_too(write: WriteFile) -> None:
    write(".env", "DATABASE_URL=x\nNEO4J_AUTH=neo4j/x\n# a comment\nexport NEO4J_USERNAME='ann'\nEMPTY=\nalone\n")
    assert Settings.load().neo4j.user == "ann"
    assert "NEO4J_USERNAME" not in os.environ


def test_dotenv_takes_nothing_out_of_the_environment(monkeypatch: pytest.MonkeyPatch, write: WriteFile) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    write(".env", "MEMGRAPH_RAG_NAMESPACE=${OPENAI_API_KEY}")
    assert Settings.load().namespace == "${OPENAI_API_KEY}"


def test_folder_named_dotenv_is_no_file(project: Path) -> None:
    (project / ".env").mkdir()
    assert Settings.load() == Settings()


def test_nearest_file_up_to_repository_root_counts(
    monkeypatch: pytest.MonkeyPatch, project: Path, write: WriteFile
) -> None:
    above = project.parent / FILE_NAME
    above.write_text('namespace = "above the repository"', "utf-8")
    inner = project / "package" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert project_file() is None
    root = write(FILE_NAME, 'namespace = "root"')
    write(".env", "NEO4J_USERNAME=ann")
    (inner / ".env").write_text("NEO4J_USERNAME=tom", "utf-8")
    assert project_file() == root
    settings = Settings.load()
    assert (settings.namespace, settings.neo4j.user) == ("root", "ann"), ".env beside the file"
    assert project_file() == root
    nearer = write(f"package/{FILE_NAME}", "")
    assert project_file() == nearer
    assert Settings.load().namespace == "default", "one file of the project, not several"


def test_outside_repository_only_working_directory_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = tmp_path / "open" / "here"
    here.mkdir(parents=True)
    (here.parent / FILE_NAME).write_text('namespace = "of somebody else"', "utf-8")
    monkeypatch.chdir(here)
    assert project_file() is None
    (here / FILE_NAME).write_text('namespace = "here"', "utf-8")
    assert Settings.load().namespace == "here"


def test_deleted_working_directory_has_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert Settings.load() == Settings()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        ('store = "notes.lbug"', "store", "{project}/notes.lbug"),
        ('store = "../notes.lbug"', "store", "{above}/notes.lbug"),
        ('store = "/data/notes.lbug"', "store", "/data/notes.lbug"),
        ('store = "~/notes.lbug"', "store", "{home}/notes.lbug"),
        ('store = ":memory:"', "store", ":memory:"),
        ('store = "neo4j://localhost:7687"', "store", "neo4j://localhost:7687"),
        ('model = "./weights"', "model", "{project}/weights"),
        ('model = "owner/name"', "model", "owner/name"),
        ('calibration = "none"', "calibration", "none"),
    ],
)
def test_path_in_file_counts_from_its_folder(
    monkeypatch: pytest.MonkeyPatch, project: Path, write: WriteFile, line: str, name: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", str(project.parent / "home"))
    write(FILE_NAME, line)
    (project / "inner").mkdir()
    monkeypatch.chdir(project / "inner")
    places = {"project": project, "above": project.parent, "home": project.parent / "home"}
    assert getattr(Settings.load(), name) == expected.format(**places)


def test_path_in_dotenv_counts_from_its_folder(
    monkeypatch: pytest.MonkeyPatch, project: Path, write: WriteFile
) -> None:
    write(FILE_NAME, "")
    write(".env", "MEMGRAPH_RAG_CACHE_DIR=cache")
    (project / "inner").mkdir()
    monkeypatch.chdir(project / "inner")
    assert Settings.load().cache_dir == project / "cache"


# ── files that cannot be used ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("win dow = 1", r"Expected TOML in .*line 1, column 5"),
        ("a = " + "[" * 100_000, "Expected TOML in .*lists too deep"),
        ("modle = 'x'", r"no setting 'modle' .file .* Did you mean 'model'\?"),
        ("[neo4j]\npasswort = 'sesame'", r"no setting 'neo4j.passwort' .file .* Did you mean 'neo4j.password'\?"),
        ("window = 'wide'", "The key window of .* cannot be used: .*'wide'. Change it"),
        ("window = 1979-05-27", "The key window of .* cannot be used"),
        ("[endpoint]\nseconds = 0", "The key endpoint.seconds of .* cannot be used"),
        ("[neo4j]\npassword = 5551", "The key neo4j.password of .* cannot be used"),
        ("neo4j = 'sesame'", "The key neo4j of .* cannot be used"),
        ('namespace = "a\\u0000b"', "The key namespace of .* without NUL"),
        ("store = ''", "The key store of .* cannot be used"),
    ],
)
@pytest.mark.parametrize("name", ["user", FILE_NAME])
def test_file_that_cannot_be_used_is_refused_by_name_and_key(
    write: WriteFile, name: str, text: str, message: str
) -> None:
    path = write(name, text)
    with pytest.raises(SettingsError, match=message) as raised:
        Settings.load()
    assert str(path) in str(raised.value)
    assert raised.value.settings_file == path
    assert "sesame" not in str(raised.value)
    assert "5551" not in str(raised.value)


def test_folder_in_place_of_file_is_refused(project: Path) -> None:
    (project / FILE_NAME).mkdir()
    with pytest.raises(SettingsError, match=f"{FILE_NAME}', got a folder"):
        Settings.load()


def test_pipe_in_place_of_file_is_refused(project: Path) -> None:
    os.mkfifo(project / FILE_NAME)
    with pytest.raises(SettingsError, match=f"{FILE_NAME}', got a folder, or no file at all"):
        Settings.load()


@pytest.mark.parametrize("name", [FILE_NAME, ".env"])
def test_file_that_is_no_text_is_refused(project: Path, name: str) -> None:
    (project / name).write_bytes(b"NEO4J_USERNAME = '\xff'")
    with pytest.raises(SettingsError, match=f"Expected a file that can be read at .*{name}") as raised:
        Settings.load()
    assert raised.value.settings_file == project / name


@pytest.mark.parametrize("name", [FILE_NAME, ".env"])
def test_file_that_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch, write: WriteFile, name: str) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    write(name, "")
    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr("memgraph_rag.settings.sources.dotenv_values", refuse)
    with pytest.raises(SettingsError, match=f"at .*{name}', got .*Permission denied"):
        Settings.load()


def test_variable_in_dotenv_is_named_with_its_file(write: WriteFile) -> None:
    path = write(".env", "MEMGRAPH_RAG_WINDOW=wide")
    with pytest.raises(SettingsError, match=f"The variable MEMGRAPH_RAG_WINDOW in '{path}' cannot") as raised:
        Settings.load()
    assert (raised.value.variable, raised.value.settings_file) == ("MEMGRAPH_RAG_WINDOW", path)


# ── a project of a stranger ──────────────────────────────────────────────────────────────────────────────────


AWAY = {
    "store": ("neo4j+s://db.example.org", "NEO4J_PASSWORD"),
    "model": ("https://models.example.org/v1#m", "MEMGRAPH_RAG_ENDPOINT_KEY"),
    "embedder": ("http://10.0.0.8/v1#m", "MEMGRAPH_RAG_ENDPOINT_KEY"),
}


@pytest.mark.parametrize("name", AWAY)
@pytest.mark.parametrize("file", [FILE_NAME, ".env"])
def test_secret_of_the_user_goes_to_no_address_of_a_project(
    monkeypatch: pytest.MonkeyPatch, write: WriteFile, name: str, file: str
) -> None:
    address, variable = AWAY[name]
    monkeypatch.setenv(variable, "sesame")
    write(file, f'{name} = "{address}"' if file == FILE_NAME else f"MEMGRAPH_RAG_{name.upper()}={address}")
    with pytest.raises(
        SettingsError, match=f"for your .*{variable}.*{name} in .*set MEMGRAPH_RAG_{name.upper()}"
    ) as raised:
        Settings.load()
    assert "sesame" not in str(raised.value)
    assert getattr(Settings.load(**{name: address}), name) == address, "an address of the user's own"
    monkeypatch.delenv(variable)
    assert getattr(Settings.load(), name) == address, "without a secret"
    write(".env", f"{variable}=theirs\nMEMGRAPH_RAG_{name.upper()}={address}")
    assert getattr(Settings.load(), name) == address, "a secret of the project's own"


@pytest.mark.parametrize("secret", [{"neo4j": {"password": "sesame"}}, "user"])
def test_secret_from_anywhere_else_is_held_back(write: WriteFile, secret: Any) -> None:
    write(FILE_NAME, 'store = "neo4j://localhost@db.example.org"')
    if secret == "user":
        write("user", '[neo4j]\npassword = "sesame"')
    with pytest.raises(SettingsError, match=r"for your neo4j\.password"):
        Settings.load(**({} if secret == "user" else secret))


def test_body_of_the_user_is_held_back_too(write: WriteFile) -> None:
    write(FILE_NAME, 'model = "http://models.example.org/v1#m"')
    with pytest.raises(SettingsError, match=r"for your endpoint\.body"):
        Settings.load(endpoint={"body": {"key": "sesame"}})


@pytest.mark.parametrize(
    "address", ["neo4j://localhost:7687", "bolt://127.0.0.1", "bolt://[::1]:7687", "notes.lbug", ":memory:"]
)
def test_secret_goes_to_this_machine(monkeypatch: pytest.MonkeyPatch, write: WriteFile, address: str) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "sesame")
    write(FILE_NAME, f'store = "{address}"')
    assert Settings.load().store.endswith(address)


def test_key_of_openai_goes_to_openai_whoever_names_it(monkeypatch: pytest.MonkeyPatch, write: WriteFile) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    write(FILE_NAME, 'model = "openai:gpt-4.1-mini"')
    assert Settings.load().model == "openai:gpt-4.1-mini"


def test_file_of_the_user_may_name_any_address(monkeypatch: pytest.MonkeyPatch, write: WriteFile) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "sesame")
    path = write("user", 'store = "neo4j+s://db.example.org"')
    settings, origins = Settings.resolve()
    assert settings.store == "neo4j+s://db.example.org"
    assert origins["store"] == Origin("file", path=path)
    monkeypatch.chdir(path.parent)
    assert Settings.load() == settings, "also in its own folder"
