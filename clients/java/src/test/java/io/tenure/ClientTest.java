package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.testing.TenureServer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** The client against a real member. */
final class ClientTest extends WithMember {
  private static Client client(TestInfo info) {
    return client(info, SOON);
  }

  @Test
  void aLockIsHeldAndPassedOn(TestInfo info) throws Exception {
    try (Client client = client(info); Session a = client.openSession(); Session b = client.openSession()) {
      Held first = a.lock("jobs/nightly").acquire();
      assertTrue(first.isSafe());
      assertTrue(first.safeFor().compareTo(SOON) < 0);
      assertTrue(client.check(first.sequencer()));
      assertTrue(b.lock("jobs/nightly").tryAcquire().held().isEmpty());
      assertThrows(TenureException.TimedOut.class, () -> b.lock("jobs/nightly").acquire(Duration.ofMillis(50)));
      // In time, or a little later if no member answered.
      until(() -> client.lockInfo("jobs/nightly").waiters() == 0);
      CompletableFuture<Held> waiting = b.lock("jobs/nightly").acquireAsync();
      assertTrue(first.release());
      Held second = get(waiting);
      assertTrue(second.token() > first.token());
      assertFalse(client.check(first.sequencer()));
      assertEquals(Optional.of(EndCause.RELEASED), first.cause());
      assertFalse(first.release());
    }
  }

  @Test
  void aCancelledWaitLeavesTheQueue(TestInfo info) throws Exception {
    try (Client client = client(info); Session a = client.openSession(); Session b = client.openSession()) {
      try (Held first = a.lock("k").acquire()) {
        CountDownLatch queued = new CountDownLatch(1);
        CompletableFuture<Held> waiting =
            b.lock("k", LockOptions.exclusive().onQueued(p -> queued.countDown())).acquireAsync();
        assertTrue(queued.await(30, TimeUnit.SECONDS));
        try (Watch watch = client.watch(WatchOptions.lock("k"))) {
          watch.begin();
          waiting.cancel(true);
          assertEquals(WatchEventType.LOCK_LEFT, event(watch).type());
        }
        assertEquals(0, client.lockInfo("k").waiters());
        assertTrue(first.isSafe());
      }
    }
  }

  private static WatchEvent event(Watch watch) {
    while (true) {
      if (watch.next(Duration.ofSeconds(30)).orElseThrow() instanceof WatchMessage.Events e) {
        return e.events().get(0);
      }
    }
  }

  @Test
  void aBrokenLockEndsItsHeld(TestInfo info) throws Exception {
    try (Client client = client(info); Session a = client.openSession()) {
      Held held = a.lock("k").acquire();
      assertEquals(1, client.breakLock("k", "test"));
      assertEquals(EndCause.TAKEN_AWAY, get(held.ended()));
      assertFalse(held.isSafe());
      TenureException e = assertThrows(TenureException.StaleToken.class,
          () -> a.kv().put("x", new byte[0], PutOptions.defaults().guardedBy(held)));
      assertEquals(Applied.NO, e.applied());
    }
  }

  @Test
  void keysAreWrittenReadAndCompared(TestInfo info) {
    try (Client client = client(info)) {
      KV kv = client.kv();
      assertEquals(Optional.empty(), kv.find("a"));
      assertThrows(TenureException.NotFound.class, () -> kv.get("a"));
      PutResult put = kv.put("a", "1");
      assertEquals("1", kv.get("a").text());
      assertEquals(put.revision(), kv.get("a").modRevision());
      assertThrows(TenureException.CompareFailed.class,
          () -> kv.put("a", "2".getBytes(StandardCharsets.UTF_8), PutOptions.defaults().ifRevision(0)));
      TxnResult txn = kv.commit(kv.txn().ifRevision("a", put.revision()).put("a", "2".getBytes(StandardCharsets.UTF_8))
          .get("a").otherwise().get("a"));
      assertTrue(txn.succeeded());
      assertEquals("2", txn.gets().get(0).orElseThrow().text());
      assertEquals(List.of("a"), kv.list("").stream().map(KeyValue::key).toList());
      assertTrue(kv.delete("a"));
      assertFalse(kv.delete("a"));
    }
  }

  @Test
  void aWatchTellsTheStateAndThenEveryChange(TestInfo info) {
    try (Client client = client(info); Watch watch = client.watch(WatchOptions.prefix("").withInitial())) {
      client.kv().put("a", "1");
      assertEquals(1, assertInstanceOf(WatchMessage.Initial.class, watch.next().orElseThrow()).keys().size());
      client.kv().put("b", "2");
      WatchMessage.Events events = events(watch);
      assertEquals("b", events.events().get(0).key());
      client.kv().delete("a");
      try (Watch again = client.watch(WatchOptions.prefix("").resume(events.resumeToken()))) {
        WatchEvent deleted = event(again);
        assertEquals(WatchEventType.DELETED, deleted.type());
        assertEquals("a", deleted.key());
      }
      watch.close();
      assertThrows(TenureException.class, () -> client.watch(WatchOptions.prefix("").resume("nonsense")).next());
    }
  }

  private static WatchMessage.Events events(Watch watch) {
    while (true) {
      if (watch.next(Duration.ofSeconds(30)).orElseThrow() instanceof WatchMessage.Events e) {
        return e;
      }
    }
  }

  @Test
  void aSessionIsHandedOver(TestInfo info) {
    try (Client one = client(info); Client two = client(info)) {
      Session s = one.openSession();
      Held held = s.lock("k").acquire();
      String token = s.export();
      assertEquals(Optional.of(CloseCause.EXPORTED), s.cause());
      assertEquals(Optional.of(EndCause.EXPORTED), held.cause());
      assertThrows(TenureException.SessionOver.class, () -> s.lock("x").acquire());
      try (Session resumed = two.resume(token)) {
        assertEquals(s.id(), resumed.id());
        assertEquals(2, resumed.epoch());
        List<Held> inherited = resumed.inherited();
        assertEquals(1, inherited.size());
        assertTrue(inherited.get(0).token() > held.token());
        assertTrue(inherited.get(0).isSafe());
      }
    }
  }

  @Test
  void aTakenOverSessionEndsForTheOldProcess(TestInfo info) throws Exception {
    // Who takes it over believes in its hold after one TTL.
    Duration ttl = Duration.ofSeconds(6);
    try (Client one = client(info, ttl); Client two = client(info, ttl)) {
      BlockingQueue<SessionChange> changes = new LinkedBlockingQueue<>();
      Session s = one.openSession(SessionOptions.defaults(), Duration.ofSeconds(30), changes::add);
      Held held = s.lock("k").acquire();
      assertEquals(SessionState.CONNECTING, changes.poll(30, TimeUnit.SECONDS).to());
      assertEquals(SessionState.CONNECTED, changes.poll(30, TimeUnit.SECONDS).to());
      try (Session resumed = two.resume(s.token())) {
        SessionChange last = changes.poll(30, TimeUnit.SECONDS);
        while (last.to() != SessionState.CLOSED) {
          last = changes.poll(30, TimeUnit.SECONDS);
        }
        assertEquals(Optional.of(CloseCause.SUPERSEDED), last.cause());
        assertFalse(held.isSafe());
        assertEquals(1, resumed.inherited().size());
      }
    }
  }

  @Test
  void candidatesLeadOneAfterAnother(TestInfo info) throws Exception {
    try (Client client = client(info); Session a = client.openSession(); Session b = client.openSession()) {
      Leadership first = a.election("svc").campaign("a");
      assertEquals("a", client.election("svc").leader().orElseThrow().text());
      first.proclaim("a2");
      assertEquals("a2", client.election("svc").leader().orElseThrow().text());
      CompletableFuture<Leadership> second = b.election("svc").campaignAsync("b");
      assertTrue(first.resign());
      assertTrue(get(second).isSafe());
      assertEquals("b", client.election("svc").leader().orElseThrow().text());
      assertThrows(TenureException.class, () -> first.proclaim("a3"));
      get(second).close();
      AtomicInteger begun = new AtomicInteger();
      CountDownLatch twice = new CountDownLatch(2);
      try (ElectionRun run = a.election("svc").run("r", l -> {
        begun.incrementAndGet();
        twice.countDown();
      })) {
        assertTrue(twice.await(30, TimeUnit.SECONDS));
        assertFalse(run.ended().isDone());
      }
      assertTrue(begun.get() >= 2);
    }
  }

  @Test
  void recipesWorkTogether(TestInfo info) throws Exception {
    try (Client client = client(info); Session a = client.openSession(); Session b = client.openSession()) {
      Barrier barrier = client.barrier("gate");
      barrier.set();
      barrier.set();
      assertThrows(TenureException.TimedOut.class, () -> barrier.await(Duration.ofMillis(50)));
      barrier.remove();
      barrier.await(Duration.ofSeconds(30));

      DoubleBarrier da = a.doubleBarrier("round", 2, "a");
      DoubleBarrier db = b.doubleBarrier("round", 2, "b");
      CompletableFuture<Void> entered = CompletableFuture.runAsync(da::enter);
      db.enter(Duration.ofSeconds(30));
      get(entered);
      CompletableFuture<Void> left = CompletableFuture.runAsync(da::leave);
      db.leave(Duration.ofSeconds(30));
      get(left);
      assertEquals(List.of(), client.kv().list("round"));

      Cache group = client.presence("workers").watch().begin();
      Presence.Membership m = a.presence("workers").join("w1", "here");
      assertEquals("here", client.presence("workers").members().get("w1"));
      until(client, WatchOptions.prefix("workers/"), keys -> keys.size() == 1);
      m.close();
      assertTrue(client.presence("workers").members().isEmpty());
      assertTrue(group.staleFor().toNanos() > 0);
      group.close();

      ReadWriteLock rw = a.readWriteLock("rw");
      Held r1 = rw.readLock().acquire();
      Held r2 = b.readWriteLock("rw").readLock().acquire();
      assertThrows(TenureException.TimedOut.class,
          () -> b.readWriteLock("rw").writeLock().acquire(Duration.ofMillis(50)));
      r1.close();
      r2.close();
      b.readWriteLock("rw").writeLock().withLock(() -> { });
      boolean held = b.readWriteLock("rw").writeLock().withLock(h -> h.isSafe() && client.check(h.sequencer()));
      assertTrue(held);
      long token = b.readWriteLock("rw").writeLock().withLock(Held::token);
      assertTrue(token > 0);
      assertTrue(a.readWriteLock("rw").writeLock().tryAcquire().held().isPresent());

      Held p = a.semaphore("permits", 3, 2).acquire();
      assertTrue(b.semaphore("permits", 3, 2).tryAcquire().held().isEmpty());
      assertTrue(b.semaphore("permits", 3).tryAcquire().held().isPresent());
      assertTrue(b.semaphore("permits", 3).tryAcquire().held().isEmpty());
      p.close();
    }
  }

  @Test
  void aStoppedMemberMakesWhatIsHeldUnsafeInTime(TestInfo info) throws Exception {
    try (TenureServer own = TenureServer.start()) {
      try (Client client = Client.connect(own.uri() + "?ttl=5s")) {
        BlockingQueue<SessionChange> changes = new LinkedBlockingQueue<>();
        Session s = client.openSession(SessionOptions.defaults(), Duration.ofSeconds(30), changes::add);
        Held held = s.lock("k").acquire();
        signal(own.process(), "STOP");
        assertEquals(EndCause.LEASE_RAN_OUT, get(held.ended()));
        assertFalse(held.isSafe());
        signal(own.process(), "CONT");
        for (SessionState want : List.of(SessionState.CONNECTING, SessionState.CONNECTED)) {
          assertEquals(want, changes.poll(30, TimeUnit.SECONDS).to());
        }
        // SUSPENDED comes before it, unless the library gets its turn only when the lease is over.
        SessionState now = SessionState.CONNECTED;
        while (now != SessionState.JEOPARDY) {
          now = changes.poll(30, TimeUnit.SECONDS).to();
        }
        SessionState after = changes.poll(30, TimeUnit.SECONDS).to();
        if (after == SessionState.CONNECTED) {
          // It lived on; the hold that nobody believes in any more is given back.
          until(client, WatchOptions.key("never"), keys -> true);
          s.lock("k").acquire(Duration.ofSeconds(30)).close();
        } else {
          assertEquals(SessionState.CLOSED, after);
        }
      }
    }
  }

  private static void signal(Process p, String name) throws Exception {
    new ProcessBuilder("kill", "-" + name, Long.toString(p.pid())).inheritIO().start().waitFor();
  }

  @Test
  void nobodyAnswers() {
    try (Client client = Client.connect("tenure://127.0.0.1:1")) {
      TenureException e = assertThrows(TenureException.Unavailable.class,
          () -> client.openSession(SessionOptions.defaults(), Duration.ofMillis(300), c -> { }));
      assertEquals(ErrorKind.UNAVAILABLE, e.kind());
      assertEquals(Applied.NO, e.applied());
    }
  }
}
