package io.tenure;

import io.tenure.internal.Exceptions;
import io.tenure.internal.Exceptions.Facts;
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
  private final String reason;

  static {
    Exceptions.CONSTRUCTOR.give(TenureException::of);
  }

  TenureException(Facts f) {
    super(f.message(), f.cause());
    this.kind = f.kind();
    this.applied = f.applied();
    this.details = Map.copyOf(f.details());
    this.reason = f.reason();
  }

  private static TenureException of(Facts f) {
    if (f.endsSession()) {
      return new SessionOver(f);
    }
    return switch (f.kind()) {
      case SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_CLOSED -> new SessionOver(f);
      case KEY_NOT_FOUND, LOCK_NOT_FOUND, SESSION_NOT_FOUND, NODE_NOT_FOUND, SERVICE_NOT_FOUND, CHECK_NOT_FOUND, QUERY_NOT_FOUND ->
          new NotFound(f);
      case COMPARE_FAILED -> new CompareFailed(f);
      case STALE_TOKEN, NOT_HELD -> new StaleToken(f);
      case TIMEOUT -> new TimedOut(f);
      case COMPACTED, HISTORY_CHANGED, TOO_SLOW -> new HistoryLost(f);
      case UNAVAILABLE, TLS_FAILED, OUTCOME_UNKNOWN -> new Unavailable(f);
      default -> new TenureException(f);
    };
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

    SessionOver(Facts f) {
      super(f);
    }
  }

  /** The key, lock or session does not exist: KEY_NOT_FOUND, LOCK_NOT_FOUND or SESSION_NOT_FOUND. */
  public static final class NotFound extends TenureException {
    private static final long serialVersionUID = 1L;

    NotFound(Facts f) {
      super(f);
    }
  }

  /** A condition on a key does not hold: COMPARE_FAILED. Nothing was written. */
  public static final class CompareFailed extends TenureException {
    private static final long serialVersionUID = 1L;

    CompareFailed(Facts f) {
      super(f);
    }
  }

  /**
   * The lock is no longer held: STALE_TOKEN or NOT_HELD. {@link #applied} says whether anything was written: an acquire whose hold
   * was lost before it returned may have written its value.
   */
  public static final class StaleToken extends TenureException {
    private static final long serialVersionUID = 1L;

    StaleToken(Facts f) {
      super(f);
    }
  }

  /**
   * The caller's timeout elapsed: TIMEOUT. A lock was not acquired: the library gives up its place, or releases a hold that was granted
   * in the meantime, as soon as a member answers.
   */
  public static final class TimedOut extends TenureException {
    private static final long serialVersionUID = 1L;

    TimedOut(Facts f) {
      super(f);
    }
  }

  /** A watch cannot resume, and missed events: COMPACTED, HISTORY_CHANGED or TOO_SLOW. Start it again with the current state. */
  public static final class HistoryLost extends TenureException {
    private static final long serialVersionUID = 1L;

    HistoryLost(Facts f) {
      super(f);
    }
  }

  /** No member answered: UNAVAILABLE or TLS_FAILED (nothing was applied), or OUTCOME_UNKNOWN. The message has the last cause for each member. */
  public static final class Unavailable extends TenureException {
    private static final long serialVersionUID = 1L;

    Unavailable(Facts f) {
      super(f);
    }
  }
}
