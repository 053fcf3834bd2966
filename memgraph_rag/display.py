"""Values as messages show them: short, and printable in a terminal.

The module imports nothing of this library. Invariant: for any value, even one whose ``repr`` raises, ``show`` returns
at most ``MOST_CHARACTERS`` characters, and a terminal can print each of them.
"""

from __future__ import annotations

from reprlib import Repr

MOST_CHARACTERS = 200
"""The most characters of a shown value. Of a longer value, the beginning and the end are shown."""

_MARK = "\N{REPLACEMENT CHARACTER}"
_MOST_BITS = 256  # a larger int is described by its size: Python refuses to write out a huge one


class _BoundedRepr(Repr):
    """The standard library's bounded ``repr``, which also survives an object whose ``repr`` raises."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = MOST_CHARACTERS

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002 - as the library calls it
        return repr(x) if x.bit_length() <= _MOST_BITS else f"an int of {x.bit_length():,} bits"

    def repr_bytes(self, x: bytes | bytearray, level: int) -> str:  # noqa: ARG002
        return repr(x[: self.maxstring])  # a copy of the beginning: the whole may be large

    repr_bytearray = repr_bytes

    def repr_PosixPath(self, x: object, level: int) -> str:  # noqa: N802
        return self.repr_str(str(x), level)

    repr_WindowsPath = repr_PosixPath  # noqa: N815


_REPR = _BoundedRepr()


def show(value: object) -> str:
    r"""Return the value in short, for a message: its ``repr``, shortened.

    A path is shown as its str in quotes, an error by its message. Of a long value, the beginning and the end are shown,
    of a large collection the first items. Unprintable characters become escapes or marks.

    >>> show("a\x1b[31m"), show([10**5000]), len(show("x" * 1_000_000))
    ("'a\\x1b[31m'", '[an int of 16,610 bits]', 200)
    """
    try:
        text = str(value) if isinstance(value, BaseException) else _REPR.repr(value)
    except Exception:  # noqa: BLE001 - the methods of the object may raise anything
        text = f"<an object of {type(value).__name__}>"
    if len(text) > MOST_CHARACTERS:
        half = MOST_CHARACTERS // 2 - 1
        text = f"{text[:half]}…{text[-half:]}"
    return "".join(character if character.isprintable() else _MARK for character in text)
