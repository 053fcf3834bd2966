"""The public names of the package, and the modules that define them."""

from .asynchronous import AsyncMemory as AsyncMemory
from .errors import ClusterError as ClusterError
from .errors import DocumentError as DocumentError
from .errors import LayerError as LayerError
from .errors import MemgraphRagError as MemgraphRagError
from .errors import ModelError as ModelError
from .errors import QuestionError as QuestionError
from .errors import SearchMemoryExceeded as SearchMemoryExceeded
from .errors import SettingsError as SettingsError
from .errors import StoreError as StoreError
from .errors import StrategyError as StrategyError
from .memory import Memory as Memory
from .scoped import ScopedMemory as ScopedMemory
from .session import Session as Session
from .session import Stored as Stored
from .settings import Settings as Settings
from .types import Action as Action
from .types import Answer as Answer
from .types import AnswerWarning as AnswerWarning
from .types import Citation as Citation
from .types import Document as Document
from .types import DocumentRecord as DocumentRecord
from .types import Entity as Entity
from .types import Evidence as Evidence
from .types import Failure as Failure
from .types import InformationPoint as InformationPoint
from .types import Limits as Limits
from .types import Message as Message
from .types import Question as Question
from .types import Receipt as Receipt
from .types import Scope as Scope
from .types import Segment as Segment
from .types import Standing as Standing
from .types import Step as Step
from .types import StopReason as StopReason
from .types import Tool as Tool

__version__: str
