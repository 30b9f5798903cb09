"""What belongs to a process stays with it: a forked child is refused."""

from __future__ import annotations

import os

from tenure import errors

# What works instead. A child of a process that has used gRPC cannot use it.
ADVICE = "start the child with multiprocessing's spawn or forkserver, or fork before a client is opened"


class ForkGuard:
    """Remembers the process that made it."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def forked(self) -> bool:
        """Whether this is another process than the one that made it."""
        return os.getpid() != self._pid

    def check(self) -> None:
        """Raises ForkedError in a forked child."""
        if self.forked:
            raise errors.ForkedError(
                f"this client belongs to process {self._pid}, and this is its forked child {os.getpid()}: "
                f"sessions and what they hold stay with the parent; {ADVICE}"
            )
