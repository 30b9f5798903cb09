"""Namespaces: a prefix of every key that a client's user does not see."""

from __future__ import annotations

from tenure import errors


class Namespace:
    """Puts `name/` before every key that goes out and takes it off every key that comes in. Empty: does nothing."""

    def __init__(self, name: str = "") -> None:
        self.prefix = name.strip("/") + "/" if name.strip("/") else ""

    def key(self, key: str) -> str:
        """Returns the key as the cluster knows it.

        Raises KeyEmpty, because the cluster does not see an empty key in a namespace, and TypeError.
        """
        if not isinstance(key, str):
            raise TypeError(f"a key is a str, not {type(key).__name__}")
        if not key:
            raise errors.KeyEmpty("the key is empty")
        return self.prefix + key

    def full(self, prefix: str) -> str:
        """Returns a prefix of keys as the cluster knows it; it may be empty."""
        return self.prefix + prefix

    def short(self, key: str) -> str:
        """Returns the key as the user knows it. A key of another namespace is returned whole."""
        return key.removeprefix(self.prefix)

    def range_end(self, key: str) -> str:
        """Returns the cluster's end of a range; an empty end means the end of the namespace."""
        if key or not self.prefix:
            return self.prefix + key
        return self.prefix[:-1] + chr(ord("/") + 1)
