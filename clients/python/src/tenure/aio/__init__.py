"""The asyncio client.

    async with tenure.aio.Client("tenure://127.0.0.1:7400") as client, client.session(ttl=15) as session:
        async with session.lock("jobs/nightly") as held:
            ...

A Client belongs to the event loop in which it is first used. Callbacks run in separate tasks and can be coroutine
functions. A blocked event loop renews nothing: a program that blocks it needs the synchronous client, or a longer TTL.
"""

from tenure.aio._cache import Cache
from tenure.aio._client import Client, connect
from tenure.aio._election import Election, Leadership, Observer
from tenure.aio._kv import KV, SessionAlive
from tenure.aio._lock import Held, Lock, ReadWriteLock, Semaphore
from tenure.aio._queries import Queries
from tenure.aio._recipes import Barrier, DoubleBarrier, Membership, Presence
from tenure.aio._register import Agent, Registration
from tenure.aio._run import ElectionRun, KeyWatch
from tenure.aio._service_list import ServiceList
from tenure.aio._session import Session
from tenure.aio._watch import Watch

__all__ = [
    "KV",
    "Agent",
    "Barrier",
    "Cache",
    "Client",
    "DoubleBarrier",
    "Election",
    "ElectionRun",
    "Held",
    "KeyWatch",
    "Leadership",
    "Lock",
    "Membership",
    "Observer",
    "Presence",
    "Queries",
    "ReadWriteLock",
    "Registration",
    "Semaphore",
    "ServiceList",
    "Session",
    "SessionAlive",
    "Watch",
    "connect",
]
