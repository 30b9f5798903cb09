"""Which member to connect to next, and when to move to another.

The first choice is random, then it goes round. When the list changes, clients move with such probability that every
member ends with an even share (ZooKeeper's rule, ZOOKEEPER-1355): when it grows from S to S', a client moves with
probability 1 - S/S', to new members only; when its member is gone, it moves to new and old ones in the proportion that
evens them out; when its member stays in a list that does not grow, it stays.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence


class MemberList:
    """The members that a client knows, and where it is among them."""

    def __init__(self, addresses: Sequence[str], rng: random.Random) -> None:
        if not addresses:
            raise ValueError("no member is known")
        self._rng = rng
        self._order = list(dict.fromkeys(addresses))
        rng.shuffle(self._order)
        self._at = 0
        # The special mode after a change of the list: members still to try, and how likely a new one is next.
        self._new: list[str] = []
        self._old: list[str] = []
        self._p_new = 0.0

    @property
    def addresses(self) -> tuple[str, ...]:
        """All members, in the order of this client's round."""
        return tuple(self._order)

    def next(self) -> str:
        """Returns the member to try next."""
        if self._new or self._old:
            first, second = (self._new, self._old) if self._rng.random() < self._p_new else (self._old, self._new)
            return (first or second).pop()
        address = self._order[self._at % len(self._order)]
        self._at = (self._at + 1) % len(self._order)
        return address

    def connected(self, address: str) -> None:
        """Notes a success: the special mode ends, and the round goes on after this member."""
        self._new, self._old = [], []
        if address in self._order:
            self._at = (self._order.index(address) + 1) % len(self._order)

    def update(self, addresses: Iterable[str], current: str | None) -> bool:
        """Takes the list that the cluster has now. Returns whether the client should leave its current member."""
        new = list(dict.fromkeys(addresses))
        if not new or set(new) == set(self._order):
            return False
        before = set(self._order)
        kept = [a for a in new if a in before]
        added = [a for a in new if a not in before]
        move, p_new = self._decide(len(before), len(new), len(kept), current in new)
        self._rng.shuffle(new)
        self._order, self._at = new, 0
        if current is None:
            return False
        if move:
            self._rng.shuffle(kept)
            self._rng.shuffle(added)
            self._new, self._old, self._p_new = added, [a for a in kept if a != current], p_new
        elif current in new:
            self._at = (new.index(current) + 1) % len(new)
        return move

    def _decide(self, size: int, size_new: int, kept: int, current_stays: bool) -> tuple[bool, float]:
        """Returns whether to move, and with which probability to a new member first."""
        if size_new > size:
            return (not current_stays or self._rng.random() < 1 - size / size_new), 1.0
        if current_stays:
            return False, 0.0
        p_old = kept * (size - size_new) / (size_new * (size - kept))
        return True, 1 - p_old
