"""Keys and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tenure import aio
from tenure.aio._kv import Guards
from tenure.sync._portal import Portal
from tenure.txn import Compare, Op, TxnResult
from tenure.types import KeyValue


class KV:
    """Keys and values: `client.kv`, or `session.kv` for changes that belong to a session."""

    def __init__(self, portal: Portal, kv: aio.KV) -> None:
        self._portal = portal
        self._aio = kv

    def get(
        self, key: str, *, stale: bool = False, min_revision: int = 0, timeout: float | None = None
    ) -> KeyValue | None:
        """Returns a key; None when it does not exist. The read is linearizable, unless stale is asked for."""
        return self._portal.run(self._aio.get(key, stale=stale, min_revision=min_revision, timeout=timeout))

    def list(
        self,
        prefix: str = "",
        *,
        keys_only: bool = False,
        page_size: int = 0,
        stale: bool = False,
        timeout: float | None = None,
    ) -> Iterator[KeyValue]:
        """Iterates over the keys with a prefix, in byte order, page by page. Each page is of one revision."""
        token = ""
        while True:
            page, token = self._portal.run(
                self._aio.page(prefix, token, keys_only=keys_only, page_size=page_size, stale=stale, timeout=timeout)
            )
            yield from page
            if not token:
                return

    def put(
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

        if_revision demands the key's present mod_revision, 0 that it does not exist; else CompareFailed. An ephemeral
        key is deleted when the session ends. A sequential one gets a suffix of 23 digits.
        """
        return self._portal.run(
            self._aio.put(
                key,
                value,
                flags=flags,
                if_revision=if_revision,
                ephemeral=ephemeral,
                sequential=sequential,
                guards=guards,
                timeout=timeout,
            )
        )

    def delete(
        self, key: str, *, if_revision: int | None = None, guards: Guards = (), timeout: float | None = None
    ) -> bool:
        """Deletes a key's value. Returns whether there was one."""
        return self._portal.run(self._aio.delete(key, if_revision=if_revision, guards=guards, timeout=timeout))

    def delete_prefix(self, prefix: str, *, guards: Guards = (), timeout: float | None = None) -> int:
        """Deletes the values of all keys with a prefix, at most 10 000, or none. Returns how many.

        An empty prefix means every key of the namespace; without a namespace it is refused.
        """
        return self._portal.run(self._aio.delete_prefix(prefix, guards=guards, timeout=timeout))

    def txn(
        self,
        compares: Sequence[Compare] = (),
        then: Sequence[Op] = (),
        otherwise: Sequence[Op] = (),
        *,
        guards: Guards = (),
        timeout: float | None = None,
    ) -> TxnResult:
        """Compares, then does one of two lists of operations, whole or not at all."""
        return self._portal.run(self._aio.txn(compares, then, otherwise, guards=guards, timeout=timeout))
