"""What ``Memory`` does, an operation a module: adding, answering, looking, repairing, archiving.

An operation receives its store, its models and its layers as arguments; ``memory`` puts them together.
"""
