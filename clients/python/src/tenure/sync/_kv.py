"""Keys and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tenure import aio
from tenure.aio._calls import Guards
from tenure.sync._portal import Portal
from tenure.txn import Compare, Op, TxnResult
from tenure.types import KeyValue


class KV:
    """Keys and values: `client.kv`, or `session.kv` for changes that belong to a session.

    Values are bytes, or text, which is stored as UTF-8. `timeout` is in seconds; without it, calls take as long as
    Client says. `guards` are Helds or SessionAlives: if one is no longer valid, nothing is written and
    FencingTokenStale or a SessionClosed error is raised.
    """

    def __init__(self, portal: Portal, kv: aio.KV) -> None:
        self._portal = portal
        self._aio = kv

    def get(
        self, key: str, *, stale: bool = False, min_revision: int = 0, timeout: float | None = None
    ) -> KeyValue | None:
        """Returns a key, or None if it does not exist.

        The read is linearizable. With `stale`, a member answers from its own data, which may be old; it waits until it
        has `min_revision`.
        """
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
        """Iterates over the keys with a prefix, in byte order.

        It reads page by page; all keys of one page are of one revision. A `page_size` of 0 is 1 000, and `timeout` is
        for one page.
        """
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

        `if_revision` is the mod_revision that the key must have; 0 means that it must not exist. Otherwise
        CompareFailed is raised. An `ephemeral` key is deleted when the session ends. A `sequential` key gets a suffix
        of 23 digits, which grows; the returned key has it. `flags` is a number of your own.
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
        """Deletes a key. Returns whether it existed. `if_revision` is as for put.

        A lock of the same name remains.
        """
        return self._portal.run(self._aio.delete(key, if_revision=if_revision, guards=guards, timeout=timeout))

    def delete_prefix(self, prefix: str, *, guards: Guards = (), timeout: float | None = None) -> int:
        """Deletes all keys with a prefix. Returns their number.

        If there are more than 10 000, it deletes none and raises TooManyKeys. An empty prefix means every key of the
        namespace; without a namespace it is refused.
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
        """Runs the operations of `then` if all compares are true, otherwise those of `otherwise`.

        It is atomic: all of the operations take effect or none, in one revision.
        """
        return self._portal.run(self._aio.txn(compares, then, otherwise, guards=guards, timeout=timeout))
