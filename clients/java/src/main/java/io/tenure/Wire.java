package io.tenure;

import java.math.BigDecimal;
import java.time.Duration;

/** Turns the wire's types into the runtime's. */
final class Wire {
  /** Longer than any program runs. */
  private static final Duration WAIT_MAX = Duration.ofNanos(Long.MAX_VALUE / 4);

  private Wire() {}

  static Duration duration(com.google.protobuf.Duration d) {
    return Duration.ofSeconds(d.getSeconds(), d.getNanos());
  }

  static com.google.protobuf.Duration duration(Duration d) {
    return com.google.protobuf.Duration.newBuilder().setSeconds(d.getSeconds()).setNanos(d.getNano()).build();
  }

  /** Returns a time to wait in nanoseconds, at least 0, and at most so much that it can be added to any moment. */
  static long nanos(Duration d) {
    return d.isNegative() ? 0 : d.compareTo(WAIT_MAX) > 0 ? WAIT_MAX.toNanos() : d.toNanos();
  }

  /** Returns a time as text, in seconds. */
  static String text(Duration d) {
    return BigDecimal.valueOf(d.getSeconds()).add(BigDecimal.valueOf(d.getNano(), 9)).stripTrailingZeros().toPlainString() + " s";
  }

  /** Closes one of our own parts, none of which throws. */
  static void closeQuietly(AutoCloseable part) {
    try {
      part.close();
    } catch (Exception e) {
      throw new IllegalStateException("closing a part of the client failed", e);
    }
  }
}
