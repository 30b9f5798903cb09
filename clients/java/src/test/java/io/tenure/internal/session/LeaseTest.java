package io.tenure.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What this process may believe of a session. */
final class LeaseTest {
  @Test
  void aLeaseEndsBeforeTheTtlCountedFromTheSending() {
    Lease l = new Lease();
    assertFalse(l.isSafe(0));
    Duration ttl = Duration.ofSeconds(10);
    l.acknowledged(1_000, ttl);
    long until = 1_000 + ttl.toNanos() - Duration.ofMillis(200).toNanos();
    assertTrue(l.isSafe(until - 1));
    assertFalse(l.isSafe(until));
    assertEquals(Duration.ZERO, l.left(until));
    // A late answer to an older renewal takes nothing back.
    l.acknowledged(500, ttl);
    assertEquals(until, l.safeUntil());
    l.again();
    l.acknowledged(0, Duration.ZERO);
    assertTrue(l.isSafe(Long.MAX_VALUE - 1));
    l.end();
    assertFalse(l.isSafe(2_000));
    assertEquals(Duration.ofMillis(50).toNanos(), Lease.marginNanos(Duration.ofSeconds(2)));
  }

  @Test
  void aLeaseThatWasSeenToRunOutIsNotBelievedAgainBeforeItsHoldsHaveEnded() {
    Lease l = new Lease();
    assertFalse(l.isOver(0));
    l.acknowledged(0, Duration.ofSeconds(10));
    long late = Duration.ofSeconds(11).toNanos();
    assertFalse(l.isOver(0));
    assertTrue(l.isOver(late));
    // The answer to a renewal comes after somebody asked, and before the loop looked.
    l.acknowledged(late, Duration.ofSeconds(10));
    assertFalse(l.isSafe(late));
    assertEquals(Duration.ZERO, l.left(late));
    l.again();
    assertTrue(l.isSafe(late));
    l.end();
    assertFalse(l.isSafe(late));
  }
}
