"""Recipes on keys: barrier, double barrier, presence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from typing_extensions import Self

from tenure import aio, errors
from tenure.sync._portal import Portal


class Barrier:
    """A barrier. While its key exists, it is closed, and `wait` waits."""

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
        """Waits until the barrier is open. Raises WaitTimeout after `timeout` seconds, or ClientClosed."""
        self._portal.run(self._aio.wait(timeout))


class DoubleBarrier:
    """Participants start together, when `count` have entered, and end together, when all have left."""

    def __init__(self, portal: Portal, barrier: aio.DoubleBarrier) -> None:
        self._portal = portal
        self._aio = barrier
        self.key = barrier.key

    def enter(self, timeout: float | None = None) -> None:
        """Enters, and waits until `count` have entered.

        Raises WaitTimeout after `timeout` seconds; then it has not entered.

        Like `leave`, it also ends with the session or the client: with SessionClosed or ClientClosed.
        """
        self._portal.run(self._aio.enter(timeout))

    def leave(self, timeout: float | None = None) -> None:
        """Leaves, and waits until all have left. Raises WaitTimeout after `timeout` seconds; it has left even then."""
        self._portal.run(self._aio.leave(timeout))

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._portal._guard.forked:
            self.leave()


class Membership:
    """A membership in a group, which ends with `leave` or with the session."""

    def __init__(self, portal: Portal, membership: aio.Membership) -> None:
        self._portal = portal
        self._aio = membership
        self.name = membership.name

    def update(self, value: bytes | str) -> None:
        """Changes the member's value."""
        self._portal.run(self._aio.update(value))

    def leave(self) -> bool:
        """Leaves the group.

        Returns whether it was a member until now. A member that has taken the same name since remains.
        """
        return False if self._portal.closed else self._portal.run(self._aio.leave())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class Presence:
    """A group, whose members are those whose sessions live."""

    def __init__(self, portal: Portal, presence: aio.Presence) -> None:
        self._portal = portal
        self._aio = presence
        self.group = presence.group

    def join(self, name: str | None = None, value: bytes | str = b"") -> Membership:
        """Joins the group, with a value. The name is the session's id unless one is given.

        Raises ValueError for a group of `client.presence`, which has no session.
        """
        return Membership(self._portal, self._portal.run(self._aio.join(name, value)))

    def members(self) -> dict[str, bytes]:
        """Returns the values of the members, by name."""
        return self._portal.run(self._aio.members())

    def watch(self) -> Iterator[dict[str, bytes]]:
        """Yields the values of the members by name: now, and after each change."""
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
