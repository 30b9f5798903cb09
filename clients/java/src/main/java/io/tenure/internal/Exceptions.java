package io.tenure.internal;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import java.util.Map;

/** Makes the errors of the API, whose constructors users do not see. */
public final class Exceptions {
  /** The constructor of errors, of the class that their kind has. */
  public static final Hidden<Facts, TenureException> CONSTRUCTOR = new Hidden<>(TenureException.class);

  private Exceptions() {}

  /**
   * What an error says.
   *
   * @param reason the reason that the cluster gave; empty for none
   * @param endsSession whether the session of the call is over, also where the kind does not say so
   */
  public record Facts(ErrorKind kind, Applied applied, String message, Map<String, String> details, String reason, Throwable cause,
      boolean endsSession) {}

  /** Returns an error that this library detected. */
  public static TenureException of(ErrorKind kind, Applied applied, String message) {
    return of(kind, applied, message, Map.of(), null);
  }

  /** Returns an error with what else is known of it. */
  public static TenureException of(ErrorKind kind, Applied applied, String message, Map<String, String> details, Throwable cause) {
    return CONSTRUCTOR.make(new Facts(kind, applied, message, details, "", cause, false));
  }

  /** Returns the error of a session that is over, whatever its kind. */
  public static TenureException sessionOver(
      ErrorKind kind, Applied applied, String message, Map<String, String> details, Throwable cause) {
    return CONSTRUCTOR.make(new Facts(kind, applied, message, details, "", cause, true));
  }

  /** Returns the same error with the reason that the cluster gave. */
  public static TenureException because(TenureException e, String reason) {
    return CONSTRUCTOR.make(new Facts(e.kind(), e.applied(), e.getMessage(), e.details(), reason, e.getCause(), isSessionOver(e)));
  }

  /** Returns the same error with the stack of the current thread, and the given one as its cause. */
  public static TenureException here(TenureException e) {
    return with(e, e.applied());
  }

  /** Returns the same error with another answer to whether anything was changed. */
  public static TenureException with(TenureException e, Applied known) {
    return CONSTRUCTOR.make(new Facts(e.kind(), known, e.getMessage(), e.details(), e.reason(), e, isSessionOver(e)));
  }

  /** Returns the error for a caller without a session. One that is refused for the secret of another's is over with nothing. */
  public static TenureException withoutSession(TenureException e) {
    return isSessionOver(e) && e.kind() == ErrorKind.AUTH_FAILED
        ? CONSTRUCTOR.make(new Facts(e.kind(), e.applied(), e.getMessage(), e.details(), e.reason(), e, false)) : e;
  }

  private static boolean isSessionOver(TenureException e) {
    return e instanceof TenureException.SessionOver;
  }
}
