"""Functions that the library runs: while a session leads, or when a key changes."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from tenure import errors
from tenure._core.backoff import Backoff
from tenure.aio._election import Election, Leadership, lead
from tenure.aio._wait import stop
from tenure.types import EventType, KeyValue

if TYPE_CHECKING:
    from tenure.aio._client import Client
    from tenure.aio._session import Session

log = logging.getLogger("tenure")

# Between two leaderships of a function that returns or fails at once.
AGAIN_SECONDS = 0.1

# After these, standing again is in vain.
_FINAL = (errors.ClientClosed, errors.InvalidArgument, errors.PermissionDenied, errors.Unauthenticated)


class _Run:
    """A task that is closed with its client."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        client._start()
        client._closers[id(self)] = self.close
        self._task = client._spawn(self._run(), name)

    async def _run(self) -> None:
        raise NotImplementedError

    async def wait(self) -> None:
        """Waits until it has ended. Raises what ended it."""
        await asyncio.shield(self._task)

    async def close(self) -> None:
        """Ends it and waits."""
        self._client._closers.pop(id(self), None)
        if self._task is not asyncio.current_task():
            await stop(self._task)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class ElectionRun(_Run):
    """Stands in an election and runs a function while the session leads, again and again.

    close cancels the function and then gives leadership up; with resign_first the other way round, for a function that
    cannot be cancelled and waits for the loss.
    """

    def __init__(
        self,
        session: Session,
        key: str,
        value: bytes | str,
        function: Callable[[Leadership], Any],
        *,
        resign_first: bool = False,
    ) -> None:
        self._session = session
        self._key = key
        self._value = value
        self._function = function
        self._resign_first = resign_first
        self._closing = False
        self.leadership: Leadership | None = None
        super().__init__(session._client, f"election-{key}")

    async def close(self) -> None:
        """Ends it and waits: for the function, too."""
        self._closing = True
        if self._resign_first and self.leadership is not None:
            await self.leadership.release()
        await super().close()

    async def _run(self) -> None:
        election = Election(self._session, self._key)
        backoff = Backoff(self._client._rng)
        while not self._closing:
            try:
                leadership = await election.campaign(self._value)
            except errors.SessionClosed:
                return
            except errors.TenureError as error:
                if isinstance(error, _FINAL):
                    raise
                log.warning("standing for %r again: %s", self._key, error)
                await asyncio.sleep(backoff.next(AGAIN_SECONDS))
                continue
            backoff.reset()
            self.leadership = leadership
            try:
                await lead(leadership, self._function)
            except errors.HoldLost as error:
                log.info("%s", error)
            except Exception:
                log.exception("what ran as leader of %r failed", self._key)
            finally:
                self.leadership = None
                if not leadership.ended:
                    await leadership.release()
            await asyncio.sleep(AGAIN_SECONDS)


class KeyWatch(_Run):
    """Calls a function with a key's value, now and whenever it changes, until it returns False."""

    def __init__(self, client: Client, key: str, function: Callable[[KeyValue | None], Any]) -> None:
        self._key = key
        self._function = function
        super().__init__(client, f"on-key-{key}")

    async def _tell(self, kv: KeyValue | None) -> bool:
        try:
            result = self._function(kv)
            if inspect.isawaitable(result):
                result = await result
        except Exception:
            log.exception("what watches %r failed", self._key)
            return True
        return result is not False

    async def _run(self) -> None:
        watch = self._client.watch(key=self._key, initial=True, restart=True, holder_changes=False)
        watch.patient = True
        present: KeyValue | None = None
        told: KeyValue | None = None
        first = True
        async with watch:
            async for event in watch:
                if event.type is EventType.RESET:
                    present = None
                elif event.type is EventType.PRESENT:
                    present = event.kv
                elif event.type is EventType.SYNCED:
                    if first or present != told:
                        first, told = False, present
                        if not await self._tell(present):
                            return
                elif event.type in (EventType.PUT, EventType.DELETED):
                    told = event.kv if event.type is EventType.PUT else None
                    if not await self._tell(told):
                        return
