"""A look at whether a member that owes answers is alive at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

# How long nothing may come from a member that owes answers before it is asked for a sign of life.
LOOK_SECONDS = 0.25
# How long that may take.
PROOF_SECONDS = 0.75
# How long a member that gave one is not asked again.
REST_SECONDS = 1.0


class Vigil:
    """Finds out that a member has fallen silent, long before the time of its calls ends.

    A member that was stopped or cut off answers nothing; one that is merely slow still gives signs of life. It begins
    with the first answer: until then the member may be far away.
    """

    def __init__(self, ping: Callable[[float], Awaitable[bool | None]], silent: Callable[[], None]) -> None:
        # Asks for a sign of life within so many seconds, and tells whether there was one; None if that is not known.
        self._ping = ping
        self._silent = silent  # Told once, when there was none.
        self._owed = 0
        self._heard = 0
        self._over = False
        self._timer: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None

    def owe(self) -> None:
        """Notes that an answer is being waited for, until settle."""
        self._owed += 1
        if self._heard and self._timer is None and self._asking is None and not self._over:
            self._look_in(LOOK_SECONDS)

    def settle(self) -> None:
        """Ends what owe began."""
        self._owed -= 1

    def heard(self) -> None:
        """Notes that something came from the member."""
        self._heard += 1

    def stop(self) -> None:
        """Looks no more."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._asking is not None:
            self._asking.cancel()

    async def stopped(self) -> None:
        """Waits until no request for a sign of life is under way."""
        if self._asking is not None and self._asking is not asyncio.current_task():
            await asyncio.wait({self._asking})

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look, self._heard)

    def _look(self, heard: int) -> None:
        """Doubts that the member is alive if it owes answers, and nothing has come since."""
        self._timer = None
        if not self._owed:
            return  # The next that it owes begins it again.
        if self._heard != heard:
            self._look_in(LOOK_SECONDS)
            return
        self._asking = asyncio.ensure_future(self._ask())

    async def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        heard, began = self._heard, loop.time()
        answer = await self._ping(PROOF_SECONDS)
        alive = answer or self._heard != heard
        self._asking = None
        if self._over:
            return
        stalled = loop.time() - began > PROOF_SECONDS + LOOK_SECONDS  # This process stood still: answers may be unread.
        if alive or stalled:
            self._look_in(REST_SECONDS)
        elif answer is None:
            self._look_in(LOOK_SECONDS)
        else:
            self._silent()
