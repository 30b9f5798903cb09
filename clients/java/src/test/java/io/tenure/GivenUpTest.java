package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.WatchInitial;
import io.tenure.v1.WatchResponse;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Callers who wait until a cache or a list is filled, and give up. */
final class GivenUpTest extends WithFakeMember {
  private final BlockingQueue<ServerCallStreamObserver<WatchResponse>> streams = new LinkedBlockingQueue<>();

  @BeforeEach
  void begin() {
    member.watch = (r, o) -> streams.add((ServerCallStreamObserver<WatchResponse>) o);
  }

  private static void fill(StreamObserver<WatchResponse> stream) {
    stream.onNext(WatchResponse.newBuilder().setInitial(WatchInitial.newBuilder().setComplete(true)).build());
  }

  @Test
  void aCacheThatNobodyWaitsForAnyMoreHasNoWatch() throws Exception {
    Cache cache = client.cache("p/");
    CompletableFuture<Cache> begun = cache.beginAsync();
    ServerCallStreamObserver<WatchResponse> stream = next(streams);
    begun.cancel(true);
    until(stream::isCancelled);
    // It can begin again.
    CompletableFuture<Cache> again = cache.beginAsync();
    fill(next(streams));
    assertEquals(0, get(again).all().size());
  }

  @Test
  void aServiceListThatNobodyWaitsForAnyMoreHasNoWatch() throws Exception {
    ServiceList list = client.serviceList("web");
    CompletableFuture<ServiceList> begun = list.beginAsync();
    ServerCallStreamObserver<WatchResponse> stream = next(streams);
    begun.cancel(true);
    until(stream::isCancelled);
    CompletableFuture<ServiceList> again = list.beginAsync();
    next(streams);
    assertFalse(again.isDone());
    list.close();
    assertEquals(ErrorKind.CANCELLED, failure(again).kind());
  }

  @Test
  void anInterruptedCacheHasNoWatch() throws Exception {
    CompletableFuture<ErrorKind> failed = new CompletableFuture<>();
    Thread caller = new Thread(() -> {
      TenureException e = assertThrows(TenureException.class, () -> client.cache("p/").begin());
      failed.complete(Thread.currentThread().isInterrupted() ? e.kind() : null);
    });
    caller.start();
    ServerCallStreamObserver<WatchResponse> stream = next(streams);
    caller.interrupt();
    assertEquals(ErrorKind.CANCELLED, get(failed));
    until(stream::isCancelled);
  }

  @Test
  void whoGivesUpTakesNothingFromOthers() throws Exception {
    Cache cache = client.cache("p/");
    CompletableFuture<Cache> patient = cache.beginAsync();
    ServerCallStreamObserver<WatchResponse> stream = next(streams);
    cache.beginAsync().cancel(true);
    fill(stream);
    get(patient);
    cache.beginAsync().cancel(true); // It is filled, so nothing is given up.
    assertFalse(stream.isCancelled());
    assertEquals(0, streams.size());
  }
}
