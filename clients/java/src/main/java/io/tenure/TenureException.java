package io.tenure;

import java.util.Map;

/**
 * A call failed. {@link #kind} says why, and {@link #applied} whether anything was changed. The nested classes are for the kinds that
 * programs usually catch; all other kinds are plain TenureExceptions. Branch on the class or the kind, never on the message.
 */
public class TenureException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What went wrong. */
  private final ErrorKind kind;
  /** Whether anything was changed. */
  private final Applied applied;
  private final transient Map<String, String> details;
  /** The reason that the cluster gave; empty for none. */
  private String reason = "";

  TenureException(ErrorKind kind, Applied applied, String message, Map<String, String> details, Throwable cause) {
    super(message, cause);
    this.kind = kind;
    this.applied = applied;
    this.details = Map.copyOf(details);
  }

  static TenureException of(ErrorKind kind, Applied applied, String message) {
    return of(kind, applied, message, Map.of(), null);
  }

  static TenureException of(
      ErrorKind kind, Applied applied, String message, Map<String, String> details, Throwable cause) {
    return switch (kind) {
      case SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_CLOSED -> new SessionOver(kind, applied, message, details, cause);
      case KEY_NOT_FOUND, LOCK_NOT_FOUND, SESSION_NOT_FOUND, NODE_NOT_FOUND, SERVICE_NOT_FOUND, CHECK_NOT_FOUND, QUERY_NOT_FOUND ->
          new NotFound(kind, applied, message, details, cause);
      case COMPARE_FAILED -> new CompareFailed(kind, applied, message, details, cause);
      case STALE_TOKEN, NOT_HELD -> new StaleToken(kind, applied, message, details, cause);
      case TIMEOUT -> new TimedOut(kind, applied, message, details, cause);
      case COMPACTED, HISTORY_CHANGED, TOO_SLOW -> new HistoryLost(kind, applied, message, details, cause);
      case UNAVAILABLE, TLS_FAILED, OUTCOME_UNKNOWN -> new Unavailable(kind, applied, message, details, cause);
      default -> new TenureException(kind, applied, message, details, cause);
    };
  }

  /** Names the reason that the cluster gave. */
  TenureException because(String given) {
    reason = given;
    return this;
  }

  /** Returns the same error with the stack of the current thread, and this one as its cause. */
  TenureException here() {
    return with(applied);
  }

  /** Returns the same error with another answer to whether anything was changed. */
  TenureException with(Applied known) {
    TenureException same = this instanceof SessionOver
        ? new SessionOver(kind, known, getMessage(), details(), this) : of(kind, known, getMessage(), details(), this);
    return same.because(reason);
  }

  /** Returns the error for a caller without a session. One that is refused for the secret of another's is over with nothing. */
  TenureException withoutSession() {
    return this instanceof SessionOver && kind == ErrorKind.AUTH_FAILED
        ? new TenureException(kind, applied, getMessage(), details(), this).because(reason) : this;
  }

  /** {@return the cluster's name for the error, such as KEY_NOT_FOUND; empty if this library detected it} */
  public String reason() {
    return reason;
  }

  /** {@return the class, the message and the kind; and {@link #applied}, unless it is NO} */
  @Override
  public String toString() {
    return super.toString() + " [" + kind + (applied == Applied.NO ? "" : ", applied: " + applied) + "]";
  }

  /** {@return what went wrong} */
  public ErrorKind kind() {
    return kind;
  }

  /** {@return whether anything was changed} */
  public Applied applied() {
    return applied;
  }

  /** {@return facts that the cluster gave with the error; empty if there are none} */
  public Map<String, String> details() {
    return details == null ? Map.of() : details;
  }

  /** The session can no longer be used: SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_CLOSED, or AUTH_FAILED if its secret was refused. Open another one. */
  public static final class SessionOver extends TenureException {
    private static final long serialVersionUID = 1L;

    SessionOver(ErrorKind k, Applied a, String m, Map<String, String> d, Throwable c) {
      super(k, a, m, d, c);
    }
  }

  /** The key, lock or session does not exist: KEY_NOT_FOUND, LOCK_NOT_FOUND or SESSION_NOT_FOUND. */
  public static final class NotFound extends TenureException {
    private static final long serialVersionUID = 1L;

    NotFound(ErrorKind k, Applied a, String m, Map<String, String> d, Throwable c) {
      super(k, a, m, d, c);
    }
  }

  /** A condition on a key does not hold: COMPARE_FAILED. Nothing was written. */
  public static final class CompareFailed extends TenureException {
    private static final long serialVersionUID = 1L;

    CompareFailed(ErrorKind k, Applied a, String m, Map<String, String> d, Throwable c) {
      super(k, a, m, d, c);
    }
  }

  /**
   * The lock is no longer held: STALE_TOKEN or NOT_HELD. {@link #applied} says whether anything was written: an acquire whose hold
   * was lost before it returned may have written its value.
   */
  public static final class StaleToken extends TenureException {
    private static final long serialVersionUID = 1L;

    StaleToken(ErrorKind k, Applied a, String m, Map<String, String> d, Throwable c) {
      super(k, a, m, d, c);
    }
  }

  /**
   * The caller's timeout elapsed: TIMEOUT. A lock was not acquired: the library gives up its place, or releases a hold that was granted
   * in the meantime, as soon as a member answers.
   */
  public static final class TimedOut extends TenureException {
    private static final long serialVersionUID = 1L;

    TimedOut(ErrorKind k, Applied a, String m, Map<String, String> d, Throwable c) {
      super(k, a, m, d, c);
    }
  }

  /** A watch cannot resume, and missed events: COMPACTED, HISTORY_CHANGED or TOO_SLOW. Start it again with the current state. */
  public static final class HistoryLost extends TenureException {
    private static final long serialVersionUID = 1L;

    HistoryLost(ErrorKind k, Applied a, String m, Map<String, String> d, Throwable c) {
      super(k, a, m, d, c);
    }
  }

  /** No member answered: UNAVAILABLE or TLS_FAILED (nothing was applied), or OUTCOME_UNKNOWN. The message has the last cause for each member. */
  public static final class Unavailable extends TenureException {
    private static final long serialVersionUID = 1L;

    Unavailable(ErrorKind k, Applied a, String m, Map<String, String> d, Throwable c) {
      super(k, a, m, d, c);
    }
  }
}
