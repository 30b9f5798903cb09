package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** What a lock does for the threads that share its handle. */
final class LockTest extends WithMember {
  private static final int THREADS = 8;
  private static final Duration TTL = Duration.ofSeconds(120);

  /** Has all threads do a task so often in all, and waits for them. */
  private static void together(int rounds, Runnable task) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    AtomicInteger left = new AtomicInteger(rounds);
    List<CompletableFuture<Void>> done = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      done.add(CompletableFuture.runAsync(() -> {
        while (left.getAndDecrement() > 0) {
          task.run();
        }
      }, pool));
    }
    try {
      CompletableFuture.allOf(done.toArray(CompletableFuture[]::new)).get();
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void threadsThatShareALockAreNeverInsideTogether(TestInfo info) throws Exception {
    int rounds = LongForm.soak() ? 1000 : 200;
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    AtomicInteger entered = new AtomicInteger();
    try (Client client = client(info, TTL); Session session = client.openSession()) {
      Lock lock = session.lock("shared");
      together(rounds, () -> lock.withLock(() -> {
        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
        entered.incrementAndGet();
        Thread.yield();
        inside.decrementAndGet();
      }));
    }
    assertEquals(rounds, entered.get());
    assertEquals(1, most.get());
  }

  @Test
  void closingOneHoldOfALockLeavesTheOthersAlone(TestInfo info) throws Exception {
    try (Client client = client(info, TTL); Session session = client.openSession()) {
      Lock shared = session.lock("read", LockOptions.shared());
      Held first = shared.acquire();
      Held second = shared.acquire();
      assertNotEquals(first.owner(), second.owner());
      first.close();
      assertTrue(first.cause().isPresent());
      assertTrue(second.cause().isEmpty());
      assertTrue(client.check(second.sequencer()));
    }
  }

  @Test
  void aTryWithTheHandleOfAHoldIsRefused(TestInfo info) throws Exception {
    try (Client client = client(info, TTL); Session session = client.openSession()) {
      Lock lock = session.lock("k");
      try (Held held = lock.acquire()) {
        assertTrue(lock.tryAcquire().held().isEmpty());
        assertTrue(held.cause().isEmpty());
      }
    }
  }

  @Test
  void aWaitThatTimesOutSaysWhoHoldsTheLock(TestInfo info) {
    try (Client client = client(info, TTL); Session first = client.openSession(SessionOptions.defaults().withName("owner"));
        Session second = client.openSession(); Held held = first.lock("k").acquire()) {
      for (Duration wait : List.of(Duration.ofSeconds(1), Duration.ZERO)) {
        String text = assertThrows(TenureException.TimedOut.class, () -> second.lock("k").acquire(wait)).getMessage();
        assertTrue(text.endsWith(": held by \"owner\" (session " + first.id() + ")"), text);
      }
    }
  }

  @Test
  void aSessionThatIsHandedOverLeavesItsQueues(TestInfo info) throws Exception {
    try (Client client = client(info, TTL); Client other = client(info, TTL);
        Session first = client.openSession(); Session next = client.openSession()) {
      Held held = first.lock("k").acquire();
      Session second = other.openSession(SessionOptions.defaults().withTtl(Duration.ZERO)); // Nothing but its place would end its wait.
      CompletableFuture<Held> wait = second.lock("k").acquireAsync();
      until(() -> client.lockInfo("k").waiters() == 1);
      String token = second.export();
      assertEquals(0, client.lockInfo("k").waiters());
      assertInstanceOf(TenureException.SessionOver.class, assertThrows(ExecutionException.class, () -> get(wait)).getCause());
      held.release();
      assertTrue(next.lock("k").acquire(Duration.ofSeconds(1)).isSafe());
      client.resume(token).close();
    }
  }

  @Test
  void onlyAReentrantHandleAttachesToTheHoldThatItHas(TestInfo info) throws Exception {
    try (Client client = client(info, TTL); Session session = client.openSession()) {
      Lock lock = session.lock("k").reentrant();
      Held outer = lock.acquire();
      Held inner = lock.acquire();
      assertEquals(outer.token(), inner.token());
      assertEquals(outer.token(), lock.tryAcquire().held().orElseThrow().token());
      inner.close();
      assertFalse(client.check(outer.sequencer()));
      assertEquals(EndCause.RELEASED, outer.cause().orElseThrow());
    }
  }
}
