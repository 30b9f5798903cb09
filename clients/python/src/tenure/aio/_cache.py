"""A local copy of keys, fed by a watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from tenure import errors
from tenure.aio._backlog import Backlog, latest_of_each_key
from tenure.aio._wait import within
from tenure.aio._watch import Watch
from tenure.types import Event, EventType, KeyValue

if TYPE_CHECKING:
    from tenure.aio._client import Client

# How often a member proves to a cache that nothing is missing.
PROGRESS_SECONDS = 1.0
# Bounds what two clocks whose rates differ drift apart: the moment of a proof is counted from the stream's request.
STREAM_AGE_SECONDS = 60.0


async def open_cache(client: Client, prefix: str, timeout: float | None) -> Cache:
    """Returns a cache that is filled."""
    cache = Cache(client, prefix)
    try:
        await within(cache._settled.wait(), client.timeout if timeout is None else timeout, f"cache of {prefix!r}")
        if cache.error is not None:
            raise cache.error
        if cache._filling is not None:
            raise errors.ClientClosed("the client was closed before the cache was filled")
    except BaseException:
        await cache.close()
        raise
    return cache


class Cache:
    """A local copy of all keys with a prefix, at most `stale` seconds old. Reading it makes no call.

    While no member can be reached, or its member lags, it still answers, and `stale` grows: check it where that
    matters. `error` says why the copy is no longer updated; None while it is.
    """

    def __init__(self, client: Client, prefix: str) -> None:
        self.prefix = prefix
        self.revision = 0
        self.error: errors.TenureError | None = None
        self._client = client
        self._state: dict[str, KeyValue] = {}
        self._filling: dict[str, KeyValue] | None = {}
        self._settled = asyncio.Event()  # It was filled, or is fed no more.
        self._fresh_at = float("-inf")
        self._line = client._dispatcher.line()
        self._backlogs: list[Backlog[Event]] = []
        self._watch: Watch = client.watch(
            prefix=prefix, initial=True, restart=True, progress=True, progress_interval=PROGRESS_SECONDS
        )
        self._watch.patient = True
        self._watch.stream_age = STREAM_AGE_SECONDS
        client._start()
        self._task = client._tasks.spawn(self._run(), "cache")
        client._closers[id(self)] = self.close

    async def _run(self) -> None:
        try:
            while events := await self._watch.batch():
                for event in events:
                    self._take(event)
                # Events alone prove nothing: a member that catches up sends old ones.
                self._fresh_at = self._watch.proved_at
        except errors.TenureError as error:
            self.error = error
            raise
        finally:
            self._settled.set()

    def _take(self, event: Event) -> None:
        if event.type is EventType.RESET:
            self._filling = {}
        elif event.type is EventType.SYNCED:
            if self._filling is not None:
                self._state, self._filling = self._filling, None
            self._settled.set()
        elif event.type is EventType.PRESENT and event.kv is not None:
            target = self._state if self._filling is None else self._filling
            target[event.key] = event.kv
        elif event.type is EventType.DELETED:
            self._state.pop(event.key, None)
        elif event.kv is not None:
            self._state[event.key] = event.kv
        if self._filling is None:
            self.revision = max(self.revision, event.revision)
        if event.type is not EventType.PROGRESS:
            for backlog in self._backlogs:
                backlog.tell(event)

    @property
    def stale(self) -> float:
        """Upper bound of the copy's age, in seconds: it contains every change that was committed longer ago.

        It is never 0, and 1 to 3 s while the cluster is healthy. It shrinks when a member proves that nothing is
        missing, which happens about once a second; events alone prove nothing, because a member that catches up sends
        old ones. It is correct as long as clock rates are within 1 %.
        """
        return max(1e-6, self._client._clock.now() - self._fresh_at)

    def get(self, key: str) -> KeyValue | None:
        """Returns a key from the copy; None if it does not have it."""
        return self._state.get(key)

    def __getitem__(self, key: str) -> KeyValue:
        return self._state[key]

    def __contains__(self, key: object) -> bool:
        return key in self._state

    def __len__(self) -> int:
        return len(self._state)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """Returns the keys, in byte order."""
        return sorted(self._state, key=str.encode)

    def on_change(self, callback: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """Registers a callback for each event from now on. Also a decorator.

        If it is too slow for that, some events are left out: it always gets the latest of each key.
        """
        self._backlogs.append(Backlog(self._line, callback, latest_of_each_key))
        return callback

    async def close(self) -> None:
        """Ends the watch. The copy can still be read, and no longer changes."""
        self._client._closers.pop(id(self), None)
        await self._watch.close()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
