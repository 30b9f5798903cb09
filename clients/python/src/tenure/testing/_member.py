"""Members as child processes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import Self

from tenure._core.several import texts

START_SECONDS = 60.0
STOP_SECONDS = 30.0
LOOK_SECONDS = 0.02
LOG_LINES = 40


class MemberFailed(Exception):
    """A member could not be started; the text says why, or has the end of the member's log."""


def find_binary() -> str:
    """Returns the path of the tenure program. Raises MemberFailed if there is none."""
    binary = os.environ.get("TENURE_BINARY") or shutil.which("tenure")
    if not binary:
        raise MemberFailed("there is no tenure program: set TENURE_BINARY to its path, or put `tenure` into PATH")
    return binary


class Member:
    """One member, with a temporary store and free ports.

    `with` starts it, and at the end stops it and removes the store.

    `flags` are further flags for `tenure serve`, and `binary` is the path of the program. After stop or kill, `start`
    uses the same addresses again. With a `directory`, its data is kept there, and not removed.
    """

    def __init__(self, *, flags: Sequence[str] = (), binary: str | None = None, directory: Path | None = None) -> None:
        self._binary = binary or find_binary()
        self._flags = texts("flags", flags)
        self._temporary = tempfile.TemporaryDirectory(prefix="tenure-test-") if directory is None else None
        self.directory = Path(self._temporary.name) if self._temporary is not None else Path(str(directory))
        self._data = self.directory / "data"
        self._log = self.directory / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._addresses: dict[str, str] = {}

    # Start and stop.

    def start(self) -> Self:
        """Starts it, at its previous addresses if it ran before, and waits until it serves. Raises MemberFailed."""
        return self.begin().wait()

    def begin(self) -> Self:
        """Starts it, and does not wait until it serves. Raises MemberFailed if the program cannot be run."""
        found = self._data / "addresses.json"
        with contextlib.suppress(FileNotFoundError):
            found.unlink()
        with self._log.open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    [self._binary, "serve", "--data-dir", str(self._data), *self._address_flags(), *self._flags],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            except OSError as error:
                raise MemberFailed(f"cannot run {self._binary}: {error.strerror}; see TENURE_BINARY") from None
        return self

    def wait(self) -> Self:
        """Waits until it serves, for at most a minute. Raises MemberFailed."""
        self._addresses = self._wait_for_addresses(self._data / "addresses.json")
        return self

    def _address_flags(self) -> list[str]:
        given = {flag.partition("=")[0] for flag in self._flags}
        flags = []
        for flag, name in (("--listen", "grpc"), ("--http", "http"), ("--peer", "peer")):
            if flag not in given:
                flags += [flag, self._addresses.get(name, "127.0.0.1:0")]
        return flags

    def _wait_for_addresses(self, path: Path) -> dict[str, str]:
        assert self._process is not None
        for _ in range(int(START_SECONDS / LOOK_SECONDS)):
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                return dict(json.loads(path.read_text()))
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(timeout=LOOK_SECONDS)
                raise MemberFailed(f"tenure serve ended with {code}:\n{self.log()}")
        self.kill()
        raise MemberFailed(f"tenure serve had no addresses within {START_SECONDS} s:\n{self.log()}")

    def stop(self) -> int:
        """Stops it as SIGTERM does, and returns its exit code."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            code = self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._process = None
        return code

    def kill(self) -> None:
        """Kills it, as `kill -9` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Pauses it (SIGSTOP), as if its machine hung, and returns when it stands still. It must be running."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        # The signal reaches one thread after the other: a call that is made meanwhile could still be answered.
        # WNOWAIT leaves the stop to be seen again by a second pause. macOS has waitid from Python 3.13 on.
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Continues it after `pause`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Stops it and removes its store."""
        self.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        if self._process is None:
            try:
                self.start()
            except BaseException:
                self.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Its addresses and log.

    @property
    def address(self) -> str:
        """host:port for gRPC clients."""
        return self._addresses["grpc"]

    @property
    def http_address(self) -> str:
        """host:port for HTTP clients."""
        return self._addresses["http"]

    @property
    def uri(self) -> str:
        """Its connection string, without namespace."""
        return f"tenure://{self.address}"

    def log(self) -> str:
        """Returns the last 40 lines of its log."""
        with contextlib.suppress(FileNotFoundError):
            return "\n".join(self._log.read_text(errors="replace").splitlines()[-LOG_LINES:])
        return ""


class Cluster:
    """Several members of one cluster, each a process.

    `with` starts them, and at the end stops them and removes their stores.
    """

    def __init__(self, size: int = 3, *, flags: Sequence[str] = (), binary: str | None = None) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="tenure-test-")
        names = [f"tenure-{i + 1}" for i in range(size)]
        self._reserved = [_reserve() for _ in names]
        peers = {name: "{}:{}".format(*s.getsockname()) for name, s in zip(names, self._reserved, strict=True)}
        if sys.platform != "linux":  # On other systems a member could not listen there.
            self._release()
        initial = ",".join(f"{name}={peer}" for name, peer in peers.items())
        self.members = [
            Member(
                flags=[f"--name={name}", f"--peer={peer}", f"--initial-cluster={initial}", *texts("flags", flags)],
                binary=binary,
                directory=_made(Path(self._directory.name) / name),
            )
            for name, peer in peers.items()
        ]

    @property
    def uri(self) -> str:
        """Connection string of all members, without namespace."""
        return "tenure://" + ",".join(member.address for member in self.members)

    def start(self) -> Self:
        """Starts all members, and waits until they serve."""
        try:
            for member in self.members:
                member.begin()
            for member in self.members:
                member.wait()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Stops all members and removes their stores."""
        for member in self.members:
            member.close()
        self._release()
        self._directory.cleanup()

    def _release(self) -> None:
        for s in self._reserved:
            s.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True)
    return directory


def _reserve() -> socket.socket:
    """Binds a socket to a free port: members must know each other's addresses before they start.

    While it is open and does not listen, Linux gives the port only to a process that asks for this port.
    """
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved
