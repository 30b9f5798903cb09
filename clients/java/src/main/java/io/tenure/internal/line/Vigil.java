package io.tenure.internal.line;

import com.google.protobuf.Empty;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.protobuf.ProtoUtils;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Finds out that a member has fallen silent, as one that was stopped or cut off, long before the time of its calls ends. A member that
 * is merely slow still gives signs of life. It begins with the first answer: until then the member may be far away. Only the loop
 * touches it.
 */
public final class Vigil {
  /** How long nothing may come from a member that owes answers before it is asked for a sign of life. */
  static final long LOOK_NANOS = 250_000_000L;
  /** How long that may take. */
  static final long PROOF_NANOS = 750_000_000L;
  /** How long a member that gave one is not asked again. */
  static final long REST_NANOS = 1_000_000_000L;

  /** gRPC's health service: members answer it at once, whatever they are busy with, and whoever asks. What it says does not matter. */
  static final MethodDescriptor<Empty, Empty> PING = MethodDescriptor.<Empty, Empty>newBuilder()
      .setType(MethodDescriptor.MethodType.UNARY)
      .setFullMethodName("grpc.health.v1.Health/Check")
      .setRequestMarshaller(ProtoUtils.marshaller(Empty.getDefaultInstance()))
      .setResponseMarshaller(ProtoUtils.marshaller(Empty.getDefaultInstance()))
      .build();
  /** Set for a call that carries no token, and so waits for none. */
  static final CallOptions.Key<Boolean> WITHOUT_TOKEN = CallOptions.Key.createWithDefault("io.tenure.without_token", false);

  /** Asks the member for a sign of life. */
  public interface Ping {
    /** Has it told, on the loop, whether the member gave one within that time; any answer is one. */
    void ask(long nanos, Consumer<Boolean> told);
  }

  /** Runs something on the loop after a while. */
  public interface Later {
    void run(long nanos, Runnable task);
  }

  private final Later later;
  private final LongSupplier clock;
  private final Ping ping;
  private final Runnable silent;
  private long owed;
  private long heard;
  /** Whether a look is due, or the member is being asked. */
  private boolean armed;
  private boolean over;

  /** {@code silent} is run once, when the member gave no sign of life. */
  public Vigil(Later later, LongSupplier clock, Ping ping, Runnable silent) {
    this.later = later;
    this.clock = clock;
    this.ping = ping;
    this.silent = silent;
  }

  /** Notes that an answer is being waited for, until {@link #settle}. */
  public void owe() {
    owed++;
    if (heard > 0 && !armed && !over) {
      armed = true;
      lookIn(LOOK_NANOS);
    }
  }

  /** Ends what {@link #owe} began. */
  public void settle() {
    owed--;
  }

  /** Whether an answer is being waited for. */
  boolean owes() {
    return owed > 0;
  }

  /** Notes that something came from the member. */
  public void heard() {
    heard++;
  }

  /** Looks no more. */
  void stop() {
    over = true;
  }

  private void lookIn(long nanos) {
    long before = heard;
    later.run(nanos, () -> look(before));
  }

  private void look(long before) {
    if (over || owed == 0) {
      armed = false;
    } else if (heard != before) {
      lookIn(LOOK_NANOS);
    } else {
      long began = clock.getAsLong();
      ping.ask(PROOF_NANOS, alive -> asked(alive || heard != before, began));
    }
  }

  private void asked(boolean alive, long began) {
    // This process stood still if it took that long: what came may not have been read yet.
    boolean stalled = clock.getAsLong() - began > PROOF_NANOS + LOOK_NANOS;
    if (over) {
      armed = false;
    } else if (alive || stalled) {
      lookIn(REST_NANOS);
    } else {
      over = true;
      silent.run();
    }
  }
}
