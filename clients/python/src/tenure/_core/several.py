"""What users pass where there may be several."""

from __future__ import annotations

from collections.abc import Iterable


def texts(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Returns several texts. Raises TypeError for one text, which would be taken apart into its characters."""
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is several str, as in [{values!r}], not one {type(values).__name__}")
    return tuple(values)


def pair(ends: tuple[str, str] | None) -> tuple[str, str] | None:
    """Returns the ends of a key_range. Raises TypeError for what is not a pair."""
    if ends is None:
        return None
    found = texts("key_range", ends)
    if len(found) != 2:
        raise TypeError(f"key_range is a first key and an end, not {ends!r}")
    return found[0], found[1]
