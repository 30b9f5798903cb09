"""What `with` entered, and who leaves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Who = TypeVar("Who")
What = TypeVar("What")


class Entered(Generic[Who, What]):
    """What tasks or threads have entered and not left yet, each what it entered last first."""

    def __init__(self, ended: Callable[[Who], bool]) -> None:
        self._ended = ended
        self._by: dict[Who, list[What]] = {}  # Whoever entered last comes last.

    def __len__(self) -> int:
        return sum(len(entered) for entered in self._by.values())

    def enter(self, who: Who, what: What) -> None:
        """Notes that somebody has entered something."""
        self._by[who] = [*self._by.pop(who, ()), what]

    def leave(self, who: Who) -> What:
        """Returns what somebody leaves.

        Who did not enter leaves for one who has ended, or what alone was entered. Raises RuntimeError when neither is
        there: another one may still be inside.
        """
        entered = self._by.get(who) or self._for_another()
        what = entered.pop()
        self._by = {who: left for who, left in self._by.items() if left}
        return what

    def _for_another(self) -> list[What]:
        ended = [entered for who, entered in self._by.items() if self._ended(who)]
        if ended:
            return ended[-1]
        if len(self) == 1:
            return next(iter(self._by.values()))
        inside = f"{len(self)} others are inside" if self._by else "no caller is inside"
        raise RuntimeError(f"a lock is left by a caller that did not enter it, and {inside}; use acquire and release")
