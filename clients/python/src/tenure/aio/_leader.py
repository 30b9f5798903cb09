"""The way to the leader, for changes.

Any member takes a change; one that does not lead passes it on. While another member than the client's own leads,
changes go straight to it, over a connection of their own. No call waits for that connection: it is made in the
background when there is something to send, and until it is there, or when it broke, the own member takes changes.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tenure import errors
from tenure.aio._wait import until_set

if TYPE_CHECKING:
    from tenure.aio._connection import Connection
    from tenure.aio._link import Link

log = logging.getLogger("tenure")

# How long the connection may be unused before it is closed.
IDLE_SECONDS = 30.0
# How often it is looked at: whether calls on it get answers.
LOOK_SECONDS = 0.25
# The pause after it broke, or could not be made. It doubles until a call on it was answered.
PAUSE_SECONDS_MIN = 1.0
PAUSE_SECONDS_MAX = 60.0


class Leading:
    """Who leads, as the client's own member says, and the connection to that member."""

    def __init__(self, client: Connection) -> None:
        self._client = client
        self._address = ""  # The leader's; empty when it is not known, or is the client's own member.
        self._link: Link | None = None
        self._used = False  # Since the last look.
        self._running = False  # Whether a task makes the connection, keeps it, or pauses.
        self._pause = PAUSE_SECONDS_MIN
        self._news = asyncio.Event()  # Set when another member leads, or the connection broke.
        self.doubted = asyncio.Event()  # Set when the own member should be asked who leads.

    def learn(self, address: str) -> None:
        """Notes who leads."""
        if address != self._address:
            self._address = address
            self._news.set()

    def take(self) -> Link | None:
        """Returns a connection to the leader, for a change; None if there is none now, or none is needed."""
        link = self._link
        if not self._address:
            return None
        if link is None:
            if not self._running and not self._client._closing:
                self._running = True
                self._client._tasks.spawn(self._run(self._address), "leader")
            return None
        if link.broken or link.address != self._address:
            return None
        self._used = True
        return link

    async def _run(self, address: str) -> None:
        """Connects to the leader and stays as long as there are changes. If that fails, pauses."""
        try:
            if not await self._keep(address):
                self.doubted.set()  # Perhaps another one leads.
                await self._rest(address)
        finally:
            self._running = False

    async def _keep(self, address: str) -> bool:
        """Returns whether the connection was made, and did not break."""
        try:
            link, _ = await self._client._reach(address, self._client._connect_seconds(0))
        except errors.TenureError as error:
            log.debug("no connection to the leader, %s: %s", address, error)
            return False
        link.direct = True
        link.gone.add_done_callback(lambda _: self._news.set())
        self._link = link
        try:
            return await self._stay(link)
        finally:
            self._link = None
            if link.answers:
                self._pause = PAUSE_SECONDS_MIN
            await link.close()

    async def _stay(self, link: Link) -> bool:
        """Uses a connection until it is not needed, or another member leads. Returns False if it broke."""
        loop = asyncio.get_running_loop()
        answers, used_at = link.answers, loop.time()
        while not link.broken:
            self._news.clear()
            if self._address != link.address:
                await self._leave(link)
                return True
            await until_set(self._news, LOOK_SECONDS)
            if link.under_way and link.answers == answers:
                self.doubted.set()  # It may have fallen silent.
            answers = link.answers
            if self._used or link.under_way:
                self._used, used_at = False, loop.time()
            elif loop.time() - used_at >= IDLE_SECONDS:
                return True
        return False

    async def _leave(self, link: Link) -> None:
        """Lets what is under way on a connection end, as long as there are answers: who leads no more may give none."""
        self._link = None
        while link.under_way and not link.broken:
            answers = link.answers
            await asyncio.wait({link.gone}, timeout=LOOK_SECONDS)
            if link.answers == answers:
                return

    async def _rest(self, address: str) -> None:
        """Waits until a pause is over, or another member leads."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._pause
        self._pause = min(2 * self._pause, PAUSE_SECONDS_MAX)
        while self._address == address and (left := end - loop.time()) > 0:
            self._news.clear()
            await until_set(self._news, left)
