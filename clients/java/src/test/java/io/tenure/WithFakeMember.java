package io.tenure;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.internal.BootClock;
import io.tenure.internal.line.Silence;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of a client with a member that does what it is told. The client's clock is slow, and can be put forward: what the library
 * does after a while it does when the test says so, and not because a thread had to wait for its turn.
 */
@Timeout(240)
abstract class WithFakeMember {
  /** How much slower the client's clock is than the machine's. */
  private static final int SLOWER = 10;
  /** What is done so much later is done after all that looks at the clock again and again. */
  private static final long LOOKED_NANOS = 150_000_000L;

  private final AtomicLong ahead = new AtomicLong();
  FakeMember member;
  Client client;

  @BeforeEach
  void start() throws IOException {
    member = new FakeMember();
    client = client(member.uri());
  }

  /** Returns a client with the slow clock, which makes no other attempt at a call because of the time that the first one takes. */
  Client client(String uri) {
    return client(uri, () -> System.nanoTime() / SLOWER + ahead.get());
  }

  /** Likewise, with that clock. */
  static Client client(String uri, LongSupplier nanos) {
    return new Client(ConnectionString.parse(uri), Client.DEFAULT_CALL_TIMEOUT, new BootClock(nanos, () -> 0), Duration.ofHours(1));
  }

  /** Has the client choose between the member and others; returns them all, first the one to which it connected. */
  List<FakeMember> connectAmong(FakeMember... others) throws Exception {
    List<FakeMember> members = new ArrayList<>(List.of(others));
    members.add(member);
    client.close();
    client = client("tenure://" + String.join(",", members.stream().map(FakeMember::address).toList()));
    until(() -> !client.connectedTo().isEmpty());
    FakeMember here = members.stream().filter(m -> m.address().equals(client.connectedTo())).findFirst().orElseThrow();
    members.remove(here);
    members.add(0, here);
    return members;
  }

  @AfterEach
  void stop() throws InterruptedException {
    client.close();
    member.close();
  }

  /** Lets so much time pass for the client's clock once what was asked of it has begun, and waits until it looked at the clock. */
  void passes(long seconds) throws Exception {
    turn(client);
    jumps(seconds);
    CompletableFuture<Void> looked = new CompletableFuture<>();
    client.core().loop.after(LOOKED_NANOS, () -> looked.complete(null));
    get(looked);
  }

  /** Lets so much time pass for the client's clock at once. */
  void jumps(long seconds) {
    ahead.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
  }

  /** Lets so much time pass in which the client runs, and the member says nothing. The client looks at least once. */
  void silentFor(long seconds) throws Exception {
    get(client.core().onLoop(() -> {
      for (long i = 0; i <= TimeUnit.SECONDS.toNanos(seconds) / Silence.LOOK_NANOS; i++) {
        client.core().silence.look();
      }
      return CompletableFuture.completedFuture(null);
    }));
  }

  /** Waits until something is so; looks at it whenever the client's loop had a turn. */
  void until(BooleanSupplier so) throws Exception {
    until(client, so);
  }

  /** Likewise, of that client. */
  static void until(Client client, BooleanSupplier so) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(FakeMember.SOON_SECONDS);
    while (!so.getAsBoolean()) {
      assertTrue(System.nanoTime() < end);
      turn(client);
    }
  }

  private static void turn(Client client) throws Exception {
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
