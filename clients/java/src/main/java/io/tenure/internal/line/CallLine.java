package io.tenure.internal.line;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.Loop;
import io.tenure.internal.Wire;
import io.tenure.v1.LineAnswer;
import io.tenure.v1.LineCall;
import io.tenure.v1.LineServiceGrpc;
import java.time.Duration;
import java.util.concurrent.ScheduledFuture;

/**
 * Many calls over one stream of a connection: LineService.Line. A call on it has the result, the errors and the time of one that is
 * made by itself. It is made by itself where a line does not serve: if lines do not carry its kind, if its request would hold up
 * others, if the line is full, and at a member that has no lines. The line is opened by the first call, and closed when it has been
 * idle for a while. Only the loop touches it.
 */
final class CallLine implements LineStream.Owner {
  /** How long calls are made by themselves after a member had no room for a line. */
  static final long REFUSED_NANOS = 10_000_000_000L;

  private final ManagedChannel channel;
  private final Door door;
  private final Loop loop;
  /** Null: there is none. */
  private LineStream stream;
  private boolean without;
  private boolean paused;

  CallLine(ManagedChannel channel, Door door, Loop loop) {
    this.channel = channel;
    this.door = door;
    this.loop = loop;
    this.without = !door.lines();
  }

  /**
   * Puts a call on the line, and reports whether there was room. {@code alone} makes it by itself, if the line turns out not to serve
   * it: nothing was done then.
   */
  <Q, R> boolean begin(MethodDescriptor<Q, R> method, Q request, long nanos, StreamObserver<R> told, Runnable alone) {
    CarriedCall.Verb verb = CarriedCall.SINGLE.get(method.getBareMethodName());
    if (without || verb == null || !(request instanceof Message message)
        || message.getSerializedSize() > CarriedCall.BYTES_MAX) {
      return false;
    }
    String token = door.token();
    if (token == null) {
      return false; // It has to be read first, which may take a while.
    }
    if (stream == null) {
      if (paused) {
        return false;
      }
      stream = new LineStream(channel.newCall(LineServiceGrpc.getLineMethod(), CallOptions.DEFAULT), loop, this, System::nanoTime);
      stream.open();
    }
    Single<R> call = new Single<>(verb, message, token, told, alone);
    if (!stream.add(call)) {
      return false;
    }
    call.limit(stream, nanos);
    return true;
  }

  /** Takes nothing new, and ends the line once its calls have their answers. */
  void drain() {
    without = true;
    if (stream != null) {
      stream.drain();
    }
  }

  @Override
  public void opened(LineStream line) {
    // Calls are sent before.
  }

  @Override
  public void left(LineStream line) {
    if (stream == line) {
      stream = null;
    }
  }

  @Override
  public void refused(LineStream line, Status.Code code, StatusRuntimeException why) {
    without |= code == Status.Code.UNIMPLEMENTED;
    if (code == Status.Code.RESOURCE_EXHAUSTED) {
      paused = true;
      loop.after(REFUSED_NANOS, () -> paused = false);
    }
  }

  /** A call with one answer on its way. */
  private final class Single<R> extends CarriedCall {
    private final StreamObserver<R> told;
    private final Runnable alone;
    private long until;
    private boolean over;
    private ScheduledFuture<?> timer;

    Single(Verb verb, Message request, String token, StreamObserver<R> told, Runnable alone) {
      super(verb, request, token);
      this.told = told;
      this.alone = alone;
    }

    /** Ends it after a time. */
    void limit(LineStream on, long nanos) {
      until = System.nanoTime() + nanos;
      timer = loop.after(nanos, () -> {
        on.cancel(this);
        fail(Status.DEADLINE_EXCEEDED.withDescription("no answer in time").asRuntimeException());
      });
    }

    @Override
    void fill(LineCall.Builder asked) {
      super.fill(asked.setRemainingTime(Wire.duration(Duration.ofNanos(Math.max(1, until - System.nanoTime())))));
    }

    @Override
    boolean isLong() {
      return false;
    }

    @Override
    boolean isOver() {
      return over;
    }

    /** Ends it, once. */
    private void end(Runnable how) {
      if (!over) {
        over = true;
        if (timer != null) {
          timer.cancel(false);
        }
        Loop.guarded(how);
      }
    }

    @Override
    void part(Message m) {
      throw new IllegalStateException("a part of a call that has none");
    }

    @Override
    void fail(StatusRuntimeException why) {
      end(() -> told.onError(why));
    }

    @Override
    void undone(StatusRuntimeException why) {
      end(alone);
    }

    @Override
    @SuppressWarnings("unchecked") // A response of its kind is of its type.
    void answer(LineAnswer a) {
      if (!a.hasStatus()) {
        end(() -> {
          told.onNext((R) a.getField(verb.response()));
          told.onCompleted();
        });
        return;
      }
      int code = a.getStatus().getCode();
      // It was refused before anything was done: by itself it waits for another token, or is of a kind that the member knows.
      if (code == Status.Code.UNIMPLEMENTED.value() || code == Status.Code.UNAUTHENTICATED.value()) {
        end(alone);
      } else {
        fail(error(a.getStatus()));
      }
    }
  }
}
