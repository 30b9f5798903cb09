package io.tenure;

import java.time.Duration;

/** Turns the wire's types into the runtime's. */
final class Wire {
  private Wire() {}

  static Duration duration(com.google.protobuf.Duration d) {
    return Duration.ofSeconds(d.getSeconds(), d.getNanos());
  }

  static com.google.protobuf.Duration duration(Duration d) {
    return com.google.protobuf.Duration.newBuilder().setSeconds(d.getSeconds()).setNanos(d.getNano()).build();
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
