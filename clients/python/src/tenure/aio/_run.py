"""Functions that the library runs: while a session leads, or when a key changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from tenure import errors
from tenure._core.backoff import Backoff
from tenure.aio._election import Election, Leadership, lead, owners
from tenure.aio._function import FunctionCall, ended_from_inside
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
        self._closing = False
        client._start()
        client._closers[id(self)] = self.close
        self._task = client._tasks.spawn(self._run(), name)
        self._task.add_done_callback(lambda _: client._closers.pop(id(self), None))

    async def _run(self) -> None:
        raise NotImplementedError

    async def wait(self) -> None:
        """Waits until it has ended. Raises the error that ended it, unless that was close or the end of its session."""
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.result()

    async def close(self) -> None:
        """Ends it, and waits until the function has ended. If the function itself calls it, it does not wait."""
        self._closing = True
        if not ended_from_inside(self):
            await stop(self._task)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class ElectionRun(_Run):
    """Runs a function each time a session becomes the leader. `@session.elect(key)` returns one.

    `close` cancels the function and then gives up leadership; with `resign_first` in the reverse order, for a function
    that cannot be cancelled and waits for the loss.
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
        self.leadership: Leadership | None = None
        super().__init__(session._client, f"election-{key}")

    @property
    def leading(self) -> bool:
        """Whether the session leads at this moment."""
        return self.leadership is not None and self.leadership.safe

    async def close(self) -> None:
        """Gives up leadership and ends the campaign. Waits until the function has ended.

        If the function itself calls it, it gives up leadership and does not wait, and the function continues.
        """
        self._closing = True
        if (ended_from_inside(self) or self._resign_first) and self.leadership is not None:
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
                await self._lead(leadership)
            finally:
                self.leadership = None
            await asyncio.sleep(AGAIN_SECONDS)

    async def _lead(self, leadership: Leadership) -> None:
        """Runs the function, and gives leadership up. However that fails, standing again is right."""
        call = FunctionCall(self, *owners(leadership), waits=asyncio.current_task())
        try:
            _log_failure(await lead(leadership, self._function, call), f"what ran as leader of {self._key!r}")
        except errors.HoldLost as error:
            log.info("%s", error)
        finally:
            if not leadership.ended:
                try:
                    await leadership.release()
                    leadership._check_not_lost()
                except errors.HoldLost as error:
                    log.info("%s", error)
                except errors.TenureError as error:
                    log.warning("leadership of %r was not given up: %s", self._key, error)


class KeyWatch(_Run):
    """Calls a function with a key's KeyValue now and at each change, until it returns False."""

    def __init__(self, client: Client, key: str, function: Callable[[KeyValue | None], Any]) -> None:
        self._key = key
        self._function = function
        super().__init__(client, f"on-key-{key}")

    async def _tell(self, kv: KeyValue | None) -> bool:
        """Calls the function. Returns whether to go on."""
        call = FunctionCall(self, self._client, waits=asyncio.current_task())
        work = call.begin(self._client, self._function, kv)
        what = f"what watches {self._key!r}"
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            await stop(work)
            if not work.cancelled():
                _log_failure(work, what)
            raise
        failed = _log_failure(work, what)
        return not self._closing and (failed or work.result() is not False)

    async def _run(self) -> None:
        watch = self._client.watch(key=self._key, initial=True, restart=True, holder_changes=False)
        watch.patient = watch.steady = True
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


def _log_failure(work: asyncio.Task[Any], what: str) -> bool:
    """Logs how a function of the user failed. Returns whether it did."""
    if work.cancelled():  # It awaited what was cancelled.
        log.error("%s was cancelled", what)
        return True
    error = work.exception()
    if error is not None:
        log.error("%s failed", what, exc_info=error)
    return error is not None
