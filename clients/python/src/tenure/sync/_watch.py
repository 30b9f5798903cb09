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
    """A stream of events: `for event in watch`. It begins when it is first read, or at `with`.

    One thread may read it, any may close it. It ends by close, or with a typed error that cannot be overcome:
    RevisionCompacted and HistoryChanged mean that events were missed; with restart=True it then tells the present state
    again, after RESET. A loop that is left by `break` does not close it: use `with`. `resume_token` is where another
    watch with the same selectors goes on after the last event that was read.
    """

    def __init__(self, portal: Portal, watch: aio.Watch) -> None:
        self._portal = portal
        self._aio = watch
        self._events: deque[Event] = deque()
        self._token = watch.resume_token
        self._closed = False

    @property
    def resume_token(self) -> str:
        """Where to go on after the last event that was read."""
        return self._token

    @property
    def revision(self) -> int:
        """Revision that the watch has reached."""
        return self._aio.revision

    def start(self) -> None:
        """Waits until it has begun: changes from now on will be seen."""
        self._portal.run(self._aio.start())
        if not self._aio._events:
            self._token = self._aio.resume_token

    def batch(self) -> Sequence[Event]:
        """Returns the events of one message, at least one; none when it was closed."""
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
        """Ends it. A read that waits in another thread ends, too."""
        self._closed = True
        self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cache:
    """All keys with a prefix, as they were `stale` seconds ago at most. Reading it makes no call.

    While no member can be reached, or the one that feeds it is behind, it goes on to answer, and `stale` grows; look at
    it where that matters. `error` says why it is fed no more; None while it is.
    """

    def __init__(self, portal: Portal, cache: aio.Cache) -> None:
        self._portal = portal
        self._aio = cache
        self.prefix = cache.prefix

    @property
    def stale(self) -> float:
        """How many seconds old the copy may be at most: whatever was committed longer ago is in it.

        Never 0, and one to three seconds while the cluster is well. Only what proves that nothing is missing makes it
        smaller: the present state at the beginning, and a member's mark about once a second, counted from when the
        member began to ask the cluster. Events alone do not: a member that catches up sends old ones. It holds while
        clocks keep their rate to 1 %.
        """
        return self._aio.stale

    @property
    def revision(self) -> int:
        """Revision that the copy shows."""
        return self._aio.revision

    @property
    def error(self) -> errors.TenureError | None:
        """Why it is fed no more; None while it is."""
        return self._aio.error

    def get(self, key: str) -> KeyValue | None:
        """Returns a key as the copy has it."""
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
        """Returns the keys, in order."""
        if not self._portal.closed:
            with contextlib.suppress(errors.ClientClosed):
                return self._portal.call(self._aio.keys)
        return self._aio.keys()

    def on_change(self, callback: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """Registers a callback for every event from now on. Also a decorator."""
        self._portal.call(lambda: self._aio.on_change(callback))
        return callback

    def close(self) -> None:
        """Ends the watch; the copy stays as it is."""
        self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class KeyWatch:
    """Calls a function, in a thread, with a key's value, now and whenever it changes, until it returns False."""

    def __init__(
        self, portal: Portal, client: aio.Client, key: str, function: Callable[[KeyValue | None], Any]
    ) -> None:
        self._portal = portal

        async def tell(kv: KeyValue | None) -> Any:
            return await in_thread((self, portal), function, kv)

        self._aio = portal.call(lambda: aio.KeyWatch(client, key, tell))

    def wait(self) -> None:
        """Waits until it has ended. Raises what ended it, if that was not close."""
        with contextlib.suppress(errors.ClientClosed):
            self._portal.run(self._aio.wait())

    def close(self) -> None:
        """Ends it, and waits for a call that runs. The function itself ends it by returning False, or by this."""
        if not self._portal.closed:
            let_go(self)
            self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
