package io.tenure.internal;

import java.util.random.RandomGenerator;

/** Full jitter: a pause is drawn evenly from (0, min(2 s, 20 ms × 2^n)], so that many who failed at once come back apart. */
public final class Backoff {
  private static final long BASE_NANOS = 20_000_000L;
  private static final long MAX_NANOS = 2_000_000_000L;

  private Backoff() {}

  /** Returns the pause before try number n, counted from 0, in nanoseconds. */
  public static long pauseNanos(int n, RandomGenerator random) {
    long bound = n >= 7 ? MAX_NANOS : Math.min(MAX_NANOS, BASE_NANOS << n);
    return 1 + random.nextLong(bound);
  }
}
