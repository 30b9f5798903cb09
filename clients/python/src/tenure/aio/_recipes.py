"""Recipes on keys: barrier, double barrier, presence. Their keys are the same in every language."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from tenure import errors
from tenure._convert import to_bytes
from tenure.aio._kv import KV
from tenure.aio._lock import FINISH_SECONDS, until_finished
from tenure.aio._wait import stop, within
from tenure.types import EventType, KeyValue

if TYPE_CHECKING:
    from tenure.aio._client import Client
    from tenure.aio._session import Session


async def follow(
    client: Client, *, prefix: str | None = None, key: str | None = None
) -> AsyncGenerator[dict[str, KeyValue], None]:
    """Gives the keys with a prefix, or one key, as they are, and again after every change: no state is left out."""
    state: dict[str, KeyValue] = {}
    synced = False
    watch = client.watch(prefix=prefix, key=key, initial=True, restart=True, holder_changes=False)
    watch.patient = True
    async with watch:
        while events := await watch.batch():
            for at, event in enumerate(events):
                if event.type is EventType.RESET:
                    state, synced = {}, False
                elif event.type is EventType.SYNCED:
                    synced = True
                elif event.type is EventType.DELETED:
                    state.pop(event.key, None)
                elif event.kv is not None:
                    state[event.key] = event.kv
                # What one transaction did is seen whole.
                if synced and (at + 1 == len(events) or events[at + 1].revision != event.revision):
                    yield dict(state)


async def _until_gone(client: Client, key: str) -> None:
    """Waits until a key does not exist. Raises ClientClosed."""
    async with contextlib.aclosing(follow(client, key=key)) as states:
        async for state in states:
            if key not in state:
                return
    raise errors.ClientClosed("the client was closed")  # What follows a key ends with the client only.


async def _while_alive(session: Session, coroutine: Coroutine[Any, Any, None]) -> None:
    """Awaits something for as long as the session lives. Raises why it ended."""
    task = asyncio.ensure_future(coroutine)
    over = asyncio.ensure_future(session.wait_closed())
    try:
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            session._check_open()
        task.result()
    finally:
        over.cancel()
        if not task.done():
            await stop(task)


class Barrier:
    """A barrier. While its key exists, it is closed, and `wait` waits."""

    def __init__(self, client: Client, kv: KV, key: str) -> None:
        self.key = key
        self._client = client
        self._kv = kv

    async def set(self) -> bool:
        """Closes the barrier. Returns whether it was open."""
        try:
            await self._kv.put(self.key, b"", if_revision=0)
        except errors.CompareFailed:
            return False
        return True

    async def remove(self) -> bool:
        """Opens the barrier. Returns whether it was closed."""
        return await self._kv.delete(self.key)

    async def wait(self, timeout: float | None = None) -> None:
        """Waits until the barrier is open. Raises WaitTimeout after `timeout` seconds, or ClientClosed."""
        await within(_until_gone(self._client, self.key), timeout, f"barrier {self.key!r}")


class DoubleBarrier:
    """Participants start together, when `count` have entered, and end together, when all have left."""

    def __init__(self, session: Session, key: str, count: int, *, name: str | None = None) -> None:
        if count < 1:
            raise ValueError("a double barrier needs at least one participant")
        self.key = key
        self.count = count
        self.name = name or session.id
        self._session = session
        self._members = f"{key}/members/"
        self._ready = f"{key}/ready"
        self._ready_revision = 0
        self._removing: asyncio.Task[None] | None = None  # What takes this one out after it gave up.

    async def enter(self, timeout: float | None = None) -> None:
        """Enters, and waits until `count` have entered.

        Raises WaitTimeout after `timeout` seconds; then it has not entered.

        Like `leave`, it also ends with the session or the client: with SessionClosed or ClientClosed.
        """
        try:
            await within(_while_alive(self._session, self._enter()), timeout, f"double barrier {self.key!r}")
        except BaseException as error:
            await self._give_up(error)
            raise

    async def _enter(self) -> None:
        if self._removing is not None:  # Else it would take this one out, too.
            await asyncio.wait({self._removing})
        await self._session.kv.put(self._members + self.name, b"", ephemeral=True)
        async with contextlib.aclosing(follow(self._session._client, prefix=self.key + "/")) as states:
            async for state in states:
                if self._ready in state:
                    self._ready_revision = state[self._ready].mod_revision
                    return
                if sum(k.startswith(self._members) for k in state) >= self.count:
                    with contextlib.suppress(errors.CompareFailed):
                        await self._session.kv.put(self._ready, b"", if_revision=0)
        raise errors.ClientClosed("the client was closed", applied=None)

    async def leave(self, timeout: float | None = None) -> None:
        """Leaves, and waits until all have left. Raises WaitTimeout after `timeout` seconds; it has left even then."""
        left = asyncio.Event()
        try:
            await within(_while_alive(self._session, self._leave(left)), timeout, f"double barrier {self.key!r}")
        except BaseException as error:
            if not left.is_set():
                await self._give_up(error)
            raise

    async def _give_up(self, error: BaseException) -> None:
        """Leaves without waiting for the others, and before it goes on, unless the caller was interrupted."""
        self._removing = self._session._client._tasks.spawn(self._undo(), "leave-barrier")
        await asyncio.wait({self._removing}, timeout=None if isinstance(error, errors.TenureError) else FINISH_SECONDS)

    async def _undo(self) -> None:
        with contextlib.suppress(errors.TenureError):  # Then it goes with the session.
            await self._remove()

    async def _remove(self) -> bool:
        return await self._session.kv.delete(self._members + self.name, timeout=self._session._client.timeout)

    async def _leave(self, left: asyncio.Event) -> None:
        client = self._session._client
        async with contextlib.aclosing(follow(client, prefix=self._members)) as states:
            begun = asyncio.ensure_future(anext(states, None))
            try:
                # The last to leave might see nothing but the next round if it left before its watch has begun.
                await asyncio.wait({begun}, timeout=client.timeout)
                await until_finished(client._tasks.start(self._remove(), "leave-barrier"))
                left.set()
                state = await begun
            finally:
                await stop(begun)
            while state:
                state = await anext(states, None)
        if state is None:  # Others may still be there.
            raise errors.ClientClosed("the client was closed", applied=None)
        with contextlib.suppress(errors.CompareFailed):
            await self._session.kv.delete(self._ready, if_revision=self._ready_revision)

    async def __aenter__(self) -> Self:
        await self.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._session._client._guard.forked:
            await self.leave()


class Membership:
    """A membership in a group, which ends with `leave` or with the session."""

    def __init__(self, session: Session, key: str, name: str) -> None:
        self.name = name
        self._session = session
        self._key = key
        self._revision: int | None = None  # Of the row that it wrote last, as far as that is known.

    async def update(self, value: bytes | str) -> None:
        """Changes the member's value."""
        self._revision = None
        self._revision = (await self._session.kv.put(self._key, to_bytes(value), ephemeral=True)).mod_revision

    async def leave(self) -> bool:
        """Leaves the group.

        Returns whether it was a member until now. A member that has taken the same name since remains.
        """
        kv, timeout = self._session.kv, self._session._client.timeout
        try:
            revision = self._revision
            if revision is None:
                row = await kv.get(self._key, timeout=timeout)
                if row is None or row.bound_session_id != self._session.id:
                    return False
                revision = row.mod_revision
            return await kv.delete(self._key, if_revision=revision, timeout=timeout)
        except (errors.SessionClosed, errors.CompareFailed):
            return False

    async def close(self) -> None:
        """Leaves the group."""
        await self.leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()


class Presence:
    """A group, whose members are those whose sessions live."""

    def __init__(self, client: Client, session: Session | None, group: str) -> None:
        self.group = group
        self._client = client
        self._session = session
        self._prefix = group + "/"

    async def join(self, name: str | None = None, value: bytes | str = b"") -> Membership:
        """Joins the group, with a value. The name is the session's id unless one is given.

        Raises ValueError for a group of `client.presence`, which has no session.
        """
        if self._session is None:
            raise ValueError("joining a group needs a session: use session.presence")
        name = name or self._session.id
        member = Membership(self._session, self._prefix + name, name)
        await member.update(value)
        return member

    async def members(self) -> dict[str, bytes]:
        """Returns the values of the members, by name."""
        return {kv.key.removeprefix(self._prefix): kv.value async for kv in self._client.kv.list(self._prefix)}

    async def watch(self) -> AsyncGenerator[dict[str, bytes], None]:
        """Yields the values of the members by name: now, and after each change."""
        async with contextlib.aclosing(follow(self._client, prefix=self._prefix)) as states:
            async for state in states:
                yield {k.removeprefix(self._prefix): kv.value for k, kv in state.items()}
