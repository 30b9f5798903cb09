"""The parts of transactions: `Compare.revision("a", 7)`, `Op.put("a", "x")`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tenure._convert import to_bytes
from tenure.v1 import kv_pb2

_Full = Callable[[str], str]  # puts the namespace on a prefix, or on a key, which must not be empty

_OPERATORS = {
    "==": kv_pb2.COMPARE_OPERATOR_EQUAL,
    "!=": kv_pb2.COMPARE_OPERATOR_NOT_EQUAL,
    "<": kv_pb2.COMPARE_OPERATOR_LESS,
    ">": kv_pb2.COMPARE_OPERATOR_GREATER,
}


@dataclass(frozen=True)
class Compare:
    """One condition on the state before a transaction: `Compare.revision("a", 7)`. `operator` is ==, !=, < or >."""

    key: str
    what: str
    operand: Any
    operator: str = "=="

    @classmethod
    def value(cls, key: str, value: bytes | str, operator: str = "==") -> Compare:
        """Compares the value; a missing key is unequal to every value."""
        return cls(key, "value", to_bytes(value), operator)

    @classmethod
    def revision(cls, key: str, revision: int, operator: str = "==") -> Compare:
        """Compares mod_revision; 0 for a missing key."""
        return cls(key, "mod_revision", revision, operator)

    @classmethod
    def version(cls, key: str, version: int, operator: str = "==") -> Compare:
        """Compares the number of puts since the creation; 0 for a missing key."""
        return cls(key, "version", version, operator)

    @classmethod
    def exists(cls, key: str) -> Compare:
        """Requires that the key exists."""
        return cls(key, "version", 0, ">")

    @classmethod
    def missing(cls, key: str) -> Compare:
        """Requires that the key does not exist."""
        return cls(key, "version", 0)

    @classmethod
    def held_by(cls, key: str, session_id: str) -> Compare:
        """Requires that this session holds the key's EXCLUSIVE lock; with an empty id, that no session does."""
        return cls(key, "held_by", session_id)

    def message(self, full: _Full) -> kv_pb2.Compare:
        """Returns the condition as it is sent."""
        operand: dict[str, Any] = {self.what: self.operand}
        try:
            operator = _OPERATORS[self.operator]
        except KeyError:
            raise ValueError(f"{self.operator!r} is none of {', '.join(_OPERATORS)}") from None
        return kv_pb2.Compare(key=full(self.key), operator=operator, **operand)


@dataclass(frozen=True)
class Op:
    """One operation of a transaction: `Op.put("a", "x")`. Each says what its result is in TxnResult.results."""

    kind: str
    key: str
    value: bytes = b""
    flags: int = 0
    session_id: str = ""
    ephemeral: bool = False

    @classmethod
    def put(
        cls, key: str, value: bytes | str, *, flags: int = 0, ephemeral: bool = False, bind_session: str = ""
    ) -> Op:
        """Writes a key; its result is the KeyValue.

        An ephemeral key is deleted when the session of `session.kv.txn` ends. `bind_session` is the id of another
        session whose end deletes it.
        """
        return cls("put", key, to_bytes(value), flags, bind_session, ephemeral)

    @classmethod
    def get(cls, key: str) -> Op:
        """Reads a key; its result is the KeyValue, or None if it does not exist."""
        return cls("get", key)

    @classmethod
    def list(cls, prefix: str) -> Op:
        """Reads up to 1 000 keys with a prefix; its result is a list of KeyValues."""
        return cls("list", prefix)

    @classmethod
    def delete(cls, key: str) -> Op:
        """Deletes a key; its result is whether the key existed."""
        return cls("delete", key)

    @classmethod
    def delete_prefix(cls, prefix: str) -> Op:
        """Deletes all keys with a prefix, at most 10 000; its result is their number."""
        return cls("delete_prefix", prefix)

    def message(self, full: _Full, full_key: _Full, own: str) -> kv_pb2.Op:
        """Returns the operation as it is sent under a session, whose id is `own`."""
        if self.ephemeral and not (own or self.session_id):
            raise ValueError("an ephemeral key needs a session: use session.kv")
        session_id = self.session_id or (own if self.ephemeral else "")
        key = (full if self.kind in ("list", "delete_prefix") else full_key)(self.key)
        if self.kind == "put":
            put = kv_pb2.PutRequest(key=key, value=self.value, flags=self.flags, bind_session=session_id)
            return kv_pb2.Op(put=put)
        if self.kind == "get":
            return kv_pb2.Op(get=kv_pb2.GetRequest(key=key))
        if self.kind == "list":
            return kv_pb2.Op(list=kv_pb2.ListRequest(prefix=key))
        if self.kind == "delete":
            return kv_pb2.Op(delete=kv_pb2.DeleteRequest(key=key))
        return kv_pb2.Op(delete_prefix=kv_pb2.DeletePrefixRequest(prefix=key))


@dataclass(frozen=True)
class TxnResult:
    """The result of a transaction.

    `succeeded` says whether all compares were true; `results` has one result for each operation that ran, in order.
    """

    succeeded: bool
    results: tuple[Any, ...]
