"""The names of this room that other rooms import at their first use, and the modules that define them."""

from .embedder import SentenceEmbedder as SentenceEmbedder
from .endpoint_embedder import EndpointEmbedder as EndpointEmbedder
