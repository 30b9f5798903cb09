"""Values that calls take and return. Keys are as the client sees them, without namespace."""

from __future__ import annotations

import base64
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from tenure.errors import TokenInvalid

if TYPE_CHECKING:
    from tenure.query import Query


class State(str, enum.Enum):
    """The state of a client or a session. A client is never in JEOPARDY."""

    CONNECTING = "CONNECTING"  # No member has answered yet.
    CONNECTED = "CONNECTED"
    SUSPENDED = "SUSPENDED"  # No member responds, but the lease is valid: locks are still held.
    JEOPARDY = "JEOPARDY"  # The lease has ended, and whether the session still exists is unknown: no lock is safe.
    CLOSED = "CLOSED"  # It has ended, with a cause.

    def __str__(self) -> str:
        return self.value


class CloseCause(str, enum.Enum):
    """Why a client or a session is closed."""

    CLOSED = "closed"  # By its user.
    EXPIRED = "expired"  # In the cluster: its TTL elapsed, or another client destroyed it.
    AUTH_FAILED = "auth_failed"  # The cluster refused its secret.
    SUPERSEDED = "superseded"  # Another process took the session over.
    EXPORTED = "exported"  # This process handed it over.
    FORKED = "forked"  # It belongs to the parent process.

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class StateChange:
    """A change of state, with the cause if the new one is CLOSED."""

    old: State
    new: State
    cause: CloseCause | None = None


class EndCause(str, enum.Enum):
    """Why a hold ended."""

    RELEASED = "released"  # By its user.
    LEASE_RAN_OUT = "lease_ran_out"  # The session could not be renewed in time.
    TAKEN_AWAY = "taken_away"  # An operator broke it, or another user of the same owner released it.
    SESSION_CLOSED = "session_closed"  # By its user.
    SESSION_ENDED = "session_ended"  # In the cluster: its TTL elapsed, or another client destroyed it.
    SUPERSEDED = "superseded"  # Another process took the session over.
    EXPORTED = "exported"  # This process handed the session over.
    FORKED = "forked"  # It belongs to the parent process.

    def __str__(self) -> str:
        return self.value


class _Numbered(enum.IntEnum):
    """An enum of the API. A number that this version does not know, from a newer cluster, keeps its value."""

    @classmethod
    def _missing_(cls, value: object) -> _Numbered | None:
        if not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_, unknown._value_ = f"UNKNOWN_{value}", value
        return unknown


class Mode(_Numbered):
    """How a lock is shared; the numbers are those of tenure.v1.LockMode."""

    EXCLUSIVE = 1
    SHARED = 2
    SEMAPHORE = 3


class Behavior(_Numbered):
    """What happens to the keys of a session's locks when it ends; the numbers are those of tenure.v1.SessionBehavior.

    RELEASE keeps them. DELETE deletes them; that of a lock with several holders goes with the last hold.
    """

    RELEASE = 1
    DELETE = 2


class CheckStatus(_Numbered):
    """How a check of the catalog is; the numbers are those of tenure.v1.CheckStatus. WARNING ends no session."""

    PASSING = 1
    WARNING = 2
    CRITICAL = 3


class Health(NamedTuple):
    """How an instance of a service is, as its program says. People see `output`."""

    status: CheckStatus
    output: str = ""


@dataclass(frozen=True)
class Instance:
    """An instance of a service in the catalog.

    `address` is its own or else that of its node, and `port` may be 0. `status` is the worst of its checks and those of
    its node; in a ServiceList, all pass. `weight` is the share of requests that it should get at this status; normally
    1.
    """

    service: str
    id: str
    node: str
    zone: str = ""
    address: str = ""
    port: int = 0
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    weight: int = 1
    status: CheckStatus = CheckStatus.PASSING


@dataclass(frozen=True)
class Sequencer:
    """The proof of a hold, which can be passed on to other processes. The key is the full key, with its namespace.

    `lock_index` counts the holds of the key; `history_id` changes when the cluster is restored from a backup.
    """

    key: str
    lock_index: int
    session_id: str
    fencing_token: int
    history_id: str = ""

    @property
    def token(self) -> int:
        """The fencing token: larger than that of every earlier hold in the cluster."""
        return self.fencing_token

    def to_text(self) -> str:
        """Returns it as one word that needs no escaping in a URL."""
        key = base64.urlsafe_b64encode(self.key.encode()).decode().rstrip("=")
        return f"v1.{key}.{self.lock_index}.{self.session_id}.{self.fencing_token}.{self.history_id}"

    @classmethod
    def from_text(cls, text: str) -> Sequencer:
        """Reads the text that to_text returned. Raises TokenInvalid if it is damaged."""
        parts = text.split(".")
        if len(parts) != 6 or parts[0] != "v1":
            raise TokenInvalid(f"{text!r} is not a sequencer")
        try:
            return cls(_unpadded(parts[1]).decode(), int(parts[2]), parts[3], int(parts[4]), parts[5])
        except ValueError:
            raise TokenInvalid(f"the sequencer {text!r} is damaged") from None


@dataclass(frozen=True)
class KeyValue:
    """A key with its value and metadata.

    `flags` is a number that its writer chose. `create_revision` and `mod_revision` are the revisions that created and
    last changed it; `version` counts the puts since its creation, and `lock_index` the holds of its lock. `session_id`
    is the holder of its exclusive lock; `bound_session_id` is the session whose end deletes it. Times are the cluster's
    wall clock, for information only.
    """

    key: str
    value: bytes
    flags: int = 0
    create_revision: int = 0
    mod_revision: int = 0
    version: int = 0
    lock_index: int = 0
    session_id: str = ""
    bound_session_id: str = ""
    create_time: datetime | None = None
    mod_time: datetime | None = None

    @property
    def text(self) -> str:
        """The value as UTF-8 text."""
        return self.value.decode()


@dataclass(frozen=True)
class Hold:
    """One possession of a lock, by any session.

    `owner` names it within its session. `delay_left`, in seconds, and `lost_time` are set if the hold was lost and its
    lock-delay has not elapsed.
    """

    sequencer: Sequencer
    owner: str
    mode: Mode
    permits: int = 0
    session_name: str = ""
    grant_time: datetime | None = None
    delay_left: float | None = None
    lost_time: datetime | None = None

    @property
    def session_id(self) -> str:
        """Id of the session that holds the lock."""
        return self.sequencer.session_id


@dataclass(frozen=True)
class Place:
    """One position in a wait queue: `position` is the number of waiters before it.

    `place` is its number in this queue, which is never reused.
    """

    key: str
    place: int
    position: int
    session_id: str
    session_name: str
    owner: str
    mode: Mode
    permits: int = 0
    queue_time: datetime | None = None


@dataclass(frozen=True)
class LockInfo:
    """A lock as it is now.

    `holds`, `places` and `delayed` (lost holds whose lock-delay has not elapsed) have at most 100 entries; the answer
    of `attempt` has at most 8, and no places. `holders`, `waiters` and `delayed_holds` count all of them. `mode` is
    None if the lock is free. `limit` is the number of permits of a semaphore.
    """

    key: str
    mode: Mode | None = None
    limit: int = 0
    lock_index: int = 0
    holds: tuple[Hold, ...] = ()
    places: tuple[Place, ...] = ()
    delayed: tuple[Hold, ...] = ()
    holders: int = 0
    waiters: int = 0
    delayed_holds: int = 0


@dataclass(frozen=True)
class SessionInfo:
    """A session as the cluster reports it. Times are in seconds; a `ttl` of 0 means that it never expires.

    `objects` counts the session itself, its holds, places and ephemeral keys. `ttl_left` is None if it is unknown.
    """

    session_id: str
    name: str
    node: str
    metadata: Mapping[str, str]
    ttl: float
    lock_delay: float
    behavior: Behavior
    epoch: int
    create_revision: int
    objects: int = 0
    holds: int = 0
    ttl_left: float | None = None
    ended: bool = False
    end_cause: str = ""
    end_reason: str = ""


@dataclass(frozen=True)
class LeaderInfo:
    """The leader of an election: its hold and its value. `gap` means that changes before may have been missed."""

    hold: Hold
    value: bytes
    since: datetime | None = None
    candidates: int = 0
    gap: bool = False

    @property
    def session_id(self) -> str:
        """Id of the session that leads."""
        return self.hold.session_id

    @property
    def token(self) -> int:
        """The fencing token of the leadership."""
        return self.hold.sequencer.fencing_token


@dataclass(frozen=True)
class Member:
    """One server of the cluster."""

    id: int
    name: str
    client_address: str
    leader: bool = False
    learner: bool = False
    zone: str = ""
    version: str = ""


@dataclass(frozen=True)
class NodeInfo:
    """A node of the catalog. `id`, of its machine, and `zone` may be empty."""

    name: str
    id: str = ""
    address: str = ""
    zone: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    create_revision: int = 0
    mod_revision: int = 0


@dataclass(frozen=True)
class ServiceInfo:
    """An instance of a service, as it is registered. Unlike an Instance, it says nothing of its node or its checks.

    Without an `address` it is reached at that of its node.
    """

    name: str
    id: str
    node: str
    address: str = ""
    port: int = 0
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    create_revision: int = 0
    mod_revision: int = 0


@dataclass(frozen=True)
class CheckInfo:
    """A check of the catalog: of an instance of a service or, without `service_id`, of the node."""

    id: str
    name: str
    node: str
    service_id: str = ""
    service: str = ""
    status: CheckStatus = CheckStatus.CRITICAL
    output: str = ""
    create_revision: int = 0
    mod_revision: int = 0


class EventType(str, enum.Enum):
    """Kind of an event of a watch."""

    # The current state, if a watch was started with initial=True.
    RESET = "RESET"  # Discard what you received of the current state: it comes again.
    PRESENT = "PRESENT"  # A key, lock, session or part of the catalog exists.
    SYNCED = "SYNCED"  # The current state is complete; changes follow.
    # Changes.
    PUT = "PUT"
    DELETED = "DELETED"
    HOLDER_GRANTED = "HOLDER_GRANTED"
    HOLDER_RELEASED = "HOLDER_RELEASED"
    HOLDER_LOST = "HOLDER_LOST"
    LOCK_QUEUED = "LOCK_QUEUED"
    LOCK_LEFT = "LOCK_LEFT"
    LOCK_GRANTED = "LOCK_GRANTED"
    LOCK_RELEASED = "LOCK_RELEASED"
    LOCK_LOST = "LOCK_LOST"
    LOCK_DELAY_BEGUN = "LOCK_DELAY_BEGUN"
    LOCK_DELAY_ENDED = "LOCK_DELAY_ENDED"
    SESSION_BEGUN = "SESSION_BEGUN"
    SESSION_TAKEN_OVER = "SESSION_TAKEN_OVER"
    SESSION_ENDED = "SESSION_ENDED"
    NODE_PUT = "NODE_PUT"
    NODE_DELETED = "NODE_DELETED"
    SERVICE_PUT = "SERVICE_PUT"
    SERVICE_DELETED = "SERVICE_DELETED"
    CHECK_PUT = "CHECK_PUT"  # Not if only its status changed.
    CHECK_STATUS = "CHECK_STATUS"
    CHECK_DELETED = "CHECK_DELETED"
    QUERY_PUT = "QUERY_PUT"
    QUERY_DELETED = "QUERY_DELETED"
    # Every event up to this revision was delivered; sent if a watch was started with progress=True.
    PROGRESS = "PROGRESS"
    UNKNOWN = "UNKNOWN"  # A kind that this version does not know, from a newer cluster.

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Event:
    """One change, or one key, lock, session or part of the catalog of the current state.

    `index` is the position within the revision. `cause` and `reason` say why a hold, place or session ended. `item` is
    what an event of the catalog is about; a query that was deleted has only `id`, `name` and, if it was deleted with
    its session, `session_id`. `previous_status` is the status of a check before a CHECK_STATUS.
    """

    type: EventType
    revision: int = 0
    index: int = 0
    key: str = ""
    kv: KeyValue | None = None
    previous: KeyValue | None = None
    hold: Hold | None = None
    place: Place | None = None
    lock: LockInfo | None = None
    session: SessionInfo | None = None
    cause: str = ""
    reason: str = ""
    time: datetime | None = None
    item: NodeInfo | ServiceInfo | CheckInfo | Query | None = None
    previous_status: CheckStatus | None = None

    @property
    def value(self) -> bytes | None:
        """The key's value after the change; None if it has none."""
        return self.kv.value if self.kv is not None else None


_TOKEN_PREFIX = "ts1"


@dataclass(frozen=True)
class Credentials:
    """What another process, in any language, needs to continue a session. Keep it as secret as a password."""

    session_id: str
    secret: bytes = field(repr=False)
    epoch: int
    ttl: float
    handed_over: bool  # whether the old process has stopped using the session

    def to_text(self) -> str:
        """Returns it as one word of text."""
        secret = base64.urlsafe_b64encode(self.secret).decode().rstrip("=")
        how = "h" if self.handed_over else "k"
        return f"{_TOKEN_PREFIX}.{self.session_id}.{secret}.{self.epoch}.{round(self.ttl * 1000)}.{how}"

    @classmethod
    def from_text(cls, text: str) -> Credentials:
        """Reads the text that to_text returned. Raises TokenInvalid if it is damaged."""
        parts = text.strip().split(".")
        if len(parts) != 6 or parts[0] != _TOKEN_PREFIX or parts[5] not in ("h", "k"):
            raise TokenInvalid("the text is not an exported session")
        try:
            secret = _unpadded(parts[2])
            return cls(parts[1], secret, int(parts[3]), int(parts[4]) / 1000, parts[5] == "h")
        except ValueError:
            raise TokenInvalid("the text of the exported session is damaged") from None


def _unpadded(text: str) -> bytes:
    """Decodes base64url without padding."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
