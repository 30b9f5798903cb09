"""The token by which members know who calls."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable

from tenure import errors
from tenure._core.clock import Clock
from tenure._core.security import Security, TokenSource
from tenure.aio._function import as_exception, contained, outside
from tenure.aio._wait import hear, stop

log = logging.getLogger("tenure")

# How old a token may be before its file is read again, or its function called again.
TOKEN_SECONDS = 10.0
# How long calls wait for a new token while there is an old one.
OVERDUE_SECONDS = 1.0
# How long one whose token was refused waits for another one.
RENEW_SECONDS = 5.0
# How long a source that failed is not asked again while there is an old token, unless a member refuses that.
FAILED_SECONDS = 5.0


class Token:
    """A token from a text, a file or a function of the program.

    `text` is what was read last, for streams: the calls around them keep it new. One task at a time asks the source. It
    goes on when those who wait for it give up, so that a function that hangs is called once.
    """

    def __init__(self, source: TokenSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._read_at = 0.0
        self._asking: asyncio.Task[None] | None = None
        self._asked_at = 0.0  # When that began.
        self._failed_at = 0.0
        self._failing = False  # Whether the source failed when it was last asked.
        self.text = ""

    async def get(self, seconds: float | None) -> str:
        """Returns the token. Raises Unauthenticated if there never was one, or Unavailable after so many seconds.

        If its source fails, or takes longer than OVERDUE_SECONDS, the one before is returned: a member says whether it
        is still good. Once it has failed it is asked in the background, now and then, until it answers.
        """
        if self.text and self._failing:
            if self._clock.now() - self._failed_at >= FAILED_SECONDS:
                self._ask()
        elif not self._fresh():
            asking = self._ask()
            overdue = self._asked_at + OVERDUE_SECONDS - self._clock.now()
            if self.text and (seconds is None or overdue < seconds):
                await _answered(asking, max(0.0, overdue))
            elif not await _answered(asking, seconds):
                raise errors.Unavailable("no token: the function that returns it has not answered", applied=False)
            elif not self.text:
                asking.result()
        return self.text

    async def renew(self, used: str, seconds: float | None) -> bool:
        """Asks the source again, after a member refused a token; returns whether there is another one now.

        It waits for so many seconds at most, and for RENEW_SECONDS.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + (RENEW_SECONDS if seconds is None else min(seconds, RENEW_SECONDS))
        if self._asking is not None:  # It was asked before the member was, and may answer the same.
            await _answered(self._asking, end - loop.time())
        if self.text == used and (left := end - loop.time()) > 0:
            await _answered(self._ask(), left)
        return self.text != used

    async def close(self) -> None:
        """Stops asking."""
        if self._asking is not None:
            await stop(self._asking)

    def _fresh(self) -> bool:
        return bool(self.text) and self._clock.now() - self._read_at < TOKEN_SECONDS

    def _ask(self) -> asyncio.Task[None]:
        """Returns the task that asks the source; one begins if there is none."""
        if self._asking is None or self._asking.done():
            self._asked_at = self._clock.now()
            self._asking = outside(lambda: asyncio.get_running_loop().create_task(self._read(), name="tenure-token"))
            self._asking.add_done_callback(hear)
        return self._asking

    async def _read(self) -> None:
        try:
            text = await _ask(self._source)
        except Exception as error:
            self._failed_at = self._clock.now()
            if not self._failing:
                self._failing = True
                log.warning("no new token, the one before is used while there is one: %s", str(error) or repr(error))
            if not self.text:
                raise errors.Unauthenticated(f"no token: {error}") from error
            return
        if self._failing:
            self._failing = False
            log.warning("there is a new token again")
        self.text, self._read_at = text, self._clock.now()


async def _answered(asking: asyncio.Task[None], seconds: float | None) -> bool:
    """Waits for an answer of the source; returns whether it came within so many seconds."""
    done, _ = await asyncio.wait({asking}, timeout=seconds)
    return bool(done)


async def _ask(source: TokenSource) -> str:
    """Calls the program's function, in a thread unless it is a coroutine function: it may wait for something."""
    if isinstance(source, _Quick):
        return checked(source())
    result = source() if inspect.iscoroutinefunction(source) else await _in_thread(source)
    return checked(await contained(result) if inspect.isawaitable(result) else result)


def _in_thread(source: TokenSource) -> asyncio.Future[str | Awaitable[str]]:
    """Calls a function in a thread of its own, for which nothing waits: if it hangs, the process ends all the same."""
    answer: concurrent.futures.Future[str | Awaitable[str]] = concurrent.futures.Future()
    answer.set_running_or_notify_cancel()  # From now on nothing but its end ends it.
    context = contextvars.copy_context()

    def call() -> None:
        try:
            answer.set_result(context.run(source))
        except BaseException as error:
            answer.set_exception(as_exception(error))

    threading.Thread(target=call, name="tenure-token", daemon=True).start()
    return asyncio.wrap_future(answer)


class _Quick:
    """A source that does not wait."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read

    def __call__(self) -> str:
        return self._read()


def checked(text: object) -> str:
    """Returns a token without space around it. Raises a ValueError, or TypeError, if it cannot be sent."""
    if not isinstance(text, str):
        raise TypeError(f"a token is a str, not a {type(text).__name__}")
    text = text.strip()
    if not text or any(not "!" <= character <= "~" for character in text):
        raise ValueError("the token is empty, or has characters that are not printable ASCII")
    return text


def token_of(security: Security, clock: Clock) -> Token | None:
    """Returns the token that there is, if any. Raises Unauthenticated if it cannot be used."""
    if not security.has_token:
        return None
    token = security.token
    if callable(token):
        return Token(token, clock)  # It may take its time, and waits for the first call.

    def read() -> str:
        if isinstance(token, str) and token:
            return token
        with open(security.token_file) as file:
            return file.read()

    try:
        checked(read())
    except OSError as error:
        raise errors.Unauthenticated(f"no token: token_file {security.token_file}: {error.strerror}") from None
    except ValueError as error:
        raise errors.Unauthenticated(str(error)) from None
    return Token(_Quick(read), clock)
