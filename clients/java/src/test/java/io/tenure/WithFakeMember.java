package io.tenure;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** Tests of a client with a member that does what it is told. The client's clock can be put forward. */
@Timeout(120)
abstract class WithFakeMember {
  private final AtomicLong ahead = new AtomicLong();
  FakeMember member;
  Client client;

  @BeforeEach
  void start() throws IOException {
    member = new FakeMember();
    client = new Client(ConnectionString.parse(member.uri()),
        new BootClock(() -> System.nanoTime() + ahead.get(), () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime())));
  }

  @AfterEach
  void stop() throws InterruptedException {
    client.close();
    member.close();
  }

  /** Lets so much time pass for the client's clock, once what was asked of the client has begun. */
  void passes(long seconds) throws Exception {
    turn();
    ahead.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
  }

  /** Waits until something is so; looks at it whenever the client's loop had a turn. */
  void until(BooleanSupplier so) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(FakeMember.SOON_SECONDS);
    while (!so.getAsBoolean()) {
      assertTrue(System.nanoTime() < end);
      turn();
    }
  }

  private void turn() throws Exception {
    get(client.core().onLoop(() -> CompletableFuture.completedFuture(null)));
  }

  static <T> T get(CompletableFuture<T> f) throws Exception {
    return f.get(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
  }

  static TenureException failure(CompletableFuture<?> f) {
    ExecutionException e = assertThrows(ExecutionException.class, () -> get(f));
    return assertInstanceOf(TenureException.class, e.getCause());
  }

  static <T> T next(BlockingQueue<T> asked) throws InterruptedException {
    T one = asked.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
    assertTrue(one != null);
    return one;
  }
}
