package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.rpc.Code;
import io.tenure.v1.BreakLockRequest;
import io.tenure.v1.BreakLockResponse;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A lock that is taken away from very many holders. */
final class BreaksTest extends WithFakeMember {
  private static final List<BreakLockResponse> SOME = List.of(
      BreakLockResponse.newBuilder().setHolds(3).setRemaining(3).setBreakToken("a").build(),
      BreakLockResponse.newBuilder().setHolds(2).setRemaining(1).setBreakToken("b").build(),
      BreakLockResponse.newBuilder().setHolds(1).build());

  /** Has the member answer the first so many calls, and refuse the others. */
  private void answer(int calls) {
    AtomicInteger next = new AtomicInteger();
    member.breakLock = (r, o) -> {
      int call = next.getAndIncrement();
      if (call < calls) {
        FakeMember.reply(o, SOME.get(call));
      } else {
        o.onError(FakeMember.refusal(Code.INVALID_ARGUMENT_VALUE, "INVALID_ARGUMENT"));
      }
    };
  }

  private void demandTokens() throws Exception {
    Set<Object> keys = new HashSet<>();
    for (String token : List.of("", "a", "b")) {
      BreakLockRequest asked = member.next(BreakLockRequest.class);
      assertEquals(token, asked.getBreakToken());
      keys.add(asked.getOptions().getIdempotencyKey());
    }
    assertEquals(3, keys.size());
  }

  @Test
  void aBreakGoesOnUntilNoHoldRemains() throws Exception {
    answer(3);
    assertEquals(6, client.breakLock("k", "why"));
    demandTokens();
  }

  @Test
  void aBreakThatDoesNotComeToItsEndFails() throws Exception {
    answer(2);
    assertThrows(TenureException.class, () -> client.breakLock("k", "why"));
    demandTokens();
  }
}
