"""How sessions end, in errors and causes."""

from __future__ import annotations

from tenure import errors
from tenure.types import CloseCause, EndCause

# Why a session is over, by how a call that was made as the session is refused.
CAUSES: dict[type[errors.TenureError], CloseCause] = {
    errors.SessionNotFound: CloseCause.EXPIRED,
    errors.SessionExpired: CloseCause.EXPIRED,
    errors.SessionSuperseded: CloseCause.SUPERSEDED,
    errors.EpochMismatch: CloseCause.SUPERSEDED,
    errors.SessionSecretWrong: CloseCause.AUTH_FAILED,
    errors.SessionIDInvalid: CloseCause.EXPIRED,
}
# How the end of a session ends what it held.
ENDS: dict[CloseCause, EndCause] = {
    CloseCause.CLOSED: EndCause.SESSION_CLOSED,
    CloseCause.EXPIRED: EndCause.SESSION_ENDED,
    CloseCause.AUTH_FAILED: EndCause.SESSION_ENDED,
    CloseCause.SUPERSEDED: EndCause.SUPERSEDED,
    CloseCause.EXPORTED: EndCause.EXPORTED,
    CloseCause.FORKED: EndCause.FORKED,
}
# How a call is refused here once the session is over.
CLOSED_ERRORS: dict[CloseCause, type[errors.SessionClosed]] = {
    CloseCause.CLOSED: errors.SessionClosed,
    CloseCause.EXPIRED: errors.SessionExpired,
    CloseCause.AUTH_FAILED: errors.SessionSecretWrong,
    CloseCause.SUPERSEDED: errors.SessionSuperseded,
    CloseCause.EXPORTED: errors.SessionClosed,
    CloseCause.FORKED: errors.ForkedError,
}
