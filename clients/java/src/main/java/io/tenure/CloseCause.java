package io.tenure;

import io.tenure.internal.Exceptions;
import java.util.Map;

/** Why a session is CLOSED. */
public enum CloseCause {
  /** Its user closed it. */
  CLOSED,
  /** It ended in the cluster: its TTL elapsed, or another client destroyed it. */
  EXPIRED,
  /** Its secret was refused. */
  AUTH_FAILED,
  /** Another process took it over. */
  SUPERSEDED,
  /** It was handed over to another process. */
  EXPORTED;

  /** Returns why the holds of such a session end. */
  EndCause ofHolds() {
    return switch (this) {
      case CLOSED -> EndCause.SESSION_CLOSED;
      case EXPIRED, AUTH_FAILED -> EndCause.SESSION_ENDED;
      case SUPERSEDED -> EndCause.SUPERSEDED;
      case EXPORTED -> EndCause.EXPORTED;
    };
  }

  /** Returns the error of the calls of such a session. */
  TenureException ofCalls(String sessionId, Applied applied) {
    return switch (this) {
      case CLOSED -> Exceptions.of(ErrorKind.SESSION_CLOSED, applied, "session " + sessionId + " is closed");
      case EXPIRED -> Exceptions.of(ErrorKind.SESSION_EXPIRED, applied, "session " + sessionId + " ended");
      case AUTH_FAILED ->
          Exceptions.sessionOver(
              ErrorKind.AUTH_FAILED, applied, "the secret of session " + sessionId + " was refused", Map.of(), null);
      case SUPERSEDED -> Exceptions.of(
          ErrorKind.SESSION_SUPERSEDED, applied, "another process took over session " + sessionId);
      case EXPORTED ->
          Exceptions.of(ErrorKind.SESSION_CLOSED, applied, "session " + sessionId + " was handed over");
    };
  }
}
