package io.tenure;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.ClusterServiceGrpc;
import io.tenure.v1.ListMembersRequest;
import io.tenure.v1.ListMembersResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A connection to one member: a channel for calls and renewals, and others for streams that stay open, such as waits and watches. A
 * member bounds the streams of a channel, and one more waits until another ends; so streams never keep a call from going out. Only
 * the loop touches it.
 */
final class Connection {
  /** How many streams share a channel: what every HTTP/2 server and proxy is expected to allow, and a tenth of what a member does. */
  static final int STREAMS_MAX = 100;

  /** Responses are at most 1.5 MiB, with room for headers. */
  private static final int MESSAGE_BYTES_MAX = 4 << 20;

  private static final long PING_SECONDS = 15;
  /** How long a channel for streams that has none stays connected. */
  private static final long IDLE_SECONDS = 60;

  private final String address;
  private final Door door;
  /** Which attempt of the client to connect this is. */
  private final long attempt;
  private final Loop loop;
  private final Consumer<Connection> streamLost;
  private final ManagedChannel channel;
  private final CallLine callLine;
  private final List<Line> lines = new ArrayList<>();
  private boolean closed;
  private long answers;

  /** Begins to connect. {@code streamLost} is told when a stream ended because its channel may have broken. */
  Connection(String address, long attempt, Door door, Loop loop, Consumer<Connection> streamLost) {
    this.address = address;
    this.attempt = attempt;
    this.door = door;
    this.loop = loop;
    this.streamLost = streamLost;
    this.channel = builder().build();
    this.callLine = new CallLine(channel, door, loop);
  }

  private ManagedChannelBuilder<?> builder() {
    return door.builder(address)
        .executor(loop)
        .maxInboundMessageSize(MESSAGE_BYTES_MAX)
        .keepAliveTime(PING_SECONDS, TimeUnit.SECONDS)
        .keepAliveTimeout(PING_SECONDS / 3, TimeUnit.SECONDS)
        .disableRetry();
  }

  String address() {
    return address;
  }

  long attempt() {
    return attempt;
  }

  /** Returns how often the member said anything over it. */
  long answers() {
    return answers;
  }

  void answered() {
    answers++;
  }

  /** Returns a call that has an answer soon, or is the only one of its kind. */
  <Q, R> ClientCall<Q, R> call(MethodDescriptor<Q, R> method, CallOptions options) {
    return channel.newCall(method, options);
  }

  /** Makes a call with one answer, on the line or by itself, that ends after a time. */
  <Q, R> void unary(MethodDescriptor<Q, R> method, Q request, long nanos, StreamObserver<R> told) {
    Runnable alone = () -> ClientCalls.asyncUnaryCall(
        call(method, CallOptions.DEFAULT.withDeadlineAfter(nanos, TimeUnit.NANOSECONDS)), request, told);
    if (closed || !callLine.begin(method, request, nanos, told, alone)) {
      alone.run();
    }
  }

  /** Returns a call that may stay open for long, over a channel for such. */
  <Q, R> ClientCall<Q, R> stream(MethodDescriptor<Q, R> method) {
    lines.removeIf(Line::isOver); // It would connect again as it did, with files that may have been replaced since.
    return lines.stream().filter(Line::hasRoom).findFirst().orElseGet(this::addLine).stream(method);
  }

  private Line addLine() {
    Line line = new Line(builder().idleTimeout(IDLE_SECONDS, TimeUnit.SECONDS).build());
    lines.add(line);
    if (closed) {
      line.channel.shutdownNow(); // Then so is what goes over it.
    }
    return line;
  }

  /** Returns how many channels for streams there are. */
  int lines() {
    return lines.size();
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
  void close() {
    closed = true;
    channel.shutdownNow();
    lines.forEach(line -> line.channel.shutdownNow());
  }

  /** Lets what runs over it end, and takes nothing new. */
  void drain() {
    callLine.drain();
    channel.shutdown();
    lines.forEach(line -> line.channel.shutdown());
  }

  /** Waits until all channels have ended, at most until then by {@link System#nanoTime}. */
  void awaitClosed(long until) throws InterruptedException {
    channel.awaitTermination(until - System.nanoTime(), TimeUnit.NANOSECONDS);
    for (Line line : List.copyOf(lines)) {
      line.channel.awaitTermination(until - System.nanoTime(), TimeUnit.NANOSECONDS);
    }
  }

  /** A channel for streams. */
  private final class Line {
    private final ManagedChannel channel;
    private int open;
    private boolean used;

    Line(ManagedChannel channel) {
      this.channel = channel;
    }

    boolean hasRoom() {
      return open < STREAMS_MAX;
    }

    /** Whether it was used, has no stream and is not connected. Then it ends. */
    boolean isOver() {
      ConnectivityState state = channel.getState(false);
      boolean over = used && open == 0 && state != ConnectivityState.READY && state != ConnectivityState.CONNECTING;
      if (over) {
        channel.shutdownNow();
      }
      return over;
    }

    <Q, R> ClientCall<Q, R> stream(MethodDescriptor<Q, R> method) {
      if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
        channel.resetConnectBackoff(); // Whoever opens the stream makes the pauses.
      }
      return new SimpleForwardingClientCall<>(channel.newCall(method, CallOptions.DEFAULT)) {
        @Override
        public void start(Listener<R> told, Metadata headers) {
          open++;
          used = true;
          super.start(new SimpleForwardingClientCallListener<>(told) {
            @Override
            public void onClose(Status status, Metadata trailers) {
              open--;
              if (status.getCode() == Status.Code.UNAVAILABLE) {
                streamLost.accept(Connection.this);
              }
              super.onClose(status, trailers);
            }
          }, headers);
        }
      };
    }
  }
}
