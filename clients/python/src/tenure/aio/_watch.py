"""Watches: ordered changes, each once, over any reconnect."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import Self

from tenure import _convert, errors
from tenure._rpc import WATCH
from tenure.aio import _follow
from tenure.aio._follow import Follower
from tenure.types import Event, EventType
from tenure.v1 import watch_pb2

if TYPE_CHECKING:
    from tenure.aio._client import Client

DEFAULT_PROGRESS_SECONDS = 5.0

# How much of what a member counts is taken off for clocks that differ in rate, by 1 % each.
_RATE_SHARE = 0.02


@dataclass(frozen=True)
class WatchOptions:
    """What to watch and where to start."""

    keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    key_range: tuple[str, str] | None = None
    locks: tuple[str, ...] = ()
    lock_prefixes: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    all_sessions: bool = False
    nodes: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    all_queries: bool = False
    initial: bool = False
    after_revision: int | None = None
    history_id: str = ""
    resume_token: str = ""
    previous: bool = False
    keys_only: bool = False
    progress: bool = False
    progress_interval: float | None = None
    restart: bool = False
    leave_out: tuple[bool, bool, bool, bool] = (False, False, False, False)

    def selects(self) -> bool:
        """Whether anything is chosen."""
        return bool(
            self.keys
            or self.prefixes
            or self.key_range
            or self.locks
            or self.lock_prefixes
            or self.session_ids
            or self.all_sessions
            or self.nodes
            or self.services
            or self.all_queries
        )


class Watch(Follower[watch_pb2.WatchRequest, watch_pb2.WatchResponse]):
    """A stream of events: `async for event in watch`. It starts when it is first read, or at `async with`.

    One task can read it. It raises Unavailable if it cannot start within the client's timeout; once started, it waits
    for a member for as long as it takes. If the connection breaks before SYNCED, the current state comes again
    completely, after RESET.

    It ends when it is closed, or with an error: RevisionCompacted and HistoryChanged mean that events were missed. With
    restart=True, RESET and the current state follow instead. Leaving the loop by `break` does not close it, so use
    `async with`. `resume_token` starts another watch with the same selectors after the last event that was read;
    `revision` is the revision that the watch has reached.
    """

    def __init__(self, client: Client, options: WatchOptions) -> None:
        super().__init__(client, WATCH, "a watch")
        self._options = options
        self._events: deque[Event] = deque()
        self._token = options.resume_token  # After everything read from the stream.
        self._after = options.after_revision
        self._history = options.history_id
        self._initial = options.initial and not options.resume_token
        self._told_initial = False  # Whether a part of the present state was told.
        # How old a stream becomes at most, in seconds, if a member is there to begin another with.
        self.stream_age = float("inf")
        # What was committed before this moment of the client's clock is in what was read from the stream.
        self.proved_at = float("-inf")
        self.resume_token = options.resume_token
        self.revision = options.after_revision or 0

    def _request(self) -> watch_pb2.WatchRequest:
        options, full, key = self._options, self._client._namespace.full, self._client._namespace.key
        prefixes = options.prefixes if options.selects() else ("",)
        no_puts, no_deletes, no_holder_changes, no_queue = options.leave_out
        request = watch_pb2.WatchRequest(
            keys=[key(k) for k in options.keys],
            prefixes=[full(p) for p in prefixes],
            locks=[key(k) for k in options.locks],
            lock_prefixes=[full(p) for p in options.lock_prefixes],
            session_ids=options.session_ids,
            all_sessions=options.all_sessions,
            nodes=options.nodes,
            services=options.services,
            all_queries=options.all_queries,
            filter=watch_pb2.WatchFilter(
                no_puts=no_puts, no_deletes=no_deletes, no_holder_changes=no_holder_changes, no_queue=no_queue
            ),
            previous=options.previous,
            keys_only=options.keys_only,
            progress_interval=_convert.duration(options.progress_interval or DEFAULT_PROGRESS_SECONDS),
        )
        if options.key_range is not None:
            request.range_start = full(options.key_range[0])
            request.range_end = self._client._namespace.range_end(options.key_range[1])
        if self._token:
            request.resume_token = self._token
        elif self._initial:
            request.initial = True
        elif self._after is not None:
            request.after_revision = self._after
            request.history_id = self._history
        return request

    def _silence(self) -> float:
        return max(_follow.SILENCE_SECONDS, 3 * (self._options.progress_interval or 0.0))

    async def start(self) -> None:
        """Waits until the watch has started: every change from now on will be delivered."""
        while not self._began and not self._closed:
            await self._read()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            await self._read()
        event = self._events.popleft()
        if not self._events:
            self.resume_token = self._token
        return event

    async def batch(self) -> Sequence[Event]:
        """Waits for events and returns all that have arrived: at least one, or none if the watch was closed."""
        while not self._events and not self._closed:
            await self._read()
        events = list(self._events)
        self._events.clear()
        self.resume_token = self._token
        return events

    async def _read(self) -> None:
        """Reads one message. It may have no events."""
        message = await self._next_message()
        if message is not None:
            self._take(message)

    def _broke(self, error: errors.TenureError) -> bool:
        again = self._options.restart and isinstance(error, errors.HistoryError)
        if again:
            self._token, self._initial, self._told_initial = "", True, True
        return again

    def _take(self, message: watch_pb2.WatchResponse) -> None:
        kind = message.WhichOneof("message")
        self.revision = message.header.revision
        if kind == "started":
            self._take_started(message)
        elif kind == "initial":
            self._take_initial(message.initial, message.header.revision)
        elif kind == "events":
            self._events.extend(self._client._converter.event(e) for e in message.events.events)
        elif kind == "progress":
            self._take_progress(message.progress, message.header.revision)
        # Until the present state is there whole, a stream that breaks has to begin with it again.
        if message.resume_token and not self._initial:
            self._token = message.resume_token
        if not self._events:
            self.resume_token = self._token

    def _take_progress(self, progress: watch_pb2.WatchProgress, revision: int) -> None:
        # The member counts from the request, which it did not have before it was sent.
        self._prove(self._sent_at + _convert.seconds(progress.proved_after) * (1 - _RATE_SHARE))
        if self._options.progress:
            self._events.append(Event(EventType.PROGRESS, revision=revision))
        if self._client._clock.now() - self._sent_at >= self.stream_age:
            self._leave_stream()

    def _prove(self, moment: float) -> None:
        self.proved_at = max(self.proved_at, moment)

    def _take_started(self, message: watch_pb2.WatchResponse) -> None:
        self._began = True
        self.revision = message.started.after_revision
        self._history = message.header.history_id
        if self._initial and self._told_initial:
            self._told_initial = False
            self._events.append(Event(EventType.RESET))
        if not self._initial and not self._token:
            self._after = message.started.after_revision

    def _take_initial(self, part: watch_pb2.WatchInitial, revision: int) -> None:
        converter = self._client._converter
        self._told_initial = True
        for kv in part.kvs:
            present = converter.kv(kv)
            self._events.append(Event(EventType.PRESENT, revision=revision, key=present.key, kv=present))
        for m in part.locks:
            lock = converter.lock(m)
            self._events.append(Event(EventType.PRESENT, revision=revision, key=lock.key, lock=lock))
        for s in part.sessions:
            self._events.append(Event(EventType.PRESENT, revision=revision, session=converter.session(s)))
        self._events.extend(Event(EventType.PRESENT, revision=revision, item=i) for i in _convert.items(part))
        if part.complete:
            self._initial = False
            self._prove(self._sent_at)
            self._events.append(Event(EventType.SYNCED, revision=revision))
