"""The models of one memory: the models that the caller gave, else the models that the settings name.

Each model is found at its first use. The module knows the models room. Of the store it knows only the recognizer with
which the store was built. Invariants: nothing large is imported or loaded before it is needed; a server is asked
nothing before it is needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import SecretStr

from memgraph_rag.contracts import (
    AttentiveModel,
    Embedder,
    EntityRecognizer,
    FindPhrases,
    LanguageModel,
    Progress,
    TokenCounter,
)
from memgraph_rag.errors import MemgraphRagError, ModelNotFound, SettingsError
from memgraph_rag.models import embedders, endpoints
from memgraph_rag.models.embedders.prompts import NO_PROMPTS, Prompts, find_prompts
from memgraph_rag.models.endpoints.address import is_address, parse_address
from memgraph_rag.models.files import catalogue
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.models.gpu_driver import has_gpu
from memgraph_rag.models.recognizers import find_recognizer, noun_phrases
from memgraph_rag.models.wrappers.checked_models import CheckedEmbedder, CheckedModel, CheckedRecognizer
from memgraph_rag.models.wrappers.forwarding import ForwardingModel
from memgraph_rag.models.wrappers.turn_judging import TurnJudging
from memgraph_rag.settings import Neo4j, Settings

logger = logging.getLogger(__name__)

_WITH_PROMPTS = "+prompts"
_LARGE = 13e9  # operations of a token, two for a weight; the models that are called 7B have 13.2e9 to 15e9
_LARGE_FILES = _LARGE / 4  # bytes, with 4 bits for a weight


class FoundModels:
    """The models of one memory: each model is the caller's, or else the model that the settings name.

    A pickled object holds no weights: it finds the same models again in another process.

    Args:
        language: a model to use instead of the model in the settings; likewise ``reader``, ``embedder``,
            ``recognizer``.
        stored_recognizer: returns the name of the recognizer with which the namespace was built; empty if there is
            none.
        journal: stores finished work of the language model; None stores nothing.
        progress: called during the conversion of a checkpoint.

    Attributes:
        stored_embedder: returns the name of the embedder that wrote the store; empty for a new store.
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
        self.stored_embedder: Callable[[], str] = str
        self._journal = journal
        self._progress = progress

    @property
    def language(self) -> CheckedModel:
        """The language model, joined with a reader if there is one. Weights load at their first use.

        The first reading looks for the model. It converts a packaged model or a ``.gguf`` file that is not in the
        cache.

        Raises:
            ModelNotFound: the language model or the reader is not installed.
            ModelError: the files of the model or its calibration cannot be used.
        """
        with self._opening:  # two threads must not load two models
            if self._language is None:
                self._language = CheckedModel(self._open_language())
            return self._language

    @cached_property
    def is_large_on_gpu(self) -> bool:
        """Whether the language model has at least 7 billion weights and runs on a GPU; False if this is not known.

        On a machine without a GPU, the model that the settings name is not looked for.
        """
        if self._given is None and not has_gpu(self._settings.device):
            return False
        try:
            if self._given is None and self._has_small_files():
                return False
            device = getattr(self.language, "device", None)
            operations = getattr(self.language, "operations", None)
            return str(device).startswith("cuda") and operations is not None and operations.of_token >= _LARGE
        except MemgraphRagError as error:  # the layers without a language model can be built all the same
            logger.debug("No language model was found, so its layers are not built by default: %s", error)
            return False

    def _has_small_files(self) -> bool:
        """Return whether the files are too small for a large model in 4 bits, so that transformers is not imported."""
        if self._is_elsewhere:
            return False
        if self._packaged is not None:
            return self._packaged[0].size < _LARGE_FILES
        weights = self._found_weights
        if weights is None or not Path(weights[1]).is_dir():
            return False
        return sum(path.stat().st_size for path in Path(weights[1]).iterdir()) < _LARGE_FILES

    @cached_property
    def find_phrases(self) -> FindPhrases | None:
        """A function that finds noun phrases in questions; None if no spaCy package is installed."""
        finder = noun_phrases.find_installed()
        return finder.find_phrases if finder else None

    @cached_property
    def turn_judge(self) -> TurnJudging:
        """The language model as judge of which turns of a chat say what a question asks; errors as for ``language``."""
        return TurnJudging(self.language)

    @property
    def embedder(self) -> CheckedEmbedder:
        """The embedding model of the caller, or else of the settings. Its vectors are checked."""
        return self._checked_embedder

    @cached_property
    def _checked_embedder(self) -> CheckedEmbedder:
        if self._embedder is not None:
            return CheckedEmbedder(self._embedder)
        return CheckedEmbedder(open_embedder(self._settings.embedder, self._settings, stored=self.stored_embedder()))

    @embedder.setter
    def embedder(self, embedder: CheckedEmbedder) -> None:
        """Use this embedding model from now on."""
        self._embedder, self._checked_embedder = embedder.unwrapped, embedder

    @property
    def recognizer(self) -> CheckedRecognizer:
        """The recognizer, which finds names in documents and questions.

        Raises:
            SettingsError: it is not the recognizer with which the namespace was built.
            ModelNotFound: the recognizer with which the namespace was built is not installed.
        """
        return self._checked_recognizer

    @cached_property
    def _checked_recognizer(self) -> CheckedRecognizer:
        stored, given = self._stored_recognizer(), self._recognizer
        if given is None:
            return CheckedRecognizer(find_recognizer(self._settings.recognizer, stored=stored))
        if stored and given.name != stored:
            raise SettingsError(
                f"Expected the recognizer that found the entities of this namespace, {stored}, got {given.name}. "
                f"Use {stored}, or another namespace.",
                setting="recognizer",
            )
        return CheckedRecognizer(given)

    def __reduce__(self) -> tuple[Callable[[], FoundModels], tuple[()], dict[str, Any]]:
        stored = self._checked_recognizer.name if "_checked_recognizer" in vars(self) else self._stored_recognizer()
        again = partial(
            FoundModels,
            drop_database(self._settings),
            language=self._given,
            reader=self._reader,
            embedder=self._embedder,
            recognizer=self._recognizer,
            stored_recognizer=partial(str, stored),
            journal=self._journal,
        )
        return again, (), {"stored_embedder": partial(str, self.embedder.name)}

    def settle(self) -> None:
        """Delete the results that the journal stored or returned since the last call: the graph holds that work now."""
        if self._journal is not None:
            self._journal.settle()

    def token_counter(self, *, needs_language: bool) -> TokenCounter:
        """Return the function that counts the tokens of texts, by which documents are cut into segments.

        It is the counter of the reader, which counts exactly, if a reader is joined with the language model; else the
        counter of the language model. If the wanted model is not installed, it is the counter of the embedder. The
        model is looked for now, and a ``.gguf`` file is converted now. Its tokenizer opens at the first count. The
        weights of a packaged model are not unpacked.

        Raises:
            ModelNotFound: ``needs_language`` is True, and the language model or the wanted reader is not installed.
        """
        if isinstance(self._given, SharedModel):
            return self._given.found.token_counter(needs_language=needs_language)
        try:
            _ = self._packaged or self._found_weights
        except ModelNotFound:
            if needs_language:
                raise
            return self.embedder.count_tokens
        return lambda texts: self._count_tokens(texts)

    @cached_property
    def _count_tokens(self) -> TokenCounter:
        """The token counter.

        It does not open a packaged model or a model in the cache, so that transformers is not imported.
        """
        from memgraph_rag.models.files.token_counter import open_token_counter, read_packaged_tokenizer

        cache = self._settings.cache_dir
        if self._packaged is not None:
            file = cache / "tokenizers" / f"{self._packaged[0].key}.json"
            return open_token_counter(file, partial(read_packaged_tokenizer, *self._packaged))
        weights = self._found_weights
        if weights is None or not Path(weights[1]).is_relative_to(cache):
            return self.language.count_tokens
        folder = Path(weights[1])

        def read_tokenizer() -> str:
            from memgraph_rag.models.engine.tokens import Tokens

            return Tokens(folder).to_json()

        return open_token_counter(folder / "counting_tokenizer.json", read_tokenizer)

    @property
    def _is_elsewhere(self) -> bool:
        """Whether the language model was given or is on a server, so that a reader may be joined with it."""
        return self._given is not None or is_address(self._settings.model)

    @property
    def _wanted_weights(self) -> str | None:
        """The setting that names the weights that this process loads, of the language model or the reader.

        It is None if this process loads no weights.
        """
        wanted = self._settings.reader if self._is_elsewhere else self._settings.model
        if self._is_elsewhere and (self._reader is not None or wanted == "none"):
            return None
        if wanted == "auto" and hasattr(self._given, "read_written"):  # this model measures attention itself
            return None
        return wanted

    @cached_property
    def _packaged(self) -> tuple[catalogue.PackagedModel, Path] | None:
        """The packaged model whose weights this process loads, and its first part; None if it is not installed."""
        wanted = self._wanted_weights
        model = catalogue.find_packaged(wanted, smallest=self._is_elsewhere) if wanted else None
        parts = model.part_paths() if model else None
        return (model, parts[0]) if model and parts else None

    @cached_property
    def _found_weights(self) -> tuple[str, str] | None:
        """The name and folder of the weights that this process loads; None if it loads none. They are unpacked."""
        wanted = self._wanted_weights
        if wanted is None:
            return None
        find = catalogue.find_reader if self._is_elsewhere else catalogue.find_language_model
        return find(wanted, cache_dir=self._settings.cache_dir, progress=self._progress)

    def _open_language(self) -> LanguageModel:
        weights = self._found_weights  # before imports that take seconds
        if not self._is_elsewhere:
            assert weights is not None
            return self._open_weights(*weights)
        if isinstance(self._given, SharedModel):
            return self._given.unwrapped
        pen = self._given or open_endpoint_model(self._settings, self._journal)
        eye = CheckedModel(self._reader) if self._reader else self._open_weights(*weights) if weights else None
        if eye is None:
            return pen
        return endpoints.PenAndEye(CheckedModel(pen), eye)

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
            turn_calibration=catalogue.find_turn_calibration(name, folder, choice=settings.calibration),
            journal=self._journal,
        )


def drop_database(settings: Settings) -> Settings:
    """Return settings for a process that loads models but opens no database: without its address and password."""
    return settings.model_copy(update={"store": ":memory:", "neo4j": Neo4j()})


def open_endpoint(address: str, settings: Settings) -> endpoints.Endpoint:
    """Return a client for the model at an address. This sends nothing. OpenAI's key goes only to OpenAI.

    Raises:
        SettingsError: the address is invalid.
        ModelNotFound: the package ``openai`` is not installed.
        ModelAccessDenied: the server is OpenAI's, and there is no key.
    """
    place = parse_address(address)
    key = settings.endpoint.openai_key if place.is_openai else settings.endpoint.key
    return endpoints.Endpoint(
        place,
        key=key.get_secret_value if isinstance(key, SecretStr) else key,
        requests=settings.endpoint.requests,
        seconds=settings.endpoint.seconds,
        body=settings.endpoint.body,
    )


def open_endpoint_model(settings: Settings, journal: Journal | None = None) -> endpoints.EndpointModel:
    """Return the language model at the address in the settings. This sends nothing.

    Args:
        journal: stores finished work of the model; None stores nothing.

    Raises:
        SettingsError, ModelNotFound, ModelAccessDenied: as ``open_endpoint``.
        ModelError: the calibration of the model cannot be used.
    """
    endpoint = open_endpoint(settings.model, settings)
    # With a reader, a calibration file in the settings belongs to the reader; this model gets its usual one.
    choice = settings.calibration if settings.reader == "none" or settings.calibration == "none" else "auto"
    found = catalogue.find_yes_calibration(endpoint.address, cache_dir=settings.cache_dir, choice=choice)
    return endpoints.EndpointModel(
        endpoint,
        window=settings.window,
        requests=settings.endpoint.requests,
        calibration=found[0] if found else None,
        journal=journal,
    )


class SharedModel(ForwardingModel):
    """The language model of settings, joined with its reader if any, for memories of several namespaces.

    It is found at its first use; then errors are those of ``FoundModels.language``. It has no journal, because the
    journal of one namespace would keep text that another namespace deletes. Its results are not checked: the memory
    checks them.
    """

    def __init__(self, settings: Settings) -> None:
        self.found = FoundModels(settings, stored_recognizer=str, journal=None)

    @property
    def unwrapped(self) -> LanguageModel:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The language model itself, without the checks of its results."""
        return self.found.language.unwrapped


def open_embedder(wanted: str, settings: Settings, *, stored: str = "") -> Embedder:
    """Return the embedder with a name, in a folder, or at an address. This loads no weights and sends nothing.

    Its vectors are not checked. A hub's name is not looked up before the first use. An embedder with prompts for
    questions and passages has "+prompts" in its name, because its vectors differ from those without.

    Args:
        stored: the name of the embedder that wrote the store; empty for a new store. "auto" then takes that embedder
            if it is packaged. An embedder that wrote the store before this library knew prompts goes on without.

    Raises:
        ModelNotFound: there is no such embedder, or the package ``openai`` for an address is not installed.
        ModelError: the packaged weights cannot be unpacked.
        SettingsError, ModelAccessDenied: as ``open_endpoint``.
    """
    if is_address(wanted):
        endpoint = open_endpoint(wanted, settings)
        name, prompts = _choose_prompts(endpoint.address.model, "", stored)
        return embedders.EndpointEmbedder(
            endpoint, requests=settings.endpoint.requests, name=name, prompts=prompts, cache_dir=settings.cache_dir
        )
    name, folder = catalogue.find_embedder(wanted, cache_dir=settings.cache_dir, stored=stored)
    if name in catalogue.PACKAGED_EMBEDDERS:
        prompts = find_prompts(name, folder)
    else:
        name, prompts = _choose_prompts(name, folder if Path(folder).is_dir() else "", stored)
    return embedders.SentenceEmbedder(
        folder, name=name, device=settings.device, dtype=settings.dtype, prompts=prompts, cache_dir=settings.cache_dir
    )


def _choose_prompts(name: str, folder: str, stored: str) -> tuple[str, Prompts]:
    """Return the (name in the store, prompts) of an embedder; without prompts if a store has its vectors without."""
    prompts = find_prompts(name, folder)
    if not prompts:
        return name, prompts
    if stored == name:
        logger.warning(
            "This store was written by %s without its prompts for questions and passages, so questions find less: "
            "memgraph-rag reembed --embedder %s", name, folder or name,
        )  # fmt: skip
        return name, NO_PROMPTS
    return f"{name}{_WITH_PROMPTS}", prompts
