"""The sync client: the asyncio client in a thread of its own.

Any thread may use any of its objects. Callbacks run in other threads, and may block and call the client. The
names are those of `tenure`, which has them all.
"""

from tenure.sync._client import Client, connect
from tenure.sync._election import Election, ElectionRun, Leadership, Observer
from tenure.sync._kv import KV
from tenure.sync._lock import Held, Lock, ReadWriteLock, Semaphore
from tenure.sync._recipes import Barrier, DoubleBarrier, Membership, Presence
from tenure.sync._session import Session
from tenure.sync._watch import Cache, KeyWatch, Watch

__all__ = [
    "KV",
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
    "ReadWriteLock",
    "Semaphore",
    "Session",
    "Watch",
    "connect",
]
