"""The end of a client or an agent, whichever thread brings it about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any

from tenure.sync._portal import Portal
from tenure.sync._threads import ThreadDispatcher, let_go, runs_for


class Ending:
    """Closes what runs in a portal, once, and then the portal."""

    def __init__(self, portal: Portal, dispatcher: ThreadDispatcher) -> None:
        self._portal = portal
        self._dispatcher = dispatcher
        self._begun = threading.Lock()  # Taken by the thread that closes, and never given back.
        self._ended = threading.Event()

    def run(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Closes it. Who comes while another thread does waits for that, except a callback."""
        if self._portal.closed:
            return
        let_go(self._portal)
        if not self._begun.acquire(blocking=False):
            if not (runs_for(self._portal) or self._dispatcher.calls):  # Whoever closes it may wait for that one.
                self._ended.wait()
            return
        try:
            self._portal.run(close())
        finally:  # Even if it was interrupted: then sessions end by their TTL.
            self._portal.close()
            self._ended.set()
        self._dispatcher.join()
