"""Why a client could not connect to members."""

from __future__ import annotations

from tenure import errors
from tenure._core.members import MemberList
from tenure._core.unreachable import Cause, why
from tenure.aio._door import Door


class Unreached:
    """Counts the attempts to connect, and notes why the last one to each member failed, until one succeeds."""

    def __init__(self, members: MemberList, door: Door) -> None:
        self._members = members
        self._door = door
        self._causes: dict[str, Cause] = {}  # By the address of the member.
        self._reached = False  # Whether a member was ever connected to.
        self.attempts = 0

    def begin(self) -> int:
        """Counts an attempt, and returns its number."""
        self.attempts += 1
        return self.attempts

    def failed(self, address: str, error: errors.TenureError, attempt: int) -> None:
        """Notes why an attempt failed."""
        self._causes[address] = why(
            error, self._door.tls, sends_certificate=self._door.sends_certificate, attempt=attempt
        )

    def connected(self) -> None:
        """Notes that a member was connected to."""
        self._reached = True
        self._causes.clear()

    def distrusted(self, before: int) -> bool:
        """Whether TLS fails for certificates at every member, in attempts after so many, and none was ever reached.

        Waiting does not help then.
        """
        causes = [self._causes.get(address) for address in (*self._members.addresses, *self._causes)]
        return not self._reached and all(c is not None and c.certificate and c.attempt > before for c in causes)

    def __str__(self) -> str:
        """Names the members, and why the last attempt to connect to each failed."""
        addresses = dict.fromkeys((*self._members.addresses, *self._causes))
        return ", ".join(f"{a} ({self._causes.get(a, 'not tried yet')})" for a in addresses)
