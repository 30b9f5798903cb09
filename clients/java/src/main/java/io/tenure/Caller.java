package io.tenure;

import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.tenure.v1.CallOptions;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Makes calls for a client, or under a session. Each change is applied once, however often it is sent.
 *
 * @param client the client
 * @param session the session; null for calls of the client
 */
record Caller(ClientCore client, SessionCore session) {
  <Q, R> CompletableFuture<R> read(MethodDescriptor<Q, R> method, Supplier<Q> request) {
    return session != null
        ? client.onLoop(() -> session.read(method, request.get())) : client.read(method, request);
  }

  <Q extends MessageLite, R> CompletableFuture<R> change(
      MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request) {
    return session != null
        ? client.onLoop(() -> session.change(method, request)) : client.change(method, request);
  }
}
