"""Calibration of a language model: which heads rank nodes, and when a Yes may be trusted.

Open ``calibration.py`` first: it reads what was measured. ``calibrate``, ``fit`` and ``labelled_questions`` measure it
anew for another model (``memgraph-rag calibrate``).
"""
