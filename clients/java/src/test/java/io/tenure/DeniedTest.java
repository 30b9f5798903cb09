package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** One session of a client may not be renewed any more; the others may. */
final class DeniedTest extends WithFakeMember {
  private final AtomicInteger streams = new AtomicInteger();
  private final BlockingQueue<SessionChange> told = new LinkedBlockingQueue<>();
  private final BlockingQueue<SessionChange> toldOther = new LinkedBlockingQueue<>();

  private Session open(BlockingQueue<SessionChange> listener) throws Exception {
    Session s = client.openSession(SessionOptions.defaults(), Duration.ofMinutes(5), listener::add);
    until(listener, SessionState.CONNECTED);
    return s;
  }

  private static void until(BlockingQueue<SessionChange> listener, SessionState wanted) throws Exception {
    SessionState now = next(listener).to();
    while (now != wanted) {
      now = next(listener).to();
    }
  }

  /** Waits until the member has renewed the session twice more. */
  private void renewed(Session s) throws Exception {
    member.seen();
    for (int n = 0; n < 2; ) {
      n += member.next(FakeMember.Renewal.class).session().equals(s.id()) ? 1 : 0;
    }
  }

  @Test
  void onlyTheSessionThatIsRefusedIsSuspended() throws Exception {
    member.ttl = Duration.ofSeconds(2); // By the client's clock, which is slow.
    member.keepAlive = o -> streams.incrementAndGet();
    Session session = open(told);
    Session other = open(toldOther);
    member.denied.add(session.id());
    until(told, SessionState.SUSPENDED);
    assertEquals("PERMISSION_DENIED", session.refusal().orElseThrow().reason());
    renewed(other);
    assertEquals(SessionState.CONNECTED, other.state());
    assertTrue(toldOther.isEmpty(), toldOther::toString);
    assertEquals(1, streams.get());
    member.denied.clear();
    until(told, SessionState.CONNECTED);
  }

  @Test
  void aSessionWhoseStateMayNotBeAskedForSuspendsNoOther() throws Exception {
    member.ttl = Duration.ofSeconds(2);
    Session session = open(told);
    Session other = open(toldOther);
    member.attach = (r, o) -> {
      if (r.getSessionId().equals(session.id())) {
        o.onError(FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, "PERMISSION_DENIED"));
      } else {
        FakeMember.reply(o, member.truth(r));
      }
    };
    member.keepAlive = o -> streams.incrementAndGet();
    member.breakOff();
    until(toldOther, SessionState.CONNECTED);
    until(told, SessionState.JEOPARDY); // It was asked for during all that time.
    renewed(other);
    assertEquals(SessionState.CONNECTED, other.state());
    assertTrue(toldOther.isEmpty(), toldOther::toString);
    assertEquals(1, streams.get());
  }
}
