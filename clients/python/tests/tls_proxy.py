"""A proxy that speaks TLS with clients, and passes what they say on to a member without TLS."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from pathlib import Path

# Certificates for tests; see main.go there.
CERTS = Path(__file__).resolve().parents[3] / "test" / "certs"

HANDSHAKE_SECONDS = 60.0


def context(folder: str, pair: str = "member", *, demand: bool = False) -> ssl.SSLContext:
    """Returns how a member of an authority speaks TLS; `demand` is for clients with a certificate of the same."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.set_alpn_protocols(["h2"])
    made.load_cert_chain(CERTS / folder / f"{pair}.crt", CERTS / folder / f"{pair}.key")
    made.load_verify_locations(CERTS / folder / "ca.crt")
    made.verify_mode = ssl.CERT_REQUIRED if demand else ssl.CERT_NONE
    return made


class TLSProxy:
    """Listens on a port of the kernel's choice. Each connection has a thread, which alone touches it."""

    def __init__(self, secured: ssl.SSLContext, target: str = "") -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._secured = secured
        self._lock = threading.Lock()  # Guards _raw.
        self._raw: set[socket.socket] = set()  # A second handle on each connection, to cut it.
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, name="test-tls-proxy", daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            raw = client.dup()
            with self._lock:
                self._raw.add(raw)
            self._start(self._serve, client, raw)

    def _serve(self, client: socket.socket, raw: socket.socket) -> None:
        host, _, port = self.target.rpartition(":")
        with contextlib.suppress(OSError, ValueError):
            client.settimeout(HANDSHAKE_SECONDS)
            with self._secured.wrap_socket(client, server_side=True, do_handshake_on_connect=False) as secured:
                try:
                    secured.do_handshake()
                except ssl.SSLError:
                    secured.shutdown(socket.SHUT_WR)
                    while secured.recv(4096):  # Else what is unread takes back the alert that says why.
                        pass
                else:
                    with socket.create_connection((host, int(port))) as member:
                        _pass_on(secured, member)
        with self._lock:
            self._raw.discard(raw)
        raw.close()

    def secure(self, secured: ssl.SSLContext) -> None:
        """Speaks otherwise with those who connect from now on, and cuts all others off."""
        self._secured = secured
        self.cut()

    def cut(self) -> None:
        """Breaks all connections; new ones work."""
        with self._lock:
            for raw in self._raw:
                with contextlib.suppress(OSError):
                    raw.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends it."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        self.cut()
        for thread in self._threads:
            thread.join()


def _pass_on(client: ssl.SSLSocket, member: socket.socket) -> None:
    """Passes on what comes from either side, until one ends."""
    client.settimeout(None)
    while True:
        readable, _, _ = select.select([client, member], [], [])
        if client in readable:
            data = client.recv(65536)
            while client.pending():
                data += client.recv(65536)
            if not data:
                return
            member.sendall(data)
        if member in readable:
            data = member.recv(65536)
            if not data:
                return
            client.sendall(data)
