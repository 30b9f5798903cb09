"""Calls of a client, or under a session."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from tenure import errors
from tenure._rpc import Req, Res, Unary
from tenure.v1 import types_pb2

if TYPE_CHECKING:
    from tenure.aio._client import Client
    from tenure.aio._session import Session


class Guarding(Protocol):
    """A condition of a write, such as a Held."""

    @property
    def guard(self) -> types_pb2.Guard:
        """The condition."""
        ...


Guards = Iterable[Guarding]


class Calls:
    """Makes calls: for a client, or under a session. Each change is made once, however often it is sent."""

    def __init__(self, client: Client, session: Session | None = None) -> None:
        self._client = client
        self._session = session

    async def _change(
        self, rpc: Unary[Req, Res], request: Req, guards: Guards, timeout: float | None, others: bool = False
    ) -> Res:
        if isinstance(guards, str | bytes) or not isinstance(guards, Iterable):
            raise TypeError(f"guards are a list, as in guards=[held], not {guards!r}")
        conditions = [g.guard for g in guards]
        if self._session is not None:
            return await self._session._change(rpc, request, guards=conditions, others=others, timeout=timeout)
        options: types_pb2.CallOptions = request.options  # type: ignore[attr-defined]
        options.idempotency_key = secrets.token_bytes(16)
        options.guards.extend(conditions)
        try:
            return await self._client._call(rpc, request, change=True, timeout=timeout)
        except errors.SessionSecretWrong as error:  # Of another's session, which is not over for the caller.
            raise errors.PermissionDenied(
                str(error), reason=error.reason, applied=error.applied, metadata=error.metadata
            ) from None

    async def _read(self, rpc: Unary[Req, Res], request: Req, timeout: float | None) -> Res:
        return await self._client._call(rpc, request, timeout=timeout, session=self._session)


def read_options(stale: bool, min_revision: int) -> types_pb2.ReadOptions | None:
    """Returns how fresh a read must be."""
    if not stale and not min_revision:
        return None
    return types_pb2.ReadOptions(stale=stale, min_revision=min_revision)
