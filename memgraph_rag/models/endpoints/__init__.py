"""Language models on a server: any server that speaks OpenAI's protocol.

Open ``model.py`` (write) and ``session.py`` (read) first; ``client.py`` sends the requests. ``pen_and_eye`` joins a
server that writes with a local model that measures attention. This room loads no weights.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
