package io.tenure.internal.session;

import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.tenure.v1.CallOptions;
import io.tenure.v1.Guard;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Makes calls for a client, or under a session. Each change is applied once, however often it is sent.
 *
 * @param client the client
 * @param session the session; null for calls of the client
 * @param guards what every change demands
 */
public record Caller(ClientCore client, SessionCore session, List<Guard> guards) {
  public Caller(ClientCore client, SessionCore session) {
    this(client, session, List.of());
  }

  public <Q, R> CompletableFuture<R> read(MethodDescriptor<Q, R> method, Supplier<Q> request) {
    return session != null
        ? client.onLoop(() -> session.calls.read(method, request.get())) : client.read(method, request);
  }

  public <Q extends MessageLite, R> CompletableFuture<R> change(
      MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request) {
    Function<CallOptions.Builder, Q> guarded = options -> request.apply(options.addAllGuards(guards));
    return session != null
        ? client.onLoop(() -> session.calls.change(method, guarded)) : client.change(method, guarded);
  }
}
