package io.tenure;

import java.util.List;

/**
 * A lock as it is.
 *
 * @param holders who holds it, at most 100
 * @param waiters how many wait
 * @param delayed how many lost holds still count
 */
public record LockInfo(List<Holder> holders, int waiters, int delayed) {
  /**
   * One holder.
   *
   * @param sessionId its session
   * @param owner the name of the hold within the session
   * @param fencingToken its token
   */
  public record Holder(String sessionId, String owner, long fencingToken) {}
}
