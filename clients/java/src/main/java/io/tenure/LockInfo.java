package io.tenure;

import io.tenure.v1.Hold;
import java.util.List;

/**
 * A lock as it is now.
 *
 * @param holders its holders, at most 100
 * @param waiters the number of clients that wait for it
 * @param delayed the number of lost holds whose lock-delay has not elapsed
 */
public record LockInfo(List<Holder> holders, int waiters, int delayed) {
  /**
   * One holder.
   *
   * @param sessionId the id of its session
   * @param owner the name of the hold within the session
   * @param fencingToken its fencing token
   */
  public record Holder(String sessionId, String owner, long fencingToken) {}

  /** Returns the end of a message that says whose a lock is: its first holder's, or theirs whose lock-delay is left. */
  static String heldBy(io.tenure.v1.Lock lock) {
    if (lock.getHoldsCount() > 0) {
      return ": held by " + name(lock.getHolds(0));
    }
    return lock.getDelayedCount() > 0 ? ": lock-delay after a hold by " + name(lock.getDelayed(0)) : "";
  }

  private static String name(Hold hold) {
    String session = "session " + hold.getSequencer().getSessionId();
    return hold.getSessionName().isEmpty() ? session : '"' + hold.getSessionName() + "\" (" + session + ")";
  }
}
