package io.tenure.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.CloseCause;
import io.tenure.SessionState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What follows from what happens to a session, without clocks: its TTL is 10 s, of which the margin is 200 ms. */
class SessionLifeTest {
  private static final Duration TTL = Duration.ofSeconds(10);

  private static long s(double seconds) {
    return (long) (seconds * 1e9);
  }

  private static String said(SessionLife.Effects e) {
    List<String> words = new ArrayList<>();
    if (e.ranOut()) {
      words.add("ran out");
    }
    e.changes().forEach(c -> words.add(c.to() + c.cause().map(w -> " " + w).orElse("")));
    if (e.hurry()) {
      words.add("hurry");
    }
    return String.join(", ", words);
  }

  private static SessionLife connected() {
    SessionLife l = new SessionLife(TTL);
    assertEquals("CONNECTED", said(l.created(0, s(1))));
    return l;
  }

  @Test
  void aLeaseCountsFromWhenItsRenewalWasSent() {
    SessionLife l = connected();
    assertEquals("", said(l.renewed(s(3), s(4))));
    assertEquals("", said(l.renewed(s(2), s(5))), "an earlier one does not shorten it");
    assertEquals("", said(l.look(s(12.7))));
    assertEquals("ran out, JEOPARDY, hurry", said(l.look(s(12.8))));
    assertFalse(l.isSafe(s(12.8)));
  }

  @Test
  void withoutALinkItIsSuspendedUntilItRunsOut() {
    SessionLife l = connected();
    assertEquals("SUSPENDED", said(l.linkDown(s(2))));
    assertTrue(l.needsAttach());
    assertTrue(l.isSafe(s(9.7)));
    l.attached();
    assertEquals("CONNECTED", said(l.renewed(s(5), s(6))));
    assertEquals("SUSPENDED", said(l.linkDown(s(7))));
    assertEquals("ran out, JEOPARDY, hurry", said(l.look(s(14.8))));
  }

  @Test
  void afterJeopardyTheTruthComesBeforeTheGoodNews() {
    SessionLife l = connected();
    assertEquals("ran out, JEOPARDY, hurry", said(l.renewed(s(9), s(10))), "it ran out before the renewal");
    assertEquals("hurry", said(l.renewed(s(10), s(11))));
    assertFalse(l.isSafe(s(11)));
    l.attached();
    assertEquals("CONNECTED", said(l.renewed(s(11), s(12))));
    assertTrue(l.isSafe(s(12)));
  }

  @Test
  void onlyTheFirstEndCounts() {
    SessionLife l = connected();
    assertEquals("ran out, JEOPARDY, CLOSED EXPIRED, hurry", said(l.close(CloseCause.EXPIRED, s(10))));
    assertEquals("", said(l.close(CloseCause.CLOSED, s(11))));
    assertEquals("", said(l.renewed(s(11), s(11))));
    assertEquals("", said(l.created(s(11), s(11))));
    assertEquals("", said(l.linkDown(s(12))));
    assertEquals(CloseCause.EXPIRED, l.cause());
    assertFalse(l.isSafe(s(12)));
  }

  @Test
  void whatTheClockHasCanBeAskedBeforeTheLoopHasLooked() {
    SessionLife l = connected();
    assertEquals(SessionState.JEOPARDY, l.state(s(9.8)));
    assertEquals(SessionState.CONNECTED, l.state());
    assertEquals("ran out, JEOPARDY, hurry", said(l.look(s(9.8))));
  }

  @Test
  void callsWaitForTwoTtlsAndWithoutTtlForAnOutage() {
    SessionLife l = connected();
    l.look(s(10));
    assertEquals(SessionLife.Waiting.ON, l.waiting(0, s(30)));
    assertEquals(SessionLife.Waiting.LEASE_OVER, l.waiting(0, s(30.1)));
    l.close(CloseCause.EXPIRED, s(31));
    assertEquals(SessionLife.Waiting.ON, l.waiting(0, s(34)));
    assertEquals(SessionLife.Waiting.CLOSED, l.waiting(0, s(34.1)));

    SessionLife forever = new SessionLife(Duration.ZERO);
    forever.created(0, s(1));
    assertEquals("", said(forever.look(s(1e6))));
    forever.linkDown(s(2));
    assertEquals(SessionLife.Waiting.ON, forever.waiting(0, s(47)));
    assertEquals(SessionLife.Waiting.NO_MEMBER, forever.waiting(0, s(47.1)));
    assertEquals(SessionLife.Waiting.ON, forever.waiting(s(40), s(85)), "who begins later has as much time");
  }

  @Test
  void itIsNeverReliedOnForTooLong() {
    for (int seed = 0; seed < 500; seed++) {
      Random random = new Random(seed);
      SessionLife l = new SessionLife(TTL);
      long now = 0;
      long covered = 0; // By what was acknowledged.
      for (int step = 0; step < 200; step++) {
        now += random.nextLong(TTL.toNanos() / 2);
        SessionState before = l.state();
        boolean was = l.isSafe(now);
        SessionLife.Effects e = switch (random.nextInt(8)) {
          case 0, 1, 2 -> {
            long sent = Math.max(0, now - random.nextLong(TTL.toNanos()));
            if (before != SessionState.CLOSED) {
              covered = Math.max(covered, sent + TTL.toNanos());
            }
            yield before == SessionState.CONNECTING ? l.created(sent, now) : l.renewed(sent, now);
          }
          case 3 -> l.linkDown(now);
          case 4 -> {
            l.attached();
            yield l.look(now);
          }
          case 5, 6 -> l.look(now);
          default -> random.nextInt(10) == 0 ? l.close(CloseCause.EXPIRED, now) : l.look(now);
        };
        String where = "seed " + seed + ", step " + step;
        assertTrue(!l.isSafe(now) || now < covered - Lease.marginNanos(TTL), where + ": relied on after what was acknowledged");
        boolean held = before == SessionState.CONNECTED || before == SessionState.SUSPENDED;
        assertEquals(held && !was, e.ranOut(), where + ": what is held ends when the lease does");
        if (before == SessionState.CLOSED) {
          assertEquals("", said(e), where + ": it was over");
        }
        if (!e.changes().isEmpty()) {
          assertEquals(l.state(), e.changes().get(e.changes().size() - 1).to(), where + ": the last state that is told");
        }
      }
    }
  }
}
