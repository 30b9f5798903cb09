package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.internal.session.SessionToken;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** What a session brings along when another process goes on with it, against a real member. */
final class InheritanceTest extends WithMember {
  private static Client client(TestInfo info) {
    return client(info, SOON);
  }

  private static LockOptions named() {
    return LockOptions.exclusive().withOwner("worker-1");
  }

  /** Hands a session over with its places in queues, as one does whose members did not answer in time that it leaves them. */
  private static String handOver(Session session) {
    SessionToken t = SessionToken.parse(session.token());
    session.detach();
    return new SessionToken(t.sessionId(), t.secret(), t.epoch(), t.ttl(), true).text();
  }

  @Test
  void aLockOfAProcessThatMayStillRunIsNotHadUnderItsNameBeforeItsLeaseIsOver(TestInfo info) {
    Duration ttl = Duration.ofSeconds(6);
    try (Client one = client(info, ttl); Client two = client(info, ttl)) {
      Session old = one.openSession();
      old.lock("k", named()).acquire();
      String token = old.token();
      long begun = System.nanoTime();
      try (Session resumed = two.resume(token)) {
        assertTrue(resumed.lock("k", named()).tryAcquire().held().isEmpty());
        assertThrows(TenureException.TimedOut.class, () -> resumed.lock("k", named()).acquire(Duration.ofMillis(50)));
        assertEquals(1, two.lockInfo("k").holders().size());
        Held held = resumed.lock("k", named()).acquire(SOON);
        assertTrue(System.nanoTime() - begun >= ttl.toNanos());
        assertTrue(held.isSafe());
        assertTrue(two.check(held.sequencer()));
        assertEquals(1, resumed.inherited().size());
        assertSame(held, resumed.inherited().get(0));
        assertSame(held, resumed.lock("k", named()).tryAcquire().held().orElseThrow());
        held.close();
        assertEquals(List.of(), resumed.inherited());
      }
    }
  }

  @Test
  void whatASessionWithoutTtlHeldIsFreedWithItsLockDelayByWhoTookItOver(TestInfo info) {
    try (Client one = client(info); Client two = client(info)) {
      Session old = one.openSession(SessionOptions.defaults().withTtl(Duration.ZERO));
      old.lock("k", named()).acquire();
      Session resumed = two.resume(old.token());
      assertThrows(TenureException.StaleToken.class, resumed::inherited);
      assertThrows(TenureException.StaleToken.class, () -> resumed.lock("k", named()).acquire());
      assertEquals(1, two.lockInfo("k").holders().size());
      resumed.close();
      assertEquals(0, two.lockInfo("k").holders().size());
      assertEquals(1, two.lockInfo("k").delayed());
    }
  }

  @Test
  void aPlaceThatNobodyTakesUpIsGivenUpAndOneThatIsTakenUpIsKept(TestInfo info) throws Exception {
    try (Client one = client(info); Client two = client(info)) {
      Session holder = two.openSession();
      Held a = holder.lock("a").acquire();
      Held b = holder.lock("b").acquire();
      Session old = one.openSession();
      CountDownLatch queued = new CountDownLatch(2);
      old.lock("a", LockOptions.exclusive().onQueued(p -> queued.countDown())).acquireAsync();
      old.lock("b", named().onQueued(p -> queued.countDown())).acquireAsync();
      assertTrue(queued.await(SOON.toSeconds(), TimeUnit.SECONDS));
      try (Session resumed = two.resume(handOver(old))) {
        CompletableFuture<Held> kept = resumed.lock("b", named()).acquireAsync();
        assertEquals(List.of(), resumed.inherited());
        assertEquals(0, two.lockInfo("a").waiters());
        assertEquals(1, two.lockInfo("b").waiters());
        a.close();
        b.close();
        assertTrue(get(kept).isSafe());
        assertTrue(holder.lock("a").tryAcquire().held().isPresent());
      }
    }
  }

  @Test
  void aPlaceThatWasGrantedMeanwhileIsAmongTheHolds(TestInfo info) throws Exception {
    try (Client one = client(info); Client two = client(info)) {
      Session holder = two.openSession();
      Held a = holder.lock("a").acquire();
      Session old = one.openSession();
      CountDownLatch queued = new CountDownLatch(1);
      old.lock("a", LockOptions.exclusive().onQueued(p -> queued.countDown())).acquireAsync();
      assertTrue(queued.await(SOON.toSeconds(), TimeUnit.SECONDS));
      try (Session resumed = two.resume(handOver(old))) {
        a.close();
        List<Held> all = resumed.inherited();
        assertEquals(1, all.size());
        assertTrue(all.get(0).isSafe());
        assertTrue(two.check(all.get(0).sequencer()));
      }
    }
  }

  @Test
  void aPartyThatIsInterruptedAtTheBarrierIsNotCounted(TestInfo info) throws Exception {
    try (Client client = client(info); Session s = client.openSession()) {
      CompletableFuture<TenureException> failure = new CompletableFuture<>();
      Thread party = new Thread(() -> failure.complete(
          assertThrows(TenureException.class, () -> s.doubleBarrier("round", 2, "a").enter())));
      party.start();
      until(client, WatchOptions.prefix("round/members/"), keys -> !keys.isEmpty());
      party.interrupt();
      assertEquals(ErrorKind.CANCELLED, get(failure).kind());
      until(client, WatchOptions.prefix("round/members/"), Map::isEmpty);
    }
  }

  @Test
  void aListenerThatThrowsKeepsNobodyFromWhatComes(TestInfo info) throws Exception {
    try (Client client = client(info); Cache cache = client.cache("")) {
      CountDownLatch told = new CountDownLatch(1);
      cache.listen(m -> {
        throw new IllegalStateException("meant to be seen in the log of this test");
      });
      cache.listen(m -> {
        if (cache.get("b").isPresent()) {
          told.countDown();
        }
      });
      cache.begin();
      client.kv().put("a", "1");
      client.kv().put("b", "2");
      assertTrue(told.await(SOON.toSeconds(), TimeUnit.SECONDS));
    }
  }

  @Test
  void aSubscriberThatThrowsIsToldNoMore(TestInfo info) throws Exception {
    try (Client client = client(info)) {
      CountDownLatch told = new CountDownLatch(1);
      client.kv().put("a", "1");
      client.watch(WatchOptions.all().withInitial()).publisher().subscribe(new java.util.concurrent.Flow.Subscriber<>() {
        @Override
        public void onSubscribe(java.util.concurrent.Flow.Subscription s) {
          s.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(WatchMessage m) {
          told.countDown();
          throw new IllegalStateException("meant to be seen in the log of this test");
        }

        @Override
        public void onError(Throwable t) {
          throw new AssertionError(t);
        }

        @Override
        public void onComplete() {
          throw new AssertionError("completed");
        }
      });
      assertTrue(told.await(SOON.toSeconds(), TimeUnit.SECONDS));
      long until = System.nanoTime() + SOON.toNanos();
      while (parts(client) > 0 && System.nanoTime() < until) {
        Thread.onSpinWait();
      }
      assertEquals(0, parts(client));
      assertFalse(client.members().isEmpty());
    }
  }

  private static int parts(Client client) throws Exception {
    return get(client.core().onLoop(() -> CompletableFuture.completedFuture(client.core().parts.size())));
  }
}
