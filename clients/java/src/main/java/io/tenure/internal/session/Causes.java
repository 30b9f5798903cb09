package io.tenure.internal.session;

import io.tenure.Applied;
import io.tenure.CloseCause;
import io.tenure.EndCause;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import java.util.Map;

/** What the end of a session or of a hold means. */
final class Causes {
  private Causes() {}

  /** Returns why the holds of such a session end. */
  static EndCause ofHolds(CloseCause why) {
    return switch (why) {
      case CLOSED -> EndCause.SESSION_CLOSED;
      case EXPIRED, AUTH_FAILED -> EndCause.SESSION_ENDED;
      case SUPERSEDED -> EndCause.SUPERSEDED;
      case EXPORTED -> EndCause.EXPORTED;
    };
  }

  /** Returns the error of the calls of such a session. */
  static TenureException ofCalls(CloseCause why, String sessionId, Applied applied) {
    return switch (why) {
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

  /** Whether the hold was lost, not given up. */
  static boolean isLoss(EndCause why) {
    return switch (why) {
      case LEASE_RAN_OUT, TAKEN_AWAY, SESSION_ENDED, SUPERSEDED -> true;
      case RELEASED, SESSION_CLOSED, EXPORTED -> false;
    };
  }

  /** Returns why a lock is no longer held, as text. */
  static String text(EndCause why) {
    return switch (why) {
      case RELEASED -> "it was released";
      case LEASE_RAN_OUT -> "the session was not renewed in time";
      case TAKEN_AWAY -> "it was taken away";
      case SESSION_CLOSED -> "its session was closed";
      case SESSION_ENDED -> "its session ended";
      case SUPERSEDED -> "another process took over its session";
      case EXPORTED -> "its session was handed over";
    };
  }
}
