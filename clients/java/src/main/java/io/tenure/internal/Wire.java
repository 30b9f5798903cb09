package io.tenure.internal;

import java.math.BigDecimal;
import java.time.Duration;

/** Turns the wire's types into the runtime's. */
public final class Wire {
  /** Longer than any program runs. */
  private static final Duration WAIT_MAX = Duration.ofNanos(Long.MAX_VALUE / 4);

  private Wire() {}

  public static Duration duration(com.google.protobuf.Duration d) {
    return Duration.ofSeconds(d.getSeconds(), d.getNanos());
  }

  public static com.google.protobuf.Duration duration(Duration d) {
    return com.google.protobuf.Duration.newBuilder().setSeconds(d.getSeconds()).setNanos(d.getNano()).build();
  }

  /** Returns a time to wait in nanoseconds, at least 0, and at most so much that it can be added to any moment. */
  public static long nanos(Duration d) {
    return d.isNegative() ? 0 : d.compareTo(WAIT_MAX) > 0 ? WAIT_MAX.toNanos() : d.toNanos();
  }

  /** Returns a time as text, in seconds. */
  public static String text(Duration d) {
    return BigDecimal.valueOf(d.getSeconds()).add(BigDecimal.valueOf(d.getNano(), 9)).stripTrailingZeros().toPlainString() + " s";
  }

  /** Closes one of our own parts, none of which throws. */
  public static void closeQuietly(AutoCloseable part) {
    try {
      part.close();
    } catch (Exception e) {
      throw new IllegalStateException("closing a part of the client failed", e);
    }
  }
}
