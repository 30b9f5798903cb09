"""What a session has in the cluster: what it holds, where it waits, and what is on its way back."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tenure import errors
from tenure._core.backoff import Backoff
from tenure._core.hold import HoldState
from tenure._core.retry import decide
from tenure._rpc import CANCEL_WAIT, RELEASE_LOCK
from tenure.aio._wait import until_set, within
from tenure.types import EndCause
from tenure.v1 import lock_pb2, session_pb2

if TYPE_CHECKING:
    from tenure.aio._limits import Limits
    from tenure.aio._lock import Held
    from tenure.aio._session import Session

LOOK_SECONDS = 0.25
# The longest pause before something that the cluster refused to take back is given back again.
REFUSED_SECONDS_MAX = 5.0

# A hold: its full key, lock_index and token. A lock_index comes again when a lock was forgotten, a token never.
HoldName = tuple[str, int, int]
# What an owner has of a lock, a hold or a place: the full key and the owner.
OwnName = tuple[str, str]

H = TypeVar("H", bound="Held")


@dataclass(frozen=True)
class _Orphan:
    """A hold that the cluster counts, but its user gave up or must not believe in any more."""

    owner: str
    token: int
    not_before: float  # When it may be given back.


@dataclass
class _Late:
    """Up to which tokens the holds under one name are gone: an answer that names one of them comes too late.

    Under one name the cluster gives a session one thing at most, and each hold there has a larger token than the one
    before. It is kept while a call is under way that may get such an answer, and no longer.
    """

    given: int = 0  # Given up here; such a hold is not taken up again.
    lost: int = 0  # Lost before their grant came; of the last of them the caller is told.


class Leaving:
    """A place that is being given up, or the hold that it became."""

    def __init__(self) -> None:
        self.granted = False  # Whether it became a hold first.
        self.known = False  # Whether the cluster has said what became of it.
        # Set when nothing is left of it, the session is over, or the cluster refuses to end it and is asked later.
        self.over = asyncio.Event()


class Holdings:
    """What one session has in the cluster, and what becomes of it when nobody here wants it any more."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._helds: dict[HoldName, list[Held]] = {}  # Several of one hold share its state.
        self._orphans: dict[HoldName, _Orphan] = {}
        self._late: dict[OwnName, _Late] = {}
        self._waits: Counter[OwnName] = Counter()  # Of calls that wait for a lock or try it.
        self._leaving: Counter[OwnName] = Counter()  # Of calls that give something back.
        self._moved = asyncio.Event()  # Set when one of the last three shrinks; the next has another.
        self._owed: set[OwnName] = set()  # To be left when nobody uses it any more.
        self._giving_back = False
        # The last truth: which holds there were, as of a revision.
        self._truth: tuple[set[HoldName], int] = set(), 0

    # Holds.

    @property
    def losable(self) -> bool:
        """Whether something may have been lost unheard: what is held, and what was granted to a call under way."""
        return bool(self._helds or self._waits)

    @property
    def owes(self) -> bool:
        """Whether something waits for being given back."""
        return bool(self._orphans)

    def keep(self, hold: session_pb2.Hold, kind: type[H], safe_from: float = float("-inf")) -> H:
        """Returns what stands for a hold. The same owner may have acquired it before: then both are one."""
        session = self._session
        session._check_open()
        same = self._helds.setdefault(name_of(hold), [])
        for held in same:
            if type(held) is kind:
                return held
        state = same[0]._state if same else HoldState(session._client._clock, session._machine.lease, safe_from)
        made = kind(session, session._client._converter.hold(hold), state)
        same.append(made)
        late = self._late.get((made._name[0], made.owner))
        if (late is not None and made.token == late.lost) or self._was_lost(made):
            made._end(EndCause.TAKEN_AWAY)
        elif not session.safe:  # The lease ran out since it was granted, and that may have been told already.
            made._end(EndCause.LEASE_RAN_OUT, give_back=True)
        return made

    def forget(self, held: Held, give_back: bool) -> list[Held]:
        """Notes that a hold ended, and returns all that stood for it. What the cluster still counts is given back."""
        name = held._name
        same = self._helds.pop(name, [])
        if held not in same:
            same.append(held)
        self._note_given((name[0], held.owner), held.token)
        if give_back:
            self._orphans[name] = _Orphan(held.owner, held.token, held._state.safe_from)
        return same

    def end_all(self, cause: EndCause, give_back: bool) -> None:
        """Ends all holds."""
        for same in list(self._helds.values()):
            same[0]._end(cause, give_back=give_back)

    def lost(self, hold: session_pb2.Hold) -> None:
        """Takes a hint that a hold was lost."""
        own = (hold.sequencer.key, hold.owner)
        if same := self._helds.get(name_of(hold)):
            same[0]._end(EndCause.TAKEN_AWAY)
            self.settle()
        elif self._waits[own]:  # Perhaps its grant is still on the way.
            late = self._late.setdefault(own, _Late())
            late.lost = max(late.lost, hold.sequencer.fencing_token)

    def _note_given(self, own: OwnName, token: int) -> None:
        """Notes that a hold was given up, if somebody may yet be told of it."""
        if self._waits[own]:
            late = self._late.setdefault(own, _Late())
            late.given = max(late.given, token)

    def _was_lost(self, held: Held) -> bool:
        """Whether it was lost before its grant came, as the last truth shows."""
        names, revision = self._truth
        return held.token <= revision and held._name not in names

    def compare(self, names: set[HoldName], revision: int) -> None:
        """Takes the truth as of a revision: what was granted later may not be in it."""
        if revision >= self._truth[1]:
            self._truth = names, revision
        for name, same in list(self._helds.items()):
            if name not in names and same[0].token <= revision:
                same[0]._end(EndCause.TAKEN_AWAY)
        for name, orphan in list(self._orphans.items()):
            if name not in names and orphan.token <= revision:
                self._drop(name)
        self.settle()

    def goes_back(self, hold: session_pb2.Hold) -> bool:
        """Whether a hold was given up here: then it is on its way back, and must be acquired anew."""
        late = self._late.get((hold.sequencer.key, hold.owner))
        return late is not None and hold.sequencer.fencing_token <= max(late.given, late.lost - 1)

    async def until_believed(self, hold: session_pb2.Hold, limits: Limits | None = None) -> None:
        """Waits until nobody else can believe in a hold, and the session is certainly alive."""
        same = self._helds.get(name_of(hold))
        if same and same[0]._state.safe_from > self._session._client._clock.now():
            left = None if limits is None else limits.left()
            await within(self._session._until_inherited(), left, "what was inherited cannot be relied on yet")
        await self._session._until_connected(None if limits is None else limits.left())

    # Waits.

    @contextlib.contextmanager
    def waiting(self, own: OwnName) -> Iterator[None]:
        """Notes that somebody waits for a lock, or tries it, under this name."""
        self._waits[own] += 1
        try:
            yield
        finally:
            _less(self._waits, own)
            if not self._waits[own]:
                self._late.pop(own, None)
            self._move()

    def _used(self, own: OwnName, waits: int = 0) -> bool:
        """Whether somebody has or waits for the lock under this name, beside so many who wait."""
        held = any(same[0].owner == own[1] for name, same in self._helds.items() if name[0] == own[0])
        return held or self._orphaned(own) or self._waits[own] > waits

    def _orphaned(self, own: OwnName) -> bool:
        return any(name[0] == own[0] and orphan.owner == own[1] for name, orphan in self._orphans.items())

    async def until_no_waits(self) -> None:
        """Waits until nobody waits for a lock."""
        while self._waits:
            await self._moved.wait()

    async def until_given_back(self, own: OwnName, limits: Limits) -> None:
        """Waits until what was had under this name is given back: an acquire would find it again."""
        while self._leaving[own] or self._orphaned(own):
            await until_set(self._moved, min(LOOK_SECONDS, limits.left()))
            limits.check()

    def _move(self) -> None:
        self.settle()
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    # What goes back.

    def leave(self, own: OwnName) -> Leaving:
        """Gives up a place, or the hold that it became, in the background until the cluster knows.

        Call it inside waiting, after the last request that could make such a place. What somebody else uses stays until
        that ends: then it is given up.
        """
        leaving = Leaving()
        if self._session._machine.cause is not None:
            leaving.over.set()
        elif self._used(own, waits=1):
            self._owed.add(own)
            leaving.over.set()
        else:
            self._begin_leave(own, leaving)
        return leaving

    def settle(self) -> None:
        """Gives up what was left to somebody else who has ended, too. Call it when a hold ended by itself."""
        if self._session._machine.cause is not None:
            self._owed.clear()
        for own in list(self._owed):
            if not self._used(own) and not self._leaving[own]:
                self._begin_leave(own, Leaving())

    def _begin_leave(self, own: OwnName, leaving: Leaving) -> None:
        self._owed.discard(own)
        self._leaving[own] += 1
        last = self._session._requests.window.next_sequence - 1
        self._session._client._tasks.spawn(self._leave(own, last, leaving), "leave-queue")

    async def _leave(self, own: OwnName, last: int, leaving: Leaving) -> None:
        session = self._session
        backoff = Backoff(session._client._rng)
        refusals = Backoff(session._client._rng, cap=REFUSED_SECONDS_MAX)
        try:
            while session._machine.cause is None:
                # Once the cluster knows that a request is done it refuses it, however late it comes.
                mark = session._requests.window.done_below
                try:
                    await self._leave_once(own, leaving)
                except errors.SessionClosed:
                    return
                except errors.TenureError as error:
                    if isinstance(error, errors.InvalidArgument):
                        raise  # There is no such lock.
                    pauses = backoff
                    if not decide(error, failures=1).retry:  # The right, or the room, may come back while it lives.
                        pauses = refusals
                        leaving.over.set()
                    await asyncio.sleep(pauses.next(error.retry_after or 0.0))
                    continue
                if mark > last:
                    leaving.known = True
                    return
                while session._requests.window.done_below <= last and session._machine.cause is None:
                    await session._requests.until_moved()
        finally:
            _less(self._leaving, own)
            leaving.over.set()
            self._move()

    async def _leave_once(self, own: OwnName, leaving: Leaving) -> None:
        session = self._session
        request = lock_pb2.CancelWaitRequest(key=own[0], session_id=session.id)
        answer = await session._change(CANCEL_WAIT, request, owner=own[1])
        if answer.HasField("hold"):
            leaving.granted = True
            self._note_given(own, answer.hold.sequencer.fencing_token)
            back = lock_pb2.ReleaseLockRequest(
                key=own[0], session_id=session.id, lock_index=answer.hold.sequencer.lock_index
            )
            await session._change(RELEASE_LOCK, back, owner=own[1])

    def release(self, held: Held, request: lock_pb2.ReleaseLockRequest) -> Coroutine[Any, Any, bool]:
        """Sends a release. Returns whether the lock was held until now. One that fails is made later, without value."""
        own = (held._name[0], held.owner)
        self._leaving[own] += 1  # From now on, not from when the task runs: nothing may come between.
        return self._release(own, held, request, self._session.safe_until)

    async def _release(self, own: OwnName, held: Held, request: lock_pb2.ReleaseLockRequest, safe_until: float) -> bool:
        """Releases a hold that was safe until then when this began."""
        session = self._session
        limits = session._limits()
        try:
            answer = await session._change(RELEASE_LOCK, request, owner=held.owner, limits=limits)
            if not answer.released and self._was_gone(limits, safe_until):
                held._note_loss(session._end_cause or EndCause.TAKEN_AWAY)
            return answer.released
        except errors.SessionClosed as error:  # Nothing is held any more.
            if error.applied is False and self._was_gone(limits, safe_until):
                held._note_loss(session._end_cause)
            return False
        except errors.TenureError:
            self._orphans[held._name] = _Orphan(held.owner, held.token, held._state.safe_from)
            raise
        finally:
            _less(self._leaving, own)
            self._move()

    def _was_gone(self, limits: Limits, safe_until: float) -> bool:
        """Whether a hold that is not there any more was gone before its release.

        An attempt without an answer may have released it, and once the lease has run out that alone may have ended it.
        """
        return not limits.sent and self._session._client._clock.now() < safe_until

    async def give_back(self) -> None:
        """Releases holds that the cluster counts but nobody here wants."""
        if self._giving_back:
            return
        self._giving_back = True
        session = self._session
        try:
            for name, orphan in list(self._orphans.items()):
                if session._client._clock.now() < orphan.not_before or name not in self._orphans:
                    continue
                request = lock_pb2.ReleaseLockRequest(key=name[0], session_id=session.id, lock_index=name[1])
                with contextlib.suppress(errors.TenureError):
                    await session._change(RELEASE_LOCK, request, owner=orphan.owner)
                    self._drop(name)
        finally:
            self._giving_back = False

    def _drop(self, name: HoldName) -> None:
        self._orphans.pop(name, None)
        self._move()

    def stop(self) -> None:
        """Lets whoever waits look again: the session is over."""
        self._move()


def name_of(hold: session_pb2.Hold) -> HoldName:
    """Returns the name of a hold."""
    return hold.sequencer.key, hold.sequencer.lock_index, hold.sequencer.fencing_token


def _less(counter: Counter[OwnName], own: OwnName) -> None:
    counter[own] -= 1
    if counter[own] <= 0:
        del counter[own]
