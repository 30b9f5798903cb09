package io.tenure;

import io.tenure.internal.Exceptions;
import java.util.HashMap;
import java.util.Map;

/**
 * Protects a resource outside Tenure from holders that have lost their lock: it remembers the largest fencing token it has seen for
 * each key, and refuses a smaller one. Use one gate at the resource, in the process that does the writing; any thread can use it. It
 * remembers in memory only. It is for EXCLUSIVE locks: shared holders have tokens in any order, so check those with {@link
 * Client#check}.
 */
public final class FenceGate {
  private final Map<String, Long> largest = new HashMap<>();

  /**
   * Does nothing unless a larger token was seen for the same key; then it fails.
   *
   * @param s the sequencer of the holder
   * @throws TenureException.StaleToken of kind STALE_TOKEN if a later holder has passed already
   */
  public synchronized void check(Sequencer s) {
    Long seen = largest.get(s.key());
    if (seen != null && Long.compareUnsigned(s.fencingToken(), seen) < 0) {
      throw Exceptions.of(ErrorKind.STALE_TOKEN, Applied.NO, "token " + Long.toUnsignedString(s.fencingToken())
          + " of lock " + s.key() + " is older than " + Long.toUnsignedString(seen) + ", which passed already");
    }
    // A restore moves the tokens of the new history above all of the old one, so the larger one is right there too.
    largest.put(s.key(), s.fencingToken());
  }
}
