package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.Wire;
import io.tenure.internal.watch.KeysWanted;
import io.tenure.v1.ClusterServiceGrpc;
import io.tenure.v1.Event;
import io.tenure.v1.EventType;
import io.tenure.v1.ListMembersRequest;
import io.tenure.v1.ListMembersResponse;
import io.tenure.v1.ResponseHeader;
import io.tenure.v1.WatchEvents;
import io.tenure.v1.WatchInitial;
import io.tenure.v1.WatchProgress;
import io.tenure.v1.WatchRequest;
import io.tenure.v1.WatchResponse;
import io.tenure.v1.WatchServiceGrpc;
import io.tenure.v1.WatchStarted;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** How old a cache says it may be, fed by a member that sends what a test says. The client's clock is put forward. */
@Timeout(120)
final class CacheTest {
  private static final long SOON_SECONDS = 60;

  private final AtomicLong ahead = new AtomicLong();
  private final BlockingQueue<Opened> opened = new LinkedBlockingQueue<>();
  private final CountDownLatch losses = new CountDownLatch(40);
  private volatile Consumer<Opened> asked = opened::add;
  private Server server;
  private Client client;

  /** One Watch stream. */
  private record Opened(WatchRequest request, StreamObserver<WatchResponse> out) {
    void started(long revision) {
      send(revision, WatchResponse.newBuilder().setStarted(WatchStarted.newBuilder().setAfterRevision(revision)));
    }

    void state(long revision) {
      send(revision, WatchResponse.newBuilder().setInitial(WatchInitial.newBuilder().setComplete(true)));
    }

    void put(long revision) {
      send(revision, WatchResponse.newBuilder().setEvents(WatchEvents.newBuilder().addEvents(
          Event.newBuilder().setType(EventType.EVENT_TYPE_PUT).setRevision(revision).setKey("k")
              .setKv(io.tenure.v1.KeyValue.newBuilder().setKey("k").setModRevision(revision)))));
    }

    void progress(long revision, long afterSeconds) {
      send(revision, WatchResponse.newBuilder().setProgress(
          WatchProgress.newBuilder().setProvedAfter(Wire.duration(Duration.ofSeconds(afterSeconds)))));
    }

    private void send(long revision, WatchResponse.Builder m) {
      out.onNext(m.setHeader(ResponseHeader.newBuilder().setRevision(revision)).setResumeToken("t" + revision).build());
    }
  }

  @BeforeEach
  void start() throws IOException {
    server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create()).addService(
        new WatchServiceGrpc.WatchServiceImplBase() {
          @Override
          public void watch(WatchRequest r, StreamObserver<WatchResponse> out) {
            ((ServerCallStreamObserver<WatchResponse>) out).setOnCancelHandler(() -> { });
            asked.accept(new Opened(r, out));
          }
        }).addService(
        new ClusterServiceGrpc.ClusterServiceImplBase() {
          @Override
          public void listMembers(ListMembersRequest r, StreamObserver<ListMembersResponse> out) {
            out.onNext(ListMembersResponse.getDefaultInstance());
            out.onCompleted();
          }
        }).build().start();
    // The clock stands still unless it is put forward.
    client = WithFakeMember.client("tenure://127.0.0.1:" + server.getPort(), ahead::get);
  }

  @AfterEach
  void stop() throws InterruptedException {
    client.close();
    server.shutdownNow();
    server.awaitTermination();
  }

  @Test
  void onlyAProofMakesItFresh() throws Exception {
    CompletableFuture<Cache> opening = client.cache("").beginAsync();
    Opened stream = next();
    passes(4);
    stream.started(10);
    stream.state(10);
    Cache cache = opening.get(SOON_SECONDS, TimeUnit.SECONDS);
    assertEquals(Duration.ofSeconds(4), cache.staleFor(), "the state was asked for 4 s ago");
    for (long revision = 11; revision <= 70; revision++) {
      passes(1);
      stream.put(revision);
    }
    shows(cache, 70);
    assertEquals(Duration.ofSeconds(64), cache.staleFor(), "a minute of events proves nothing");
    stream.progress(70, 50);
    Opened again = next();
    assertEquals("t70", again.request().getResumeToken(), "the stream was old, and another goes on behind it");
    until(() -> cache.staleFor().equals(Duration.ofSeconds(15)), "second 50, and 2 % of it for clocks that differ");
    passes(1);
    again.started(70);
    again.put(71);
    shows(cache, 71);
    assertEquals(Duration.ofSeconds(16), cache.staleFor(), "a new stream and an event prove nothing");
    again.progress(71, 0);
    until(() -> cache.staleFor().equals(Duration.ofSeconds(1)), "a proof as old as the request");
    again.progress(71, 1);
    until(() -> cache.staleFor().equals(Duration.ofMillis(20)), "a proof of this moment");
  }

  @Test
  void whatIsLostAgainAndAgainIsAskedForSlowly() throws Exception {
    losesHistory();
    Cache cache = client.cache("");
    CompletableFuture<Cache> opening = cache.beginAsync();
    Opened stream = noMore();
    stream.started(10);
    stream.state(10);
    opening.get(SOON_SECONDS, TimeUnit.SECONDS);
    assertEquals(Optional.empty(), cache.failure());
  }

  @Test
  void whatIsWaitedForIsAskedForSlowlyToo() throws Exception {
    losesHistory();
    CompletableFuture<Map<String, KeyValue>> done = new CompletableFuture<>();
    new KeysWanted.Wait(client.core(), null, WatchOptions.all().withInitial().plan(), Optional.empty()).until(Map::isEmpty, done);
    Opened stream = noMore();
    stream.started(10);
    stream.state(10);
    assertEquals(Map.of(), done.get(SOON_SECONDS, TimeUnit.SECONDS));
  }

  @Test
  void aCacheThatIsNotFilledSaysNothingOfItsKeys() throws Exception {
    Cache cache = client.cache("cfg/");
    for (Executable question : List.<Executable>of(() -> cache.get("k"), cache::all, cache::staleFor)) {
      IllegalStateException e = assertThrows(IllegalStateException.class, question);
      assertEquals("the cache of \"cfg/\" is not filled: call begin() before it is read", e.getMessage());
    }
    CompletableFuture<Cache> opening = cache.beginAsync();
    Opened stream = next();
    assertThrows(IllegalStateException.class, cache::all);
    stream.started(10);
    stream.state(10);
    opening.get(SOON_SECONDS, TimeUnit.SECONDS);
    assertEquals(Map.of(), cache.all());
    cache.close();
    assertEquals(Map.of(), cache.all());
  }

  /** So a listener that waits for another thread cannot wait for one that waits for the cache. */
  @Test
  void listenersAreToldInOrderWhileNoLockIsHeld() throws Exception {
    BlockingQueue<Long> told = new LinkedBlockingQueue<>();
    BlockingQueue<String> locks = new LinkedBlockingQueue<>();
    Cache cache = client.cache("");
    for (int i = 0; i < 2; i++) {
      cache.listen(m -> {
        ThreadInfo here = ManagementFactory.getThreadMXBean()
            .getThreadInfo(new long[] {Thread.currentThread().getId()}, true, true)[0];
        Stream.of(here.getLockedMonitors()).forEach(l -> locks.add(l.toString()));
        told.add(m.revision());
      });
    }
    CompletableFuture<Cache> opening = cache.beginAsync();
    Opened stream = next();
    stream.started(10);
    stream.state(10);
    opening.get(SOON_SECONDS, TimeUnit.SECONDS);
    for (long revision = 11; revision <= 30; revision++) {
      stream.put(revision);
    }
    for (long revision = 10; revision <= 30; revision++) {
      assertEquals(revision, told.poll(SOON_SECONDS, TimeUnit.SECONDS));
      assertEquals(revision, told.poll(SOON_SECONDS, TimeUnit.SECONDS));
    }
    assertEquals(List.of(), List.copyOf(locks));
  }

  @Test
  void whoClosesItBeforeItIsFilledIsToldSo() throws Exception {
    Cache cache = client.cache("");
    CompletableFuture<Cache> opening = cache.beginAsync();
    next();
    cache.close();
    TenureException e = WithFakeMember.failure(opening);
    assertEquals(ErrorKind.CANCELLED, e.kind());
    assertEquals("the cache is closed", e.getMessage());
    assertEquals(Optional.empty(), cache.failure());
  }

  @Test
  void aClientThatIsClosedWhileItWaitsToAskAgainEndsIt() throws Exception {
    Cache cache = client.cache("");
    CompletableFuture<Cache> opening = cache.beginAsync();
    next().out().onError(FakeMember.refusal(Code.OUT_OF_RANGE_VALUE, "REVISION_COMPACTED"));
    client.close();
    assertEquals(ErrorKind.CLIENT_CLOSED, WithFakeMember.failure(opening).kind());
    assertEquals(ErrorKind.CLIENT_CLOSED, cache.failure().orElseThrow().kind());
  }

  /** Has every stream lose the history, until {@link #noMore}. */
  private void losesHistory() {
    asked = o -> {
      losses.countDown();
      o.out().onError(FakeMember.refusal(Code.OUT_OF_RANGE_VALUE, "REVISION_COMPACTED"));
    };
  }

  /** Lets that go on for a second, and returns the first stream after it. Without pauses there would be hundreds. */
  private Opened noMore() throws InterruptedException {
    assertFalse(losses.await(1, TimeUnit.SECONDS));
    asked = opened::add;
    return next();
  }

  private void passes(long seconds) {
    ahead.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
  }

  private Opened next() throws InterruptedException {
    Opened o = opened.poll(SOON_SECONDS, TimeUnit.SECONDS);
    assertTrue(o != null, "the member was not asked for a watch");
    return o;
  }

  private void shows(Cache cache, long revision) throws Exception {
    until(() -> cache.get("k").filter(kv -> kv.modRevision() == revision).isPresent(), "revision " + revision);
  }

  /** Waits until something is so; looks at it whenever the client's loop had a turn. */
  private void until(BooleanSupplier so, String what) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_SECONDS);
    while (!so.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, what);
      client.core().onLoop(() -> CompletableFuture.completedFuture(null)).get(SOON_SECONDS, TimeUnit.SECONDS);
    }
  }
}
