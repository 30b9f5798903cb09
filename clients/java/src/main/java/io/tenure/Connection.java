package io.tenure;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.util.concurrent.TimeUnit;

/** A connection to one member. Only the loop touches it. */
final class Connection {
  /** Responses are at most 1.5 MiB, with room for headers. */
  private static final int MESSAGE_BYTES_MAX = 4 << 20;

  private static final long PING_SECONDS = 15;

  private final String address;
  private final ManagedChannel channel;
  private boolean closed;
  private long answers;

  Connection(String address, boolean tls, Loop loop) {
    this.address = address;
    this.channel = Grpc.newChannelBuilder(address, tls ? TlsChannelCredentials.create() : InsecureChannelCredentials.create())
        .executor(loop)
        .maxInboundMessageSize(MESSAGE_BYTES_MAX)
        .keepAliveTime(PING_SECONDS, TimeUnit.SECONDS)
        .keepAliveTimeout(PING_SECONDS / 3, TimeUnit.SECONDS)
        .disableRetry()
        .build();
  }

  String address() {
    return address;
  }

  /** Returns how often the member said anything over it. */
  long answers() {
    return answers;
  }

  void answered() {
    answers++;
  }

  <Q, R> ClientCall<Q, R> call(MethodDescriptor<Q, R> method, CallOptions options) {
    return channel.newCall(method, options);
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
  }

  /** Lets what runs over it end, and takes nothing new. */
  void drain() {
    channel.shutdown();
  }

  boolean awaitClosed(long nanos) throws InterruptedException {
    return channel.awaitTermination(nanos, TimeUnit.NANOSECONDS);
  }
}
