"""The models of one memory: those that were given, else those that the settings name, each found when first needed.

It knows the models room; of the store only which recognizer it was built with. Invariants: nothing heavy is imported or
loaded before it is asked for; an address is asked nothing before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from threading import Lock

from pydantic import SecretStr

from memgraph_rag.contracts import (
    AttentiveModel,
    Embedder,
    EntityRecognizer,
    LanguageModel,
    Parser,
    Progress,
    TokenCounter,
)
from memgraph_rag.errors import ModelNotFound, SettingsError
from memgraph_rag.models.embedders.embedder import SentenceEmbedder
from memgraph_rag.models.embedders.endpoint_embedder import EndpointEmbedder
from memgraph_rag.models.endpoints.address import is_address, parse_address
from memgraph_rag.models.endpoints.client import Endpoint
from memgraph_rag.models.endpoints.model import EndpointModel
from memgraph_rag.models.endpoints.pen_and_eye import PenAndEye
from memgraph_rag.models.files import catalogue
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.models.recognizers import find_recognizer, spacy_parser
from memgraph_rag.models.wrappers.checked_models import CheckedEmbedder, CheckedModel, CheckedRecognizer
from memgraph_rag.settings import Neo4j, Settings

__all__ = [
    "FoundModels",
    "open_embedder",
    "open_endpoint",
    "open_endpoint_model",
    "open_language_model",
    "without_database",
]


class FoundModels:
    """``Models`` by settings. Pickled, they find the same models in another process; weights are not sent.

    Args:
        language: a model in place of the one that the settings name; so with ``reader``, ``embedder``, ``recognizer``.
        stored_recognizer: tells the one that the namespace was built with; empty where there is none.
        journal: of the model's finished work; None keeps none.
        progress: told of a conversion.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        language: LanguageModel | None = None,
        reader: AttentiveModel | None = None,
        embedder: Embedder | None = None,
        recognizer: EntityRecognizer | None = None,
        stored_recognizer: Callable[[], str],
        journal: Journal | None,
        progress: Progress | None = None,
    ) -> None:
        self._settings = settings
        self._given = language
        self._reader = reader
        self._language: CheckedModel | None = None
        self._opening = Lock()
        self._embedder = embedder
        self._recognizer = recognizer
        self._stored_recognizer = stored_recognizer
        self._journal = journal
        self._progress = progress

    @property
    def language(self) -> CheckedModel:
        """The language model, with its reader where it has one; weights load when they are first needed."""
        with self._opening:  # two threads must not load two
            if self._language is None:
                self._language = CheckedModel(self._open_language())
            return self._language

    @property
    def embedder(self) -> CheckedEmbedder:
        """The embedding model."""
        return self._checked_embedder

    @cached_property
    def _checked_embedder(self) -> CheckedEmbedder:
        found = open_embedder(self._settings.embedder, self._settings) if self._embedder is None else self._embedder
        return CheckedEmbedder(found)

    @embedder.setter
    def embedder(self, embedder: CheckedEmbedder) -> None:
        self._embedder, self._checked_embedder = embedder.unchecked, embedder

    @property
    def recognizer(self) -> CheckedRecognizer:
        """What finds names in documents and questions.

        Raises:
            SettingsError: another one than the namespace was built with.
            ModelNotFound: the one that the namespace was built with is not installed.
        """
        return self._checked_recognizer

    @cached_property
    def _checked_recognizer(self) -> CheckedRecognizer:
        return CheckedRecognizer(self._fitting_recognizer())

    def _fitting_recognizer(self) -> EntityRecognizer:
        stored, given = self._stored_recognizer(), self._recognizer
        if given is not None:
            if stored and given.name != stored:
                raise SettingsError(
                    f"Expected the recognizer that found the entities of this namespace, {stored}, got {given.name}. "
                    "Use that one, or another namespace.",
                    setting="recognizer",
                )
            return given
        return find_recognizer(self._settings.recognizer, stored=stored)

    @property
    def parser(self) -> Parser | None:
        """What finds the grammar of a clause; None where no spaCy model is installed."""
        return self._found_parser

    @cached_property
    def _found_parser(self) -> Parser | None:
        return spacy_parser.installed()

    def __reduce__(self) -> tuple[Callable[[], FoundModels], tuple[()]]:
        stored = self._checked_recognizer.name if "_checked_recognizer" in vars(self) else self._stored_recognizer()
        again = partial(
            FoundModels,
            without_database(self._settings),
            language=self._given,
            reader=self._reader,
            embedder=self._embedder,
            recognizer=self._recognizer,
            stored_recognizer=partial(str, stored),
            journal=self._journal,
        )
        return again, ()

    def settle(self) -> None:
        """All that was built is stored: work that was kept for a retry is not needed any more."""
        if self._journal is not None:
            self._journal.settle()

    def token_counter(self, *, needs_language: bool) -> TokenCounter:
        """The language model's, so that segments do not depend on the layers; where there is none, the embedder's.

        Where a reader is beside it, the reader's: it counts exactly.

        The model is looked for now, and its tokenizer opened when tokens are first counted: what is stored already, or
        cannot be read, needs none.

        Raises:
            ModelNotFound: there is no language model, and it is needed.
        """
        try:
            _ = self._found_weights
        except ModelNotFound:
            if needs_language:
                raise
            return self.embedder.count_tokens
        return lambda texts: self._count_tokens(texts)

    @cached_property
    def _count_tokens(self) -> TokenCounter:
        """Without the model where its weights lie in our cache: adding documents then loads no transformers."""
        weights = self._found_weights
        if weights is None or not Path(weights[1]).is_relative_to(self._settings.cache_dir):
            return self.language.count_tokens
        from memgraph_rag.models.files.token_counter import open_token_counter

        return open_token_counter(Path(weights[1]))

    @property
    def _is_elsewhere(self) -> bool:
        """Whether the language model is no weights that the settings name: a reader may be beside it."""
        return self._given is not None or is_address(self._settings.model)

    @cached_property
    def _found_weights(self) -> tuple[str, str] | None:
        """Name and folder of the weights that are loaded here: the language model's, or its reader's; None for none."""
        settings = self._settings
        wanted = settings.reader if self._is_elsewhere else settings.model
        if self._is_elsewhere and (self._reader is not None or wanted == "none"):
            return None
        if wanted == "auto" and hasattr(self._given, "read_written"):  # a model that attends needs no eye
            return None
        find = catalogue.find_reader if self._is_elsewhere else catalogue.find_language_model
        return find(wanted, cache_dir=settings.cache_dir, progress=self._progress)

    def _open_language(self) -> LanguageModel:
        weights = self._found_weights  # before what takes seconds to import
        if not self._is_elsewhere:
            assert weights is not None
            return self._open_weights(*weights)
        pen = self._given or open_endpoint_model(self._settings, self._journal)
        eye = CheckedModel(self._reader) if self._reader else self._open_weights(*weights) if weights else None
        if eye is None:
            return pen
        return PenAndEye(CheckedModel(pen), eye)

    def _open_weights(self, name: str, folder: str) -> AttentiveModel:
        settings = self._settings
        from memgraph_rag.models.engine.language_model import TransformersModel

        found = catalogue.find_calibration(name, folder, cache_dir=settings.cache_dir, choice=settings.calibration)
        return TransformersModel(
            folder,
            name=name,
            window=settings.window,
            device=settings.device,
            dtype=settings.dtype,
            calibration=found[0] if found else None,
            journal=self._journal,
        )


def without_database(settings: Settings) -> Settings:
    """Settings for a process that loads models and opens no database: neither its address nor its password."""
    return settings.model_copy(update={"store": ":memory:", "neo4j": Neo4j()})


def open_endpoint(address: str, settings: Settings) -> Endpoint:
    """The server and model at an address; nothing is asked of it yet. OpenAI's key goes to OpenAI alone.

    Raises:
        SettingsError: the address is none.
        ModelNotFound: the client is not installed.
        ModelAccessDenied: a key is needed, and there is none.
    """
    place = parse_address(address)
    key = settings.endpoint.openai_key if place.is_openai else settings.endpoint.key
    return Endpoint(
        place,
        key=key.get_secret_value if isinstance(key, SecretStr) else key,
        requests=settings.endpoint.requests,
        seconds=settings.endpoint.seconds,
        body=settings.endpoint.body,
    )


def open_endpoint_model(settings: Settings, journal: Journal | None = None) -> EndpointModel:
    """The language model at the address that the settings name; raises as ``open_endpoint`` does."""
    endpoint = open_endpoint(settings.model, settings)
    # A file is the reader's where there is one.
    choice = settings.calibration if settings.reader == "none" or settings.calibration == "none" else "auto"
    found = catalogue.find_yes_calibration(endpoint.address, cache_dir=settings.cache_dir, choice=choice)
    return EndpointModel(
        endpoint,
        window=settings.window,
        requests=settings.endpoint.requests,
        calibration=found[0] if found else None,
        journal=journal,
    )


def open_language_model(settings: Settings) -> LanguageModel:
    """The language model of the settings, with its reader, for memories of several namespaces.

    It keeps no journal: that of one namespace would hold what another one forgets.

    Raises:
        ModelNotFound: there is none.
        SettingsError: the address is none.
    """
    return FoundModels(settings, stored_recognizer=str, journal=None).language.unwrapped


def open_embedder(wanted: str, settings: Settings) -> Embedder:
    """The embedder of that name, folder or address.

    Raises:
        ModelNotFound: there is none.
    """
    if is_address(wanted):
        return EndpointEmbedder(open_endpoint(wanted, settings), requests=settings.endpoint.requests)
    name, folder = catalogue.find_embedder(wanted)
    return SentenceEmbedder(folder, name=name, device=settings.device, dtype=settings.dtype)
