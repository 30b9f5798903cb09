"""Keys and values."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from tenure import errors
from tenure._convert import to_bytes
from tenure._rpc import DELETE, DELETE_PREFIX, GET, LIST, PUT, TXN
from tenure.aio._calls import Calls, Guards, read_options
from tenure.txn import Compare, Op, TxnResult
from tenure.types import KeyValue
from tenure.v1 import kv_pb2, types_pb2


@dataclass(frozen=True)
class SessionAlive:
    """A guard for writes: the session with this id must be alive."""

    session_id: str

    @property
    def guard(self) -> types_pb2.Guard:
        """The condition."""
        return types_pb2.Guard(session_alive=self.session_id)


class KV(Calls):
    """Keys and values: `client.kv`, or `session.kv` for changes that belong to a session.

    Values are bytes, or text, which is stored as UTF-8. `timeout` is in seconds; without it, calls take as long as
    Client says. `guards` are Helds or SessionAlives: if one is no longer valid, nothing is written and
    FencingTokenStale or a SessionClosed error is raised.
    """

    async def get(
        self, key: str, *, stale: bool = False, min_revision: int = 0, timeout: float | None = None
    ) -> KeyValue | None:
        """Returns a key, or None if it does not exist.

        The read is linearizable. With `stale`, a member answers from its own data, which may be old; it waits until it
        has `min_revision`.
        """
        request = kv_pb2.GetRequest(key=self._client._namespace.key(key), read=read_options(stale, min_revision))
        try:
            answer = await self._read(GET, request, timeout)
        except errors.KeyNotFound:
            return None
        return self._client._converter.kv(answer.kv)

    async def list(
        self,
        prefix: str = "",
        *,
        keys_only: bool = False,
        page_size: int = 0,
        stale: bool = False,
        timeout: float | None = None,
    ) -> AsyncIterator[KeyValue]:
        """Iterates over the keys with a prefix, in byte order.

        It reads page by page; all keys of one page are of one revision. A `page_size` of 0 is 1 000, and `timeout` is
        for one page.
        """
        token = ""
        while True:
            page, token = await self.page(
                prefix, token, keys_only=keys_only, page_size=page_size, stale=stale, timeout=timeout
            )
            for kv in page:
                yield kv
            if not token:
                return

    async def page(
        self,
        prefix: str = "",
        page_token: str = "",
        *,
        keys_only: bool = False,
        page_size: int = 0,
        stale: bool = False,
        timeout: float | None = None,
    ) -> tuple[builtins.list[KeyValue], str]:
        """Returns one page of `list`, and the token of the next page; it is empty after the last."""
        request = kv_pb2.ListRequest(
            prefix=self._client._namespace.full(prefix),
            keys_only=keys_only,
            page_size=page_size,
            page_token=page_token,
            read=read_options(stale, 0),
        )
        answer = await self._read(LIST, request, timeout)
        return [self._client._converter.kv(kv) for kv in answer.kvs], answer.next_page_token

    async def put(
        self,
        key: str,
        value: bytes | str,
        *,
        flags: int = 0,
        if_revision: int | None = None,
        ephemeral: bool = False,
        sequential: bool = False,
        guards: Guards = (),
        timeout: float | None = None,
    ) -> KeyValue:
        """Writes a key and returns it, with the value that was given.

        `if_revision` is the mod_revision that the key must have; 0 means that it must not exist. Otherwise
        CompareFailed is raised. An `ephemeral` key is deleted when the session ends. A `sequential` key gets a suffix
        of 23 digits, which grows; the returned key has it. `flags` is a number of your own.
        """
        request = kv_pb2.PutRequest(
            key=self._client._namespace.key(key),
            value=to_bytes(value),
            flags=flags,
            if_revision=if_revision,
            sequential=sequential,
        )
        if ephemeral:
            if self._session is None:
                raise ValueError("an ephemeral key needs a session: use session.kv")
            request.bind_session = self._session.id
        answer = await self._change(PUT, request, guards, timeout)
        answer.kv.value = request.value
        return self._client._converter.kv(answer.kv)

    async def delete(
        self, key: str, *, if_revision: int | None = None, guards: Guards = (), timeout: float | None = None
    ) -> bool:
        """Deletes a key. Returns whether it existed. `if_revision` is as for put.

        A lock of the same name remains.
        """
        request = kv_pb2.DeleteRequest(key=self._client._namespace.key(key), if_revision=if_revision)
        return (await self._change(DELETE, request, guards, timeout)).deleted

    async def delete_prefix(self, prefix: str, *, guards: Guards = (), timeout: float | None = None) -> int:
        """Deletes all keys with a prefix. Returns their number.

        If there are more than 10 000, it deletes none and raises TooManyKeys. An empty prefix means every key of the
        namespace; without a namespace it is refused.
        """
        request = kv_pb2.DeletePrefixRequest(prefix=self._client._namespace.full(prefix))
        return (await self._change(DELETE_PREFIX, request, guards, timeout)).deleted

    async def txn(
        self,
        compares: Sequence[Compare] = (),
        then: Sequence[Op] = (),
        otherwise: Sequence[Op] = (),
        *,
        guards: Guards = (),
        timeout: float | None = None,
    ) -> TxnResult:
        """Runs the operations of `then` if all compares are true, otherwise those of `otherwise`.

        It is atomic: all of the operations take effect or none, in one revision.
        """
        full, key = self._client._namespace.full, self._client._namespace.key
        own = "" if self._session is None else self._session.id
        request = kv_pb2.TxnRequest(
            compares=[c.message(key) for c in compares],
            then=[o.message(full, key, own) for o in then],
            otherwise=[o.message(full, key, own) for o in otherwise],
        )
        others = any(o.session_id not in ("", own) for o in (*then, *otherwise))
        answer = await self._change(TXN, request, guards, timeout, others)
        done = request.then if answer.succeeded else request.otherwise
        for op, response in zip(done, answer.responses, strict=False):
            if response.HasField("put"):
                response.put.kv.value = op.put.value  # As of a put alone.
        return TxnResult(answer.succeeded, tuple(self._result(r) for r in answer.responses))

    def _result(self, response: kv_pb2.OpResponse) -> Any:
        converter = self._client._converter
        kind = response.WhichOneof("kind")
        if kind == "get":
            return converter.kv(response.get.kv) if response.get.HasField("kv") else None
        if kind == "list":
            return [converter.kv(kv) for kv in response.list.kvs]
        if kind == "put":
            return converter.kv(response.put.kv)
        if kind == "delete":
            return response.delete.deleted
        if kind == "delete_prefix":
            return response.delete_prefix.deleted
        return None
