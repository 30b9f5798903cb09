package io.tenure.internal;

import io.tenure.CheckStatus;
import io.tenure.KeyValue;
import io.tenure.Leader;
import io.tenure.LockMode;
import io.tenure.Sequencer;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Optional;

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

  public static Sequencer sequencer(io.tenure.v1.Sequencer s) {
    return new Sequencer(s.getKey(), s.getLockIndex(), s.getSessionId(), s.getFencingToken(), s.getHistoryId());
  }

  public static io.tenure.v1.Sequencer sequencer(Sequencer s) {
    return io.tenure.v1.Sequencer.newBuilder()
        .setKey(s.key()).setLockIndex(s.lockIndex()).setSessionId(s.sessionId()).setFencingToken(s.fencingToken())
        .setHistoryId(s.historyId()).build();
  }

  public static LockMode mode(io.tenure.v1.LockMode m) {
    return switch (m) {
      case LOCK_MODE_SHARED -> LockMode.SHARED;
      case LOCK_MODE_SEMAPHORE -> LockMode.SEMAPHORE;
      default -> LockMode.EXCLUSIVE;
    };
  }

  public static io.tenure.v1.LockMode mode(LockMode m) {
    return switch (m) {
      case EXCLUSIVE -> io.tenure.v1.LockMode.LOCK_MODE_EXCLUSIVE;
      case SHARED -> io.tenure.v1.LockMode.LOCK_MODE_SHARED;
      case SEMAPHORE -> io.tenure.v1.LockMode.LOCK_MODE_SEMAPHORE;
    };
  }

  public static Leader leader(io.tenure.v1.Leader l) {
    return new Leader(sequencer(l.getHold().getSequencer()), l.getValue().toByteArray(), l.getCandidates());
  }

  /** Returns a status of a check. One that this version does not know is taken for CRITICAL. */
  public static CheckStatus status(io.tenure.v1.CheckStatus status) {
    return switch (status) {
      case CHECK_STATUS_PASSING -> CheckStatus.PASSING;
      case CHECK_STATUS_WARNING -> CheckStatus.WARNING;
      default -> CheckStatus.CRITICAL;
    };
  }

  public static io.tenure.v1.CheckStatus status(CheckStatus status) {
    return switch (status) {
      case PASSING -> io.tenure.v1.CheckStatus.CHECK_STATUS_PASSING;
      case WARNING -> io.tenure.v1.CheckStatus.CHECK_STATUS_WARNING;
      case CRITICAL -> io.tenure.v1.CheckStatus.CHECK_STATUS_CRITICAL;
    };
  }

  public static KeyValue keyValue(io.tenure.v1.KeyValue kv, Namespace namespace) {
    return new KeyValue(namespace.strip(kv.getKey()), kv.getValue().toByteArray(), kv.getFlags(),
        kv.getCreateRevision(), kv.getModRevision(), kv.getVersion(), kv.getLockIndex(),
        known(kv.getSessionId()), known(kv.getBoundSessionId()));
  }

  private static Optional<String> known(String s) {
    return s.isEmpty() ? Optional.empty() : Optional.of(s);
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
