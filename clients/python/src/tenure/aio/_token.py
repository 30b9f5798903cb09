"""The token by which members know who calls."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

from tenure import errors
from tenure._core.clock import Clock
from tenure._core.security import Security, TokenSource

# How old a token may be before its file is read again, or its function called again.
TOKEN_SECONDS = 10.0


class Token:
    """A token from a text, a file or a function of the program.

    `text` is what was read last, for streams: the calls around them keep it new.
    """

    def __init__(self, source: TokenSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._read_at = 0.0
        self._asking = asyncio.Lock()
        self.text = ""

    async def get(self) -> str:
        """Returns the token. Raises Unauthenticated if there never was one.

        If its source fails, the one before is returned: a member says whether it is still good.
        """
        if not self._fresh():
            async with self._asking:
                if not self._fresh():
                    await self._read()
        return self.text

    async def renew(self, used: str) -> bool:
        """Asks the source again, after a member refused a token; returns whether there is another one now."""
        async with self._asking:
            if self.text == used:
                await self._read()
        return self.text != used

    def _fresh(self) -> bool:
        return bool(self.text) and self._clock.now() - self._read_at < TOKEN_SECONDS

    async def _read(self) -> None:
        try:
            text = await _ask(self._source)
        except Exception as error:
            if not self.text:
                raise errors.Unauthenticated(f"no token: {error}") from error
            return
        self.text, self._read_at = text, self._clock.now()


async def _ask(source: TokenSource) -> str:
    """Calls the program's function, in a thread unless it is a coroutine function: it may wait for something."""
    if isinstance(source, _Quick):
        return checked(source())
    result = source() if inspect.iscoroutinefunction(source) else await asyncio.to_thread(source)
    return checked(await result if inspect.isawaitable(result) else result)


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
