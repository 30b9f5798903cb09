package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.tenure.internal.Futures;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** What a future that was given out does when somebody gives it up, or when nothing can come of it. */
final class FuturesTest extends WithFakeMember {
  @Test
  void whoCancelsAFutureEndsTheCallBehindIt() throws Exception {
    member.close();
    // Of what nobody waits for any more, nothing is left to be done when a member answers.
    List<Supplier<CompletableFuture<?>>> calls = List.of(
        () -> client.kv().getAsync("k"), () -> client.kv().findAsync("k"), () -> client.kv().listAsync("k"),
        () -> client.kv().putAsync("k", "v"), () -> client.kv().putAsync("k", new byte[0]),
        () -> client.kv().deleteAsync("k"), () -> client.kv().deleteIfAsync("k", 1),
        () -> client.kv().deletePrefixAsync("k"), () -> client.kv().commitAsync(client.kv().txn()),
        () -> client.lockInfoAsync("k"), () -> client.lookupAsync("id"), () -> client.breakLockAsync("k", "why"),
        () -> client.checkAsync(new Sequencer("k", 1, "5f0c1d5e-8d7a-4a5b-9a39-0d3a5a3f2b11", 1, "")),
        () -> client.election("k").leaderAsync(), () -> client.presence("g").membersAsync(),
        () -> client.barrier("k").setAsync(), () -> client.barrier("k").removeAsync());
    until(() -> client.connectedTo().isEmpty());
    for (Supplier<CompletableFuture<?>> call : calls) {
      CompletableFuture<?> f = call.get();
      until(() -> waiting() == 1);
      f.cancel(true);
      until(() -> waiting() == 0);
    }
  }

  private int waiting() {
    return client.core().link.waiting();
  }

  @Test
  void callsThatHaveTheirValueAtOnceAreRepeatedAsOftenAsIsWanted() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    get(Futures.repeat(() -> CompletableFuture.completedFuture(calls.incrementAndGet()), n -> n < 1_000_000));
    assertEquals(1_000_000, calls.get());
    StackOverflowError deep = new StackOverflowError();
    CompletableFuture<Void> failed = Futures.repeat(() -> CompletableFuture.completedFuture(1), n -> {
      throw deep;
    });
    assertSame(deep, assertThrows(ExecutionException.class, () -> get(failed)).getCause());
  }

  @Test
  void whatThrowsAnErrorEndsItsFuture() {
    StackOverflowError deep = new StackOverflowError();
    CompletableFuture<Object> made = Futures.map(CompletableFuture.completedFuture(1), v -> {
      throw deep;
    });
    assertSame(deep, assertThrows(ExecutionException.class, () -> get(made)).getCause());
    CompletableFuture<Object> begun = client.core().onLoop(() -> {
      throw deep;
    });
    assertSame(deep, assertThrows(ExecutionException.class, () -> get(begun)).getCause());
  }

  @Test
  void toStandInAnElectionNeedsASession() {
    Election e = client.election("e");
    for (CompletableFuture<Leadership> f : List.of(e.campaignAsync("v"), e.campaignAsync("v", Duration.ofSeconds(1)),
        e.campaignAsync("v", "me", Optional.empty()))) {
      assertEquals(ErrorKind.INVALID_ARGUMENT, failure(f).kind());
    }
    assertEquals(ErrorKind.INVALID_ARGUMENT, assertThrows(TenureException.class, () -> e.campaign("v")).kind());
  }

  @Test
  void aSessionIsResumedInEachForm() throws Exception {
    assertEquals(2, client.resume(FakeMember.token(), Duration.ofMinutes(5), c -> { }).epoch());
    assertEquals(2, get(client.resumeAsync(FakeMember.token())).epoch());
  }
}
