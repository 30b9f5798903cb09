package io.tenure;

import java.time.Duration;

/**
 * What this process may believe about a session's life. The cluster counts the TTL from when it received a renewal; this
 * side counts from when it sent it, less a margin for clocks of different rate, and so always ends first. The idea is
 * Chubby's local lease (Burrows, OSDI 2006).
 */
final class Lease {
  /** A session without TTL is believed until the cluster says that it ended. */
  static final long NEVER = Long.MAX_VALUE;

  private static final long MARGIN_MIN_NANOS = 50_000_000L;
  private static final long MARGIN_SHARE = 50;

  private volatile long safeUntil;

  /** Begins a lease that is not believed yet. */
  Lease() {
    this.safeUntil = Long.MIN_VALUE;
  }

  static long marginNanos(Duration ttl) {
    return Math.max(MARGIN_MIN_NANOS, ttl.toNanos() / MARGIN_SHARE);
  }

  /** Takes note of an acknowledged renewal that was sent at that time. An older one changes nothing. */
  void acknowledged(long sentAt, Duration ttl) {
    long until = ttl.isZero() ? NEVER : sentAt + ttl.toNanos() - marginNanos(ttl);
    if (until > safeUntil) {
      safeUntil = until;
    }
  }

  /** Ends the lease for good. */
  void end() {
    safeUntil = Long.MIN_VALUE;
  }

  long safeUntil() {
    return safeUntil;
  }

  boolean isSafe(long now) {
    return now < safeUntil;
  }

  /** Returns for how long the session can still be believed; zero when it cannot. */
  Duration left(long now) {
    long until = safeUntil;
    if (until == NEVER) {
      return Duration.ofNanos(Long.MAX_VALUE);
    }
    return now >= until ? Duration.ZERO : Duration.ofNanos(until - now);
  }
}
