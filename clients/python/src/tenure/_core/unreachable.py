"""Says for people why a member could not be reached, as far as gRPC tells."""

from __future__ import annotations

from tenure import errors

TEXT_MAX = 200
LAST_ERROR = "last error: "

# What gRPC's text has in it, and what that means. The first that is found counts.
_CAUSES = (
    ("Connection refused", "connection refused"),
    ("address lookup failed", "its name is not known"),
    ("errors resolving", "its name is not known"),
    ("http1.x server", "it speaks HTTP/1: is this an HTTP port? gRPC's is 7400 by default"),
    ("WRONG_VERSION_NUMBER", "it has no TLS: use tenure://"),
    ("unknown service", "it does not serve Tenure's API: is this a peer port?"),
)


def why(error: errors.TenureError, tls: bool) -> str:
    """Returns why a first call to a member failed, in a few words."""
    text = str(error)
    for found, cause in _CAUSES:
        if found in text:
            return cause
    if isinstance(error, errors.DeadlineExceeded):
        return "no answer in time"
    if "Socket closed" in text and not tls:
        return "it closed the connection: if it demands TLS, use tenures://"
    return _short(text)


def _short(text: str) -> str:
    return text.rpartition(LAST_ERROR)[2][:TEXT_MAX]
