"""The names of this room that other rooms import at their first use, and the modules that define them."""

from .build_pool import LocalPool as LocalPool
from .given_answers import GivenAnswers as GivenAnswers
from .graph_building import GraphBuilder as GraphBuilder
from .ingest import Ingestion as Ingestion
from .layer_choice import DEFAULT_LAYERS as DEFAULT_LAYERS
from .layer_choice import FULL_LAYERS as FULL_LAYERS
from .layer_choice import choose_layers as choose_layers
from .layer_choice import list_known_layers as list_known_layers
from .memory_layers import choose_memory_layers as choose_memory_layers
from .memory_layers import count_uncovered_documents as count_uncovered_documents
from .memory_layers import list_known_memory_layers as list_known_memory_layers
from .memory_layers import split_layers as split_layers
from .ray_pool import RayPool as RayPool
from .segmenting import CutSegments as CutSegments
from .segmenting import cut_segments as cut_segments
from .sources import Request as Request
