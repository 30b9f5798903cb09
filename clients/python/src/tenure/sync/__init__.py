"""The synchronous client: the asyncio client in a separate thread.

Any thread can use any of its objects. Callbacks run in other threads, and can block and call the client. `tenure`
exports all names of this module.
"""

from tenure.sync._client import Client, connect
from tenure.sync._election import Election, ElectionRun, Leadership, Observer
from tenure.sync._kv import KV
from tenure.sync._lock import Held, Lock, ReadWriteLock, Semaphore
from tenure.sync._queries import Queries
from tenure.sync._recipes import Barrier, DoubleBarrier, Membership, Presence
from tenure.sync._services import Agent, Registration, ServiceList
from tenure.sync._session import Session
from tenure.sync._watch import Cache, KeyWatch, Watch

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
    "Watch",
    "connect",
]
