"""Watches, caches, and functions called when a key changes."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from typing_extensions import Self

from tenure import aio, errors
from tenure.sync._portal import Portal
from tenure.sync._threads import in_thread, let_go
from tenure.types import Event, KeyValue


class Watch:
    """A stream of events: `for event in watch`. It starts when it is first read, or at `with`.

    One thread can read it, any can close it. It raises Unavailable if it cannot start within the client's timeout; once
    started, it waits for a member for as long as it takes. If the connection breaks before SYNCED, the current state
    comes again completely, after RESET.

    It ends when it is closed, or with an error: RevisionCompacted and HistoryChanged mean that events were missed. With
    restart=True, RESET and the current state follow instead. Leaving the loop by `break` does not close it, so use
    `with`.
    """

    def __init__(self, portal: Portal, watch: aio.Watch) -> None:
        self._portal = portal
        self._aio = watch
        self._events: deque[Event] = deque()
        self._token = watch.resume_token
        self._closed = False

    @property
    def resume_token(self) -> str:
        """Starts another watch with the same selectors after the last event that was read."""
        return self._token

    @property
    def revision(self) -> int:
        """The revision that the watch has reached."""
        return self._aio.revision

    def start(self) -> None:
        """Waits until the watch has started: every change from now on will be delivered."""
        self._portal.run(self._aio.start())
        if not self._aio._events:
            self._token = self._aio.resume_token

    def batch(self) -> Sequence[Event]:
        """Waits for events and returns all that have arrived: at least one, or none if the watch was closed."""
        self._fill()
        events = list(self._events)
        self._events.clear()
        self._token = self._aio.resume_token
        return events

    def _fill(self) -> None:
        """Waits until there are events, or it is closed."""
        if not self._events and not self._closed:
            try:
                self._portal.run(self._fetch())
            except errors.ClientClosed:
                if not self._aio._closed:  # It had not begun, else the client would have closed it.
                    raise

    async def _fetch(self) -> None:
        """Reads events. They stay here until they are taken, also when who waits for them is interrupted."""
        if self._events:  # Of a read that was interrupted; they came meanwhile.
            return
        await self._aio.start()
        if not self._aio._events:
            self._token = self._aio.resume_token
        self._events.extend(await self._aio.batch())

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        self._fill()
        if not self._events:
            raise StopIteration
        event = self._events.popleft()
        if not self._events:
            self._token = self._aio.resume_token
        return event

    def close(self) -> None:
        """Ends it, and with it a read that waits in another thread."""
        self._closed = True
        self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cache:
    """A local copy of all keys with a prefix, at most `stale` seconds old. Reading it makes no call.

    While no member can be reached, or its member lags, it still answers, and `stale` grows: check it where that
    matters. `error` says why the copy is no longer updated; None while it is. Any thread can use it.
    """

    def __init__(self, portal: Portal, cache: aio.Cache) -> None:
        self._portal = portal
        self._aio = cache
        self.prefix = cache.prefix

    @property
    def stale(self) -> float:
        """Upper bound of the copy's age, in seconds: it contains every change that was committed longer ago.

        It is never 0, and 1 to 3 s while the cluster is healthy. It shrinks when a member proves that nothing is
        missing, which happens about once a second; events alone prove nothing, because a member that catches up sends
        old ones. It is correct as long as clock rates are within 1 %.
        """
        return self._aio.stale

    @property
    def revision(self) -> int:
        """The revision of the copy."""
        return self._aio.revision

    @property
    def error(self) -> errors.TenureError | None:
        """Why the copy is no longer updated; None while it is."""
        return self._aio.error

    def get(self, key: str) -> KeyValue | None:
        """Returns a key from the copy; None if it does not have it."""
        return self._aio.get(key)

    def __getitem__(self, key: str) -> KeyValue:
        return self._aio[key]

    def __contains__(self, key: object) -> bool:
        return key in self._aio

    def __len__(self) -> int:
        return len(self._aio)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """Returns the keys, in byte order."""
        if not self._portal.closed:
            with contextlib.suppress(errors.ClientClosed):
                return self._portal.call(self._aio.keys)
        return self._aio.keys()

    def on_change(self, callback: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """Registers a callback for each event from now on. Also a decorator.

        If it is too slow for that, some events are left out: it always gets the latest of each key.
        """
        self._portal.call(lambda: self._aio.on_change(callback))
        return callback

    def close(self) -> None:
        """Ends the watch. The copy can still be read, and no longer changes."""
        self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class KeyWatch:
    """Calls a function, in its own thread, with a key's KeyValue now and at each change, until it returns False."""

    def __init__(
        self, portal: Portal, client: aio.Client, key: str, function: Callable[[KeyValue | None], Any]
    ) -> None:
        self._portal = portal

        async def tell(kv: KeyValue | None) -> Any:
            return await in_thread((self, portal), function, kv)

        self._aio = portal.call(lambda: aio.KeyWatch(client, key, tell))

    def wait(self) -> None:
        """Waits until it has ended. Raises the error that ended it, unless that was close."""
        with contextlib.suppress(errors.ClientClosed):
            self._portal.run(self._aio.wait())

    def close(self) -> None:
        """Ends it, and waits for a call that is running, unless the function itself calls it."""
        if not self._portal.closed:
            let_go(self)
            self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
