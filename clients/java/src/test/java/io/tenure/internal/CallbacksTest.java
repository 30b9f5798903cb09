package io.tenure.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** The threads on which the user's code runs. */
@Timeout(240)
@Isolated("it counts the threads of this process")
final class CallbacksTest {
  private static final long SOON_SECONDS = 60;
  private static final int MANY = 2 * Callbacks.THREADS_MAX;

  private static Set<Thread> threads() {
    Set<Thread> all = new HashSet<>(Thread.getAllStackTraces().keySet());
    all.removeIf(t -> !t.getName().equals("tenure-callback"));
    return all;
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(SOON_SECONDS, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void thereIsALimitToThem() {
    Loop loop = new Loop();
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch done = new CountDownLatch(MANY);
    Set<Thread> before = threads(); // Of other tests.
    for (int i = 0; i < MANY; i++) {
      loop.onPool(() -> {
        await(release);
        done.countDown();
      });
    }
    Set<Thread> more = threads();
    more.removeAll(before);
    release.countDown();
    await(done);
    loop.shutdown();
    assertTrue(more.size() <= Callbacks.THREADS_MAX, () -> more.size() + " threads");
  }

  @Test
  void whatRunsForLongTakesNoThreadFromThem() {
    Loop loop = new Loop();
    CountDownLatch release = new CountDownLatch(1);
    for (int i = 0; i < MANY; i++) {
      loop.alone(() -> await(release));
    }
    CountDownLatch done = new CountDownLatch(1);
    loop.onPool(done::countDown);
    await(done);
    release.countDown();
    loop.shutdown();
  }

  @Test
  void oneThatCannotBeStartedIsTriedAgain() {
    AtomicInteger failures = new AtomicInteger(3);
    Loop loop = new Loop(r -> {
      if (failures.getAndDecrement() > 0) {
        throw new OutOfMemoryError("no thread, as this test wants it");
      }
      return new Thread(r);
    });
    CountDownLatch done = new CountDownLatch(2);
    loop.onPool(done::countDown);
    loop.alone(done::countDown);
    await(done);
    loop.shutdown();
  }

  @Test
  void aHandlerOfUncaughtExceptionsThatThrowsTakesNoThreadForGood() {
    Loop loop = new Loop(r -> {
      Thread t = new Thread(r);
      t.setUncaughtExceptionHandler((thread, e) -> {
        throw new IllegalStateException("meant by this test");
      });
      return t;
    });
    CountDownLatch done = new CountDownLatch(1);
    for (int i = 0; i < MANY; i++) {
      loop.onPool(() -> {
        throw new IllegalStateException("meant by this test");
      });
    }
    loop.onPool(done::countDown);
    await(done);
    loop.shutdown();
  }

  @Test
  void whatIsToldOfTheEndOfAClientIsTold() {
    Loop loop = new Loop();
    loop.shutdown();
    AtomicInteger told = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(2);
    for (int i = 0; i < 2; i++) {
      loop.onPool(() -> {
        told.incrementAndGet();
        done.countDown();
      });
    }
    await(done);
    assertEquals(2, told.get());
  }
}
