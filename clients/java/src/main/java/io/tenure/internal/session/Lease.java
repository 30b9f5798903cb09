package io.tenure.internal.session;

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

  private static final long NOT_BEGUN = Long.MIN_VALUE;

  private volatile long safeUntil = NOT_BEGUN;
  /** Whether somebody saw that it ran out. What was told about it stays true until the loop has dealt with it. */
  private volatile boolean ranOut;

  static long marginNanos(Duration ttl) {
    return Math.max(MARGIN_MIN_NANOS, ttl.toNanos() / MARGIN_SHARE);
  }

  /** Takes note of an acknowledged renewal that was sent at that time. An older one changes nothing. */
  synchronized void acknowledged(long sentAt, Duration ttl) {
    long until = ttl.isZero() ? NEVER : sentAt + ttl.toNanos() - marginNanos(ttl);
    if (until > safeUntil) {
      safeUntil = until;
    }
  }

  /** Ends the lease for good. */
  synchronized void end() {
    safeUntil = NOT_BEGUN;
  }

  /** Forgets that it ran out: all that hung on it has ended, and it may be believed again. */
  synchronized void again() {
    ranOut = false;
  }

  long safeUntil() {
    return safeUntil;
  }

  /** Reports whether it is believed. Once it was not, it is not until {@link #again}. */
  boolean isSafe(long now) {
    if (ranOut) {
      return false;
    }
    return now < safeUntil || look(now);
  }

  /** Reports whether it began and ran out. */
  boolean isOver(long now) {
    return !isSafe(now) && ranOut;
  }

  private synchronized boolean look(long now) {
    // A renewal may have been acknowledged meanwhile.
    boolean safe = now < safeUntil;
    if (!safe && safeUntil != NOT_BEGUN) {
      ranOut = true;
    }
    return safe && !ranOut;
  }

  /** Returns for how long the session can still be believed; zero when it cannot. */
  Duration left(long now) {
    long until = safeUntil;
    if (!isSafe(now)) {
      return Duration.ZERO;
    }
    return until == NEVER ? Duration.ofNanos(Long.MAX_VALUE) : Duration.ofNanos(Math.max(0, until - now));
  }
}
