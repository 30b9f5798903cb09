package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.internal.Loop;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Link;
import io.tenure.internal.session.SessionCore;
import io.tenure.v1.TryAcquireLockResponse;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Whatever is begun ends: with a result, with a typed error, or with its client; and leaves nothing behind. */
final class EndsTest extends WithFakeMember {
  private Held held(Session session) throws Exception {
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    return get(wait);
  }

  private int onLoop(java.util.function.IntSupplier what) throws Exception {
    return get(client.core().onLoop(() -> CompletableFuture.completedFuture(what.getAsInt())));
  }

  @Test
  void anEmptyKeyFailsTheFutureWhateverIsAsked() {
    Session session = client.openSession();
    for (CompletableFuture<?> f : List.of(session.lock("").acquireAsync(), session.lock("").tryAcquireAsync(),
        client.kv().putAsync("", new byte[0], PutOptions.defaults()), client.kv().getAsync(""), client.kv().deleteAsync(""),
        client.kv().findAsync(""), client.lockInfoAsync(""), client.breakLockAsync("", "why"), client.election("").leaderAsync(),
        session.kv().putAsync("", new byte[0], PutOptions.defaults()))) {
      assertEquals(ErrorKind.INVALID_ARGUMENT, failure(f).kind());
    }
  }

  @Test
  void nothingIsRefusedAtOnce() {
    Session session = client.openSession();
    for (Executable call : List.<Executable>of(() -> session.lock(null), () -> session.lock("k", null),
        () -> client.kv().get(null), () -> client.kv().putAsync("k", null, PutOptions.defaults()),
        () -> client.kv().deleteAsync(null), () -> client.kv().list(null), () -> client.kv().deletePrefix(null),
        () -> client.kv().delete("k", (Held) null), () -> client.election(null), () -> client.barrier(null),
        () -> client.cache(null), () -> client.presence(null), () -> client.watch(null), () -> session.listen(null),
        () -> client.lockInfoAsync(null), () -> client.check(null), () -> client.lookup(null),
        () -> client.openSessionAsync(null), () -> client.resume(null))) {
      assertThrows(NullPointerException.class, call);
    }
  }

  /** A process that was stopped asks before the library's own thread had its turn. */
  @Test
  void aHeldWhoseLeaseRanOutSaysSoThoughTheLibraryDidNotLookYet() throws Exception {
    Held held = held(client.openSession());
    assertTrue(held.isSafe());
    CompletableFuture<Void> stopped = new CompletableFuture<>();
    CompletableFuture<Void> goOn = new CompletableFuture<>();
    client.core().loop.execute(() -> {
      stopped.complete(null);
      goOn.join();
    });
    try {
      get(stopped);
      jumps(FakeMember.LAPSE_SECONDS);
      assertFalse(held.isSafe());
      assertEquals(Duration.ZERO, held.safeFor());
      assertEquals(Optional.of(EndCause.LEASE_RAN_OUT), held.cause());
    } finally {
      goOn.complete(null);
    }
    assertEquals(EndCause.LEASE_RAN_OUT, get(held.ended()));
    assertFalse(held.release());
    assertEquals(Optional.of(EndCause.LEASE_RAN_OUT), held.cause());
  }

  @Test
  void aSilentMemberSuspendsASessionBeforeItsLeaseEnds() throws Exception {
    BlockingQueue<SessionChange> changes = new LinkedBlockingQueue<>();
    Session session = client.openSession(SessionOptions.defaults(), Duration.ofSeconds(FakeMember.SOON_SECONDS), changes::add);
    Held held = held(session);
    member.fallSilent();
    while (session.state() == SessionState.CONNECTED) {
      passes(2);
    }
    assertEquals(SessionState.SUSPENDED, session.state());
    assertTrue(held.isSafe());
    passes(FakeMember.LAPSE_SECONDS);
    assertEquals(EndCause.LEASE_RAN_OUT, get(held.ended()));
    for (SessionState want : List.of(
        SessionState.CONNECTING, SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.JEOPARDY)) {
      assertEquals(want, next(changes).to());
    }
  }

  @Test
  void whatComesAsTheClientEndsIsTold() throws Exception {
    // The moment after a call found the client open, and before its work could begin.
    Client ending = Client.connect(member.uri());
    Session session = ending.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(wait);
    ending.core().end();
    assertEquals(ErrorKind.CLIENT_CLOSED, failure(session.lock("x").acquireAsync()).kind());
    assertEquals(ErrorKind.CLIENT_CLOSED, failure(session.lock("x").tryAcquireAsync()).kind());
    assertFalse(get(held.releaseAsync()));
    held.close();
    ending.core().link.opened().forEach(Connection::close);
  }

  @Test
  void nothingWaitsForAClientThatIsClosed() throws Exception {
    Session session = client.openSession();
    Presence.Membership membership = session.presence("g").join("me", "");
    Held held = held(session);
    Cache cache = client.cache("");
    Watch watch = client.watch(WatchOptions.all());
    Election election = client.election("e");
    client.close();
    assertFalse(held.release());
    held.close();
    membership.close();
    session.close();
    assertEquals(ErrorKind.CLIENT_CLOSED, failure(cache.beginAsync()).kind());
    assertEquals(ErrorKind.CLIENT_CLOSED, cache.failure().orElseThrow().kind());
    assertEquals(ErrorKind.CLIENT_CLOSED, failure(watch.beginAsync()).kind());
    assertEquals(ErrorKind.CLIENT_CLOSED, Signals.of(client.watch(WatchOptions.all()).publisher()).failure().kind());
    assertEquals(ErrorKind.CLIENT_CLOSED, Signals.of(election.observe()).failure().kind());
    BlockingQueue<SessionChange> told = new LinkedBlockingQueue<>();
    session.listen(told::add);
    assertEquals(SessionState.CLOSED, next(told).to());
    session.forget(told::add);
  }

  @Test
  void aRunThatResignsKeepsNobodyFromClosingTheClient() throws Exception {
    Session session = client.openSession();
    Held held = held(session);
    ElectionRun run = new ElectionRun(client.core(), held.core().session(), session.election("svc"), "v", l -> { });
    client.core().loop.run(() -> client.core().parts.add(run::clientCloses));
    member.release = (r, o) -> { };
    run.close();
    // It was elected as it was closed, and nobody answers when it resigns.
    Thread leading = new Thread(() -> run.lead(new Leadership(held)));
    leading.start();
    member.next(io.tenure.v1.ReleaseLockRequest.class);
    client.close();
    leading.join(Duration.ofSeconds(FakeMember.SOON_SECONDS).toMillis());
    assertFalse(leading.isAlive());
    get(run.ended());
  }

  @Test
  void toRunAnElectionNeedsASession() throws Exception {
    TenureException e = assertThrows(TenureException.class, () -> client.election("svc").run("v", l -> { }));
    assertEquals(ErrorKind.INVALID_ARGUMENT, e.kind());
    assertEquals(0, onLoop(() -> client.core().parts.size()));
  }

  @Test
  void whatEndedInAnOutageIsKeptByNobody() throws Exception {
    Session session = client.openSession();
    member.close();
    until(() -> session.state() != SessionState.CONNECTED);
    List<CompletableFuture<?>> calls = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      calls.add(client.kv().getAsync("k"));
      calls.add(session.lock("k").acquireAsync(Duration.ofSeconds(5)));
      calls.add(session.kv().putAsync("k", new byte[0], PutOptions.defaults()));
    }
    try (Watch watch = client.watch(WatchOptions.all())) {
      calls.add(watch.beginAsync());
      Signals<LeaderChange> observed = Signals.of(client.election("e").observe());
      assertTrue(onLoop(client.core().link::waiting) > 0);
      observed.subscription().cancel();
    }
    passes(FakeMember.LAPSE_SECONDS);
    // As the library has it: its time runs from there.
    SessionCore core = client.core().sessions.iterator().next();
    until(() -> core.state() == SessionState.JEOPARDY);
    passes(FakeMember.LAPSE_SECONDS);
    for (CompletableFuture<?> f : calls.subList(0, calls.size() - 1)) {
      assertTrue(failure(f).applied() != Applied.YES);
    }
    CompletableFuture<Void> closed = session.closeAsync();
    passes(FakeMember.LAPSE_SECONDS);
    get(closed);
    assertEquals(0, onLoop(client.core().link::waiting));
  }

  @Test
  void withoutTimeALockIsTriedOnce() throws Exception {
    Lock lock = client.openSession().lock("k").reentrant();
    member.tryAcquire =
        (r, o) -> FakeMember.reply(o, TryAcquireLockResponse.getDefaultInstance());
    for (Duration none : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
      TenureException e = assertThrows(TenureException.TimedOut.class, () -> lock.acquire(none));
      assertEquals(Applied.NO, e.applied());
    }
    member.tryAcquire = (r, o) -> FakeMember.reply(o, TryAcquireLockResponse.newBuilder().setAcquired(true)
        .setHold(io.tenure.v1.Hold.newBuilder().setOwner(r.getOptions().getOwner()).setSequencer(
            io.tenure.v1.Sequencer.newBuilder().setKey("k").setLockIndex(3).setFencingToken(9))).build());
    assertEquals(9, lock.acquire(Duration.ZERO).token());
  }

  @Test
  void timeWithoutEndIsNoError() throws Exception {
    Duration forEver = ChronoUnit.FOREVER.getDuration();
    Session session = client.openSession(SessionOptions.defaults(), forEver, c -> { });
    CompletableFuture<Held> wait = session.lock("k").acquireAsync(forEver);
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    assertTrue(get(wait).isSafe());
  }

  @Test
  void whatIsCompletedAsTheThreadsEndIsTold() throws Exception {
    Loop loop = new Loop();
    CompletableFuture<Integer> inner = new CompletableFuture<>();
    CompletableFuture<Integer> shown = loop.shown(inner);
    loop.shutdown();
    inner.complete(1);
    assertEquals(1, get(shown));
  }

  @Test
  void anAddressThatIsNoneStopsNobody() throws Exception {
    Session session = client.openSession();
    List<String> good = client.members();
    client.core().loop.execute(() -> {
      Link link = client.core().link;
      link.update(List.of(":7400"), 0.5);
      link.broken(link.current());
    });
    until(() -> session.state() != SessionState.CONNECTED);
    client.core().loop.execute(() -> client.core().link.update(good, 0.5));
    until(() -> session.state() == SessionState.CONNECTED);
  }
}
