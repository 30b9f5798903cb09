"""Recipes on keys: barrier, double barrier, presence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from typing_extensions import Self

from tenure import aio, errors
from tenure.sync._portal import Portal


class Barrier:
    """While its key exists, whoever waits is held up."""

    def __init__(self, portal: Portal, barrier: aio.Barrier) -> None:
        self._portal = portal
        self._aio = barrier
        self.key = barrier.key

    def set(self) -> bool:
        """Closes the barrier. Returns whether it was open."""
        return self._portal.run(self._aio.set())

    def remove(self) -> bool:
        """Opens the barrier. Returns whether it was closed."""
        return self._portal.run(self._aio.remove())

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the barrier is open. Raises WaitTimeout, or ClientClosed when the client is closed meanwhile."""
        self._portal.run(self._aio.wait(timeout))


class DoubleBarrier:
    """Participants begin together, when `count` have entered, and end together, when all have left."""

    def __init__(self, portal: Portal, barrier: aio.DoubleBarrier) -> None:
        self._portal = portal
        self._aio = barrier
        self.key = barrier.key

    def enter(self, timeout: float | None = None) -> None:
        """Enters and waits for the others. Raises WaitTimeout; then this one has not entered."""
        self._portal.run(self._aio.enter(timeout))

    def leave(self, timeout: float | None = None) -> None:
        """Leaves and waits for the others. Raises WaitTimeout; then this one has left all the same."""
        self._portal.run(self._aio.leave(timeout))

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._portal._guard.forked:
            self.leave()


class Membership:
    """Being present in a group, until it is left or the session ends."""

    def __init__(self, portal: Portal, membership: aio.Membership) -> None:
        self._portal = portal
        self._aio = membership
        self.name = membership.name

    def update(self, value: bytes | str) -> None:
        """Changes the member's value."""
        self._portal.run(self._aio.update(value))

    def leave(self) -> bool:
        """Leaves the group. Returns whether it was in it until now."""
        return False if self._portal.closed else self._portal.run(self._aio.leave())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class Presence:
    """A group of members that are alive."""

    def __init__(self, portal: Portal, presence: aio.Presence) -> None:
        self._portal = portal
        self._aio = presence
        self.group = presence.group

    def join(self, name: str | None = None, value: bytes | str = b"") -> Membership:
        """Becomes a member; the name is the session's id unless one is given."""
        return Membership(self._portal, self._portal.run(self._aio.join(name, value)))

    def members(self) -> dict[str, bytes]:
        """Returns the members with their values."""
        return self._portal.run(self._aio.members())

    def watch(self) -> Iterator[dict[str, bytes]]:
        """Gives the members now, and again after every change."""
        states = self._aio.watch()

        async def following() -> dict[str, bytes] | None:
            async for state in states:
                return state
            return None

        began = False
        try:
            while (state := self._portal.run(following())) is not None:
                began = True
                yield state
        except errors.ClientClosed:
            if not began:
                raise
        finally:
            if not self._portal.closed:
                with contextlib.suppress(RuntimeError, errors.ClientClosed):
                    self._portal.run(states.aclose())
