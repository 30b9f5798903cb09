"""Says for people why a member could not be reached, as far as gRPC tells."""

from __future__ import annotations

from dataclasses import dataclass

from tenure import errors

TEXT_MAX = 200
LAST_ERROR = "last error: "

CLEAR = "the token is not sent there without TLS: use tenures://, or insecure=true"
MAY_WANT_TLS = "it closed the connection: if it demands TLS, use tenures://"
MAY_WANT_CERT = "it closed the connection: if it demands a client certificate, set cert_file and key_file"

TLS = "TLS failed: "
UNKNOWN_CA = (
    TLS
    + "its certificate is not signed by a trusted authority: set ca_file to the certificate of the one that signed it"
)
OTHER_NAME = TLS + "its certificate is for another name: connect by a name that it has, or set server_name"
OUT_OF_DATE = TLS + "its certificate has expired or is not valid yet: renew it, and check the clocks"
WANTS_CERT = TLS + "it demands a client certificate: set cert_file and key_file"
REFUSES = TLS + "it refuses the client certificate: check who signed cert_file, and that it has not expired"
BAD_FILES = TLS + "ca_file, cert_file or key_file cannot be used"

# What gRPC's text has in it, and what that means. The first that is found counts.
_CAUSES = (
    ("Connection refused", "connection refused"),
    ("address lookup failed", "its name is not known"),
    ("errors resolving", "its name is not known"),
    ("http1.x server", "it speaks HTTP/1: is this an HTTP port? gRPC's is 7400 by default"),
    ("WRONG_VERSION_NUMBER", "it has no TLS: use tenure://"),
    ("unknown service", "it does not serve Tenure's API: is this a peer port?"),
)

# Likewise, of certificates.
_CERTIFICATE_CAUSES = (
    ("certificate has expired", OUT_OF_DATE),
    ("certificate is not yet valid", OUT_OF_DATE),
    ("CERTIFICATE_VERIFY_FAILED", UNKNOWN_CA),
    ("Hostname Verification Check failed", OTHER_NAME),
    ("Failed to create security handshaker", BAD_FILES),
)

# With TLS 1.3 a member says only after the handshake that it refuses the client; gRPC cannot read it then.
_REFUSED = "Unwrap failed"


@dataclass(frozen=True)
class Cause:
    """Why a member could not be reached."""

    text: str
    certificate: bool = False  # Whether a certificate, or a file of TLS, is to blame, so that waiting does not help.
    attempt: int = 0

    def __str__(self) -> str:
        return self.text


def why(error: errors.TenureError, tls: bool, *, sends_certificate: bool = False, attempt: int = 0) -> Cause:
    """Returns why a first call to a member failed, in a few words."""
    text = str(error)
    if isinstance(error, errors.TLSFailed):
        return Cause(TLS + text, True, attempt)
    for found, cause in _CAUSES:
        if found in text:
            return Cause(cause, False, attempt)
    for found, cause in _CERTIFICATE_CAUSES:
        if tls and found in text:
            return Cause(cause, True, attempt)
    if tls and _REFUSED in text:
        return Cause(REFUSES if sends_certificate else WANTS_CERT, True, attempt)
    if isinstance(error, errors.DeadlineExceeded):
        return Cause("no answer in time", False, attempt)
    if "Socket closed" in text:
        return Cause(MAY_WANT_CERT if tls else MAY_WANT_TLS, False, attempt)
    return Cause(_short(text), False, attempt)


def _short(text: str) -> str:
    return text.rpartition(LAST_ERROR)[2][:TEXT_MAX]
