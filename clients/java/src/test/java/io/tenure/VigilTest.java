package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.internal.line.Vigil;
import java.time.Duration;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Members that fall silent while they owe answers. */
@Timeout(240)
final class VigilTest {
  private record Due(long at, Runnable task) {}

  private final PriorityQueue<Due> due = new PriorityQueue<>((a, b) -> Long.compare(a.at(), b.at()));
  private long now;
  private boolean lives;
  private int pings;
  private boolean silent;
  private final Vigil vigil = new Vigil((nanos, task) -> due.add(new Due(now + nanos, task)), () -> now, (nanos, told) -> {
    pings++;
    boolean alive = lives;
    due.add(new Due(alive ? now : now + nanos, () -> told.accept(alive)));
  }, () -> silent = true);

  /** Lets time pass. */
  private void pass(Duration d) {
    long until = now + d.toNanos();
    while (!due.isEmpty() && due.peek().at() <= until) {
      Due next = due.poll();
      now = Math.max(now, next.at());
      next.task().run();
    }
    now = until;
  }

  @Test
  void aMemberThatOwesAnswersAndGivesNoSignOfLifeIsGivenUp() {
    vigil.heard();
    vigil.owe();
    pass(Duration.ofMillis(1100));
    assertTrue(silent);
    assertEquals(1, pings);
  }

  @Test
  void aSlowMemberIsNotGivenUp() {
    lives = true;
    vigil.heard();
    vigil.owe();
    pass(Duration.ofMinutes(1));
    assertFalse(silent);
    assertTrue(pings > 10 && pings <= 60, pings + " pings");
    lives = false;
    pass(Duration.ofSeconds(3));
    assertTrue(silent);
  }

  @Test
  void aMemberThatOwesNothingOrIsHeardIsNotAsked() {
    vigil.owe(); // It may be far away.
    pass(Duration.ofSeconds(10));
    vigil.settle();
    vigil.heard();
    vigil.owe();
    for (int i = 0; i < 50; i++) {
      pass(Duration.ofMillis(200));
      vigil.heard();
    }
    vigil.settle();
    pass(Duration.ofMinutes(1));
    assertEquals(0, pings);
    vigil.owe();
    pass(Duration.ofSeconds(2));
    assertTrue(silent);
  }

  @Test
  void whatTheProcessDidNotReadBecauseItStoodStillIsNoSilence() {
    vigil.heard();
    vigil.owe();
    pass(Duration.ofMillis(300));
    now += Duration.ofSeconds(5).toNanos();
    pass(Duration.ofMillis(1));
    assertFalse(silent);
    assertEquals(1, pings);
  }

  /** Attempts have an hour in this test. */
  @Test
  void aCallDoesNotWaitForAMemberThatIsCutOff() throws Exception {
    try (FakeMember one = new FakeMember(); FakeMember other = new FakeMember(); Relay first = new Relay(one); Relay second = new Relay(other);
        Client client = WithFakeMember.client("tenure://" + first.address() + "," + second.address(), System::nanoTime)) {
      client.kv().put("k", "1");
      for (Relay relay : List.of(first, second)) {
        relay.hold(relay.address().equals(client.connectedTo())); // It may have tried the other one first, and given up on a busy machine.
      }
      Future<?> put = client.kv().putAsync("k", "2");
      put.get(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
    }
  }
}
