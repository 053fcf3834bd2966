"""How commands end: exit statuses and one-line errors, help, and the process itself."""

from __future__ import annotations

import inspect
import json
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tables import table

import memgraph_rag
from memgraph_rag.cli.app import COMMANDS as LISTED
from memgraph_rag.cli.render import STOP_REASONS
from memgraph_rag.strategies import list_known_strategies
from memgraph_rag.types import StopReason

STRATEGIES = tuple(list_known_strategies())

COMMANDS = (
    "add",
    "ask",
    "search",
    "show",
    "documents",
    "evaluate",
    "forget",
    "purge",
    "export",
    "import",
    "status",
    "config",
    "doctor",
    "demo",
)
NEO4J_COMMANDS = ("start", "stop", "status")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("add", "/dev/null"), "DocumentError: "),
        (("add", "/no/such/file.txt"), "DocumentError: "),
        (("ask", " "), "QuestionError: "),
        (("ask", "Who?", "--strategy", "guess"), "StrategyError: "),
        (("ask", "Who?", "--document", "nobody"), "DocumentNotFound: "),
        (("ask", "Who?", "--max-nodes", "0"), "SettingsError: "),
        (("search", "fox", "--mode", "magic"), "SettingsError: "),
        (("search", "fox", "--k", "0"), "SettingsError: "),
        (("forget", "nobody"), "DocumentNotFound: "),
        (("documents", "--store", "http://localhost"), "SettingsError: "),
        (("documents", "--namespace", ""), "SettingsError: "),
    ],
)
def test_library_error_is_one_line_and_1(cli, arguments, error) -> None:
    result = cli(*arguments, status=1)
    assert result.stderr.startswith(error)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_ctrl_c_is_one_line_and_130(cli, monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memgraph_rag.Memory", interrupt)
    assert cli("documents", status=130).stderr == "Interrupted. Unfinished work is not stored.\n"


@table("arguments", [("ask",), ("nonsense",), ("search", "x", "--k", "many"), ("show", "--what")])
def test_wrong_usage_is_2(cli, arguments) -> None:
    assert "Usage:" in cli(*arguments, status=2).stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMGRAPH_RAG_ENDPOINT_BODY", "{sesame"),
        ("MEMGRAPH_RAG_ENDPOINT_BODY", "[1]"),
        ("MEMGRAPH_RAG_WINDOW", "wide\x1b[31m"),
        ("NEO4J_PASSWORD", "sesame\udc80"),
    ],
)
def test_unusable_variable_is_one_line_and_2(cli, monkeypatch, variable, value) -> None:
    monkeypatch.setenv(variable, value)
    shown = cli("documents", status=2).stderr
    assert shown.startswith(f"SettingsError: The variable {variable} cannot be used")
    assert shown.count("\n") == 1
    assert "sesame" not in shown
    assert "\x1b" not in shown


def test_version(cli) -> None:
    assert cli("--version").stdout == f"memgraph_rag {memgraph_rag.__version__}\n"


@table("command", [*COMMANDS, "neo4j"])
def test_each_command_has_help(cli, command) -> None:
    shown = cli(command, "--help").stdout
    assert f"memgraph-rag {command}" in shown or f" {command} " in shown
    assert command in cli("--help").stdout


@table(("name", "command"), LISTED.items())
def test_list_of_commands_repeats_each_help(name, command) -> None:
    loaded = getattr(import_module(f"memgraph_rag.cli.{command.module}"), command.function)
    docstring = inspect.getdoc(loaded) if inspect.isfunction(loaded) else loaded.info.help
    assert command.help == docstring.splitlines()[0]
    assert command.load(name).name in (name, "")


@table("command", NEO4J_COMMANDS)
def test_each_command_of_the_local_server_has_help(cli, command) -> None:
    assert f"neo4j {command}" in cli("neo4j", command, "--help").stdout


@table("command", [command for command in COMMANDS if command not in {"doctor", "demo"}])
def test_the_shared_options_are_on_each_command(cli, command) -> None:
    shown = cli(command, "--help").stdout
    assert all(option in shown for option in ("--store", "--namespace", "--model", "--embedder", "--json"))


def test_the_help_of_ask_names_every_strategy(cli) -> None:
    shown = cli("ask", "--help").stdout
    assert {name for name in STRATEGIES if name in shown} == set(STRATEGIES)


def test_every_stop_reason_has_words() -> None:
    assert set(STOP_REASONS) == {reason.value for reason in StopReason}


@table("command", [*COMMANDS, "neo4j"])
def test_each_command_is_in_the_guide_that_the_readme_links(command) -> None:
    checkout = Path(memgraph_rag.__file__).parents[1]
    assert "](docs/configuration.md#command-line)" in (checkout / "README.md").read_text("utf-8")
    assert f"memgraph-rag {command}" in (checkout / "docs" / "configuration.md").read_text("utf-8")


# ── the process ──────────────────────────────────────────────────────────────────────────────────────────────


def run_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from memgraph_rag.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


def test_the_package_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "memgraph_rag", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("memgraph_rag ")


def list_loaded(*commands: tuple[str, ...]) -> set[str]:
    """Return the modules that one process has loaded after the help of each of these commands."""
    program = """if True:
        import json
        import sys
        from memgraph_rag.cli.app import app
        for command in json.loads(sys.argv[1]):
            app([*command, "--help"], standalone_mode=False)
        print(*sys.modules)
    """
    run = [sys.executable, "-c", program, json.dumps(commands)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_of_light_commands_loads_nothing_heavy() -> None:
    commands = [(), ("add",), ("ask",), ("search",), ("status",), ("forget",), ("export",), ("demo",)]
    loaded = {name.split(".")[0] for name in list_loaded(*commands)}
    assert not loaded & {"torch", "transformers", "neo4j", "ladybug", "numpy", "pyarrow", "jinja2"}


def test_help_of_other_commands_loads_no_model_and_no_driver() -> None:
    commands = [("calibrate",), ("doctor",), ("evaluate",), ("mcp",), ("serve",), ("ui",)]
    loaded = {name.split(".")[0] for name in list_loaded(*commands)}
    assert not loaded & {"torch", "transformers", "sentence_transformers", "spacy", "stanza", "neo4j"}


def test_list_of_commands_imports_no_command() -> None:
    loaded = list_loaded(())
    assert not loaded & {"pydantic", *(f"memgraph_rag.cli.{command.module}" for command in LISTED.values())}
    assert "memgraph_rag.cli.inspection" in list_loaded(("search",))


@pytest.mark.parametrize(
    ("store", "error"), [("http://localhost", "SettingsError"), ("neo4j://localhost:1", "StoreUnavailable")]
)
def test_error_of_the_process_is_one_line_and_1(store, error) -> None:
    done = run_process("documents", "--store", store)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{error}: ")
    assert done.stderr.count("\n") == 1


LOGGING = """
import logging
import sys
from memgraph_rag.cli.options import start_logging

logging.getLogger("chatty").setLevel(logging.DEBUG)
start_logging(verbose="--verbose" in sys.argv)
for name in ("memgraph_rag.models", "chatty"):
    for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        logging.getLogger(name).log(level, "%s %d", name, level)
"""


OURS, OTHERS = "memgraph_rag.models", "chatty"


@table(
    ("option", "expected"),
    [
        ((), [f"{OURS} 30", f"{OURS} 40", f"{OTHERS} 40"]),
        (("--verbose",), [*(f"{OURS} {n}" for n in (10, 20, 30, 40)), *(f"{OTHERS} {n}" for n in (20, 30, 40))]),
    ],
)
def test_other_libraries_log_only_when_verbose(option, expected) -> None:
    done = subprocess.run([sys.executable, "-c", LOGGING, *option], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == expected


CLOSED = """
import os, sys
from memgraph_rag.cli import main
try:
    main()
finally:
    sys.exit(os.open(sys.executable, os.O_RDONLY))
"""


def test_a_closed_standard_stream_leads_nowhere() -> None:
    """The next file to be opened, whose number the process ends with, does not stand in for one."""
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(CLOSED)} --version <&- >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode > 2
    assert (done.stdout, done.stderr) == ("", "")
