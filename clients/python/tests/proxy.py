"""A TCP proxy whose connections can be cut and held up."""

from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    """Passes connections on to a target. `cut` breaks them; `hold` keeps them open and passes nothing."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.target = ""
        self._lock = threading.Lock()  # Guards _sockets, _cuts and _refuse.
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._cuts = 0
        self._refuse = False
        self._to_member = threading.Event()
        self._to_client = threading.Event()
        self.heal()
        self._start(self._accept)

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, name="test-proxy", daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                cuts, refuse = self._cuts, self._refuse
            member = None if refuse else self._reach()
            if member is None:
                client.close()
                continue
            with self._lock:
                self._sockets |= {client, member}
                if cuts != self._cuts:  # It was being made then.
                    self._shut(client, member)
            self._start(self._serve, client, member)

    def _reach(self) -> socket.socket | None:
        """Connects to the target, if it can be reached."""
        host, _, port = self.target.rpartition(":")
        with contextlib.suppress(OSError, ValueError):
            return socket.create_connection((host, int(port)))
        return None

    def _serve(self, client: socket.socket, member: socket.socket) -> None:
        """Passes on what comes from either side. Only when nobody reads them any more, sockets are closed."""
        back = threading.Thread(
            target=self._pump, args=(member, client, self._to_client), name="test-proxy", daemon=True
        )
        back.start()
        self._pump(client, member, self._to_member)
        back.join()
        with self._lock:
            self._sockets -= {client, member}
        client.close()
        member.close()

    def _pump(self, source: socket.socket, sink: socket.socket, gate: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                gate.wait()
                sink.sendall(data)
        self._shut(source, sink)

    @staticmethod
    def _shut(*sockets: socket.socket) -> None:
        for s in sockets:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Breaks all connections and refuses new ones."""
        with self._lock:
            self._refuse = True
            self._cuts += 1
            self._shut(*self._sockets)

    def hold(self, *, to_member: bool = True, to_client: bool = True) -> None:
        """Passes nothing on in one direction or both, without anybody being told."""
        if to_member:
            self._to_member.clear()
        if to_client:
            self._to_client.clear()

    def heal(self) -> None:
        """Passes everything on again."""
        with self._lock:
            self._refuse = False
        self._to_member.set()
        self._to_client.set()

    def close(self) -> None:
        """Ends it."""
        self.cut()
        self._to_member.set()
        self._to_client.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()
