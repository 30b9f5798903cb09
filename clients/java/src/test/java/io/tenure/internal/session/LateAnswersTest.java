package io.tenure.internal.session;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.v1.Hold;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which answers come too late to be believed. */
final class LateAnswersTest {
  private static Hold hold(long token) {
    return Hold.newBuilder().setOwner("o").setSequencer(
        io.tenure.v1.Sequencer.newBuilder().setKey("k").setLockIndex(1).setFencingToken(token)).build();
  }

  @Test
  void whatTheClusterHadNoMoreWasLostUnlessItEndedHere() {
    LateAnswers late = new LateAnswers();
    late.ask("k", "o");
    late.ended(hold(5).getSequencer(), "o");
    late.shown(new Truth(List.of(hold(8)), List.of(), 9, 9));
    assertFalse(late.isLost(hold(5)) || late.isLost(hold(8)) || late.isLost(hold(10)) || late.isLost(hold(-1)));
    assertTrue(late.isEnded(hold(5)));
    assertTrue(late.isLost(hold(7)) && late.isLost(hold(9)));
    late.shown(new Truth(List.of(), List.of(), 6, 6)); // It comes late itself.
    assertFalse(late.isLost(hold(8)));
    late.shown(new Truth(List.of(), List.of(), 9, 9));
    assertTrue(late.isLost(hold(8)));
    late.asked("k", "o");
    late.ask("k", "o");
    assertFalse(late.isLost(hold(8))); // A new request finds what there is now.
  }

  @Test
  void aLateAnswerIsKnownForAsLongAsItMayCome() {
    LateAnswers late = new LateAnswers();
    late.lost(hold(7).getSequencer(), "o");
    late.ended(hold(7).getSequencer(), "o");
    assertTrue(late.isEmpty()); // Nobody asks.
    late.ask("k", "o");
    late.ask("k", "o");
    late.ended(hold(7).getSequencer(), "o");
    late.lost(hold(9).getSequencer(), "o");
    late.lost(hold(8).getSequencer(), "o");
    late.asked("k", "o");
    for (long token : new long[] {5, 7, 8}) {
      assertTrue(late.isEnded(hold(token)));
      assertFalse(late.isLost(hold(token)));
    }
    assertTrue(late.isLost(hold(9)));
    for (long token : new long[] {10, -1}) {
      assertFalse(late.isEnded(hold(token)) || late.isLost(hold(token))); // A token has no sign.
    }
    late.asked("k", "o");
    assertTrue(late.isEmpty());
    assertFalse(late.isEnded(hold(7)));
  }
}
