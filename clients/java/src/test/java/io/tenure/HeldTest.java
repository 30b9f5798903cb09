package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a hold says of itself at the moment that it ends. */
@Timeout(240)
final class HeldTest {
  /** What happens while a thread is between two looks; only for the thread that asks. */
  private final ThreadLocal<Runnable> pause = new ThreadLocal<>();

  private long nanos() {
    Runnable meanwhile = pause.get();
    if (meanwhile != null) {
      pause.remove();
      meanwhile.run();
    }
    return System.nanoTime();
  }

  private void whileItIsAsked(Consumer<Held> question) throws Exception {
    try (FakeMember member = new FakeMember();
        Client client = WithFakeMember.client(member.uri(), this::nanos)) {
      member.ttl = Duration.ofHours(1);
      CompletableFuture<Held> wait = client.openSession().lock("k").acquireAsync();
      FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
      stream.grant(stream.hold(7));
      Held held = WithFakeMember.get(wait);
      pause.set(() -> held.end(EndCause.TAKEN_AWAY));
      question.accept(held);
    }
  }

  @Test
  void whatEndedMeanwhileIsNotSafe() throws Exception {
    whileItIsAsked(held -> assertFalse(held.isSafe()));
  }

  @Test
  void whatEndedMeanwhileIsSafeForNoTime() throws Exception {
    whileItIsAsked(held -> assertEquals(Duration.ZERO, held.safeFor()));
  }

  @Test
  void whatEndedMeanwhileTellsWhy() throws Exception {
    whileItIsAsked(held -> assertEquals(Optional.of(EndCause.TAKEN_AWAY), held.cause()));
  }
}
