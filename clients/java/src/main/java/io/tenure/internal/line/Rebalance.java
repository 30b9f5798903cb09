package io.tenure.internal.line;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;

/**
 * Whether a client moves when the list of members changes: ZooKeeper's rule (updateServerList), which keeps the load of
 * every member even with the fewest moves, while no client knows of any other.
 */
public final class Rebalance {
  /** Where to go. */
  public enum Move {
    STAY,
    TO_OLD,
    TO_NEW
  }

  private Rebalance() {}

  /**
   * Decides.
   *
   * @param before the members known until now
   * @param after the members known from now on
   * @param current the member connected to
   * @param draw a number drawn evenly from [0, 1)
   */
  public static Move decide(Collection<String> before, Collection<String> after, String current, double draw) {
    Set<String> both = new HashSet<>(after);
    both.retainAll(new HashSet<>(before));
    int s = new HashSet<>(before).size();
    int t = new HashSet<>(after).size();
    int m = both.size();
    if (after.contains(current)) {
      if (t > s && m < t && draw < 1 - (double) s / t) {
        return Move.TO_NEW;
      }
      return Move.STAY;
    }
    if (m == 0) {
      return Move.TO_NEW;
    }
    if (m == t) {
      return Move.TO_OLD;
    }
    double toOld = t < s ? (double) m * (s - t) / ((double) t * (s - m)) : 0;
    return draw < toOld ? Move.TO_OLD : Move.TO_NEW;
  }
}
