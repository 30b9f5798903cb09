"""FenceGate: how a resource outside the cluster checks fencing tokens."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from tenure.errors import StaleToken
from tenure.types import Mode, Sequencer


class _Holding(Protocol):
    @property
    def sequencer(self) -> Sequencer: ...

    @property
    def mode(self) -> Mode: ...


class FenceGate:
    """Refuses holders that have lost an exclusive lock: it remembers the largest token it has seen for each key.

    Use it at the resource, in the process that does the writing; any thread can use it. With a `path` it stores the
    tokens in that file, for all processes of the machine and over restarts; this does not work on Windows. It is for
    EXCLUSIVE locks: shared holders have tokens in any order, so check those with `client.check_sequencer` or with
    guards.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._lock = threading.Lock()  # Guards what follows, and the file against other threads.
        self._seen: dict[str, int] = {}
        self._path = Path(path) if path is not None else None

    def check(self, proof: Sequencer | _Holding | str) -> int:
        """Returns the token, unless a larger one was seen for its key: then it raises StaleToken.

        The proof is a Held, a Sequencer or its text. Raises TokenInvalid if the text is not a sequencer.
        """
        if isinstance(proof, str):
            proof = Sequencer.from_text(proof)
        if not isinstance(proof, Sequencer):
            if proof.mode is not Mode.EXCLUSIVE:
                raise ValueError("a FenceGate is for EXCLUSIVE locks; check shared holds with client.check_sequencer")
            proof = proof.sequencer
        with self._lock, self._stored() as seen:
            largest = seen.get(proof.key, 0)
            if proof.fencing_token < largest:
                raise StaleToken(
                    f"token {proof.fencing_token} of {proof.key!r} is stale: {largest} was seen",
                    metadata={"key": proof.key, "token": str(proof.fencing_token), "largest": str(largest)},
                )
            seen[proof.key] = proof.fencing_token
        return proof.fencing_token

    @contextlib.contextmanager
    def _stored(self) -> Iterator[dict[str, int]]:
        """Yields the tokens that were seen, and stores them afterwards unless an error is raised."""
        if self._path is None:
            yield self._seen
            return
        import fcntl  # Not everywhere; only files need it.

        guard = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            try:
                seen = json.loads(self._path.read_text())
            except FileNotFoundError:
                seen = {}
            before = dict(seen)
            yield seen
            if seen != before:
                self._store(seen)
        finally:
            os.close(guard)

    def _store(self, seen: dict[str, int]) -> None:
        assert self._path is not None
        new = self._path.with_name(self._path.name + ".new")
        with new.open("w") as file:
            json.dump(seen, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
        directory = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)  # So that the new name survives a crash, too.
        finally:
            os.close(directory)
