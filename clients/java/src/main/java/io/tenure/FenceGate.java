package io.tenure;

import java.util.HashMap;
import java.util.Map;

/**
 * Protects a resource outside from holders that lost their lock: it remembers the largest fencing token it has seen for each
 * key and refuses a smaller one. It must stand where the resource is, once for the resource; this one remembers in memory. Only
 * for EXCLUSIVE locks: holders of SHARED locks have different tokens at the same time, check those with {@link Client#check}.
 */
public final class FenceGate {
  private final Map<String, Long> largest = new HashMap<>();

  /**
   * Lets the holder pass, or refuses it.
   *
   * @param s the proof that the holder brought
   * @throws TenureException.StaleToken when a later holder has passed already
   */
  public synchronized void check(Sequencer s) {
    Long seen = largest.get(s.key());
    if (seen != null && Long.compareUnsigned(s.fencingToken(), seen) < 0) {
      throw TenureException.of(ErrorKind.STALE_TOKEN, Applied.NO, "token " + Long.toUnsignedString(s.fencingToken())
          + " of lock " + s.key() + " is older than " + Long.toUnsignedString(seen) + ", which passed already");
    }
    // A restore moves the tokens of the new history above all of the old one, so the larger one is right there too.
    largest.put(s.key(), s.fencingToken());
  }
}
