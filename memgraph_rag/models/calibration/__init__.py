"""Calibration of a language model: which heads rank nodes well, and above which P(Yes) an answer is likely.

Open ``calibration.py`` first: it reads a calibration. ``calibrate``, ``fit`` and ``labelled_questions`` make a
calibration for another model (``memgraph-rag calibrate``). Reading a calibration never runs a model.
"""
