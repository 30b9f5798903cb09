package io.tenure.internal;

import java.util.function.LongSupplier;

/**
 * A clock for leases, in nanoseconds from an arbitrary beginning. The runtime offers none that goes on while the machine is
 * suspended, so this one advances by the larger of what the monotonic and the wall clock say. A wall clock that is set
 * forward makes leases end early; nothing makes them end late.
 */
public final class BootClock {
  private final LongSupplier monotonicNanos;
  private final LongSupplier wallMillis;
  private final long monotonicBegin;
  /** How far the wall clock was ahead of the monotonic one at most, over all jumps so far. */
  private long lead;
  /** Wall clock less monotonic clock, when last looked at. */
  private long offset;

  public BootClock() {
    this(System::nanoTime, System::currentTimeMillis);
  }

  public BootClock(LongSupplier monotonicNanos, LongSupplier wallMillis) {
    this.monotonicNanos = monotonicNanos;
    this.wallMillis = wallMillis;
    this.monotonicBegin = monotonicNanos.getAsLong();
    this.offset = wallMillis.getAsLong() * 1_000_000L - monotonicBegin;
  }

  /** Returns the time; it never goes back. */
  public synchronized long nanos() {
    long monotonic = monotonicNanos.getAsLong();
    long offsetNow = wallMillis.getAsLong() * 1_000_000L - monotonic;
    // What the wall clock gained since it was last looked at passed without the monotonic clock. It counts whole
    // milliseconds, so a smaller gain is none yet, and stays in the difference until it is more.
    if (offsetNow - offset > 1_000_000L) {
      lead += offsetNow - offset;
      offset = offsetNow;
    } else if (offsetNow < offset - 1_000_000L) {
      offset = offsetNow;
    }
    return monotonic - monotonicBegin + lead;
  }
}
