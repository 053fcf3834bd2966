"""Language models behind an address: any server that speaks OpenAI's protocol.

Open ``model.py`` first (write) and ``session.py`` (read); ``client.py`` sends the requests. ``pen_and_eye`` joins a
server that writes with a local model that measures attention. This room never loads weights.
"""
