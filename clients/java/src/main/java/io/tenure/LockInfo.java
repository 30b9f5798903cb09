package io.tenure;

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
}
