package io.tenure.internal.line;

import com.google.protobuf.Empty;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.Loop;
import io.tenure.v1.ClusterServiceGrpc;
import io.tenure.v1.ListMembersRequest;
import io.tenure.v1.ListMembersResponse;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A connection to one member: a channel for calls and renewals, and others for what stays open, such as waits and watches. A member
 * bounds the streams of a channel, and one more waits until another ends; so these never keep a call from going out. Only the loop
 * touches it.
 */
public final class Connection {
  /** Responses are at most 1.5 MiB, with room for headers. */
  private static final int MESSAGE_BYTES_MAX = 4 << 20;

  private static final long PING_SECONDS = 15;
  /** How long a channel for waits and watches that has none stays connected. */
  private static final long IDLE_SECONDS = 60;

  private final String address;
  private final Door door;
  /** Which attempt of the client to connect this is. */
  private final long attempt;
  private final Loop loop;
  private final ManagedChannel channel;
  private final CallLine callLine;
  private final Waits waits;
  private final Vigil vigil;
  private boolean closed;
  private long answers;

  /**
   * Begins to connect. {@code streamLost} is told when a stream ended because its channel may have broken, and {@code silent} when the
   * member owes answers and gives no sign of life.
   */
  public Connection(String address, long attempt, Door door, Loop loop, Consumer<Connection> streamLost, Consumer<Connection> silent) {
    this.address = address;
    this.attempt = attempt;
    this.door = door;
    this.loop = loop;
    this.channel = builder().build();
    this.callLine = new CallLine(channel, door, loop);
    this.waits = new Waits(
        () -> builder().idleTimeout(IDLE_SECONDS, TimeUnit.SECONDS).build(), door, loop, () -> streamLost.accept(this));
    this.vigil = new Vigil(loop::after, System::nanoTime, this::ping, () -> silent.accept(this));
  }

  private ManagedChannelBuilder<?> builder() {
    return door.builder(address)
        .executor(loop)
        .maxInboundMessageSize(MESSAGE_BYTES_MAX)
        .keepAliveTime(PING_SECONDS, TimeUnit.SECONDS)
        .keepAliveTimeout(PING_SECONDS / 3, TimeUnit.SECONDS)
        .disableRetry();
  }

  public String address() {
    return address;
  }

  long attempt() {
    return attempt;
  }

  /** Returns how often the member said anything over it. */
  long answers() {
    return answers;
  }

  /** Whether calls with one answer are under way over it. */
  public boolean owes() {
    return vigil.owes();
  }

  void answered() {
    answers++;
    vigil.heard();
  }

  private void ping(long nanos, Consumer<Boolean> told) {
    CallOptions options = CallOptions.DEFAULT.withOption(Vigil.WITHOUT_TOKEN, true).withDeadlineAfter(nanos, TimeUnit.NANOSECONDS);
    ClientCalls.asyncUnaryCall(channel.newCall(Vigil.PING, options), Empty.getDefaultInstance(), new StreamObserver<Empty>() {
      @Override
      public void onNext(Empty e) {
        // What it says does not matter.
      }

      @Override
      public void onError(Throwable t) {
        loop.run(() -> told.accept(Status.fromThrowable(t).getCode() != Status.Code.DEADLINE_EXCEEDED));
      }

      @Override
      public void onCompleted() {
        loop.run(() -> told.accept(true));
      }
    });
  }

  /** Returns a call that has an answer soon, or is the only one of its kind. */
  public <Q, R> ClientCall<Q, R> call(MethodDescriptor<Q, R> method, CallOptions options) {
    return channel.newCall(method, options);
  }

  /** Makes a call with one answer, on the line or by itself, that ends after a time. */
  <Q, R> void unary(MethodDescriptor<Q, R> method, Q request, long nanos, StreamObserver<R> given) {
    vigil.owe();
    StreamObserver<R> told = new StreamObserver<>() {
      @Override
      public void onNext(R r) {
        given.onNext(r);
      }

      @Override
      public void onError(Throwable t) {
        vigil.settle();
        given.onError(t);
      }

      @Override
      public void onCompleted() {
        vigil.settle();
        given.onCompleted();
      }
    };
    Runnable alone = () -> ClientCalls.asyncUnaryCall(
        call(method, CallOptions.DEFAULT.withDeadlineAfter(nanos, TimeUnit.NANOSECONDS)), request, told);
    if (closed || !callLine.begin(method, request, nanos, told, alone)) {
      alone.run();
    }
  }

  /** Returns a call with parts that may stay open for long: a wait or a watch. */
  public <Q, R> ClientCall<Q, R> stream(MethodDescriptor<Q, R> method) {
    return waits.call(method);
  }

  /** Returns how many channels for waits and watches there are. */
  public int waitChannels() {
    return waits.channels();
  }

  /** Has it told, on the loop, why there is no connection. It may be closed meanwhile. */
  void whyNot(Consumer<Throwable> told) {
    ClientCalls.asyncUnaryCall(channel.newCall(ClusterServiceGrpc.getListMembersMethod(), CallOptions.DEFAULT),
        ListMembersRequest.getDefaultInstance(), new StreamObserver<ListMembersResponse>() {
          @Override
          public void onNext(ListMembersResponse r) {
            // There is one after all.
          }

          @Override
          public void onError(Throwable t) {
            told.accept(t);
          }

          @Override
          public void onCompleted() {
            // Likewise.
          }
        });
  }

  ConnectivityState state() {
    return channel.getState(true);
  }

  void onChange(ConnectivityState from, Runnable then) {
    channel.notifyWhenStateChanged(from, then);
  }

  boolean isClosed() {
    return closed;
  }

  /** Breaks it off; what runs over it fails. */
  public void close() {
    closed = true;
    vigil.stop();
    channel.shutdownNow();
    waits.close();
  }

  /** Lets what runs over it end, and takes nothing new. */
  void drain() {
    vigil.stop();
    callLine.drain();
    channel.shutdown();
    waits.drain();
  }

  /** Waits until all channels have ended, at most until then by {@link System#nanoTime}. */
  public void awaitClosed(long until) throws InterruptedException {
    channel.awaitTermination(until - System.nanoTime(), TimeUnit.NANOSECONDS);
    waits.awaitClosed(until);
  }
}
