package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Token;
import io.tenure.v1.ErrorReason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
    member.next(FakeMember.Renewal.class); // The stream that is to break is there.
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

  /** Has the client connect anew, with the token of a file. */
  private void connectWith(Path token) throws Exception {
    client.close();
    client = client(member.uri() + "?token_file=" + token);
    member.keepAlive = o -> streams.incrementAndGet();
  }

  /** Lets so much time pass that a token is old, and no renewal overdue. */
  private void tokenAges(Session renewed) throws Exception {
    for (long seconds = 0; seconds <= TimeUnit.NANOSECONDS.toSeconds(Token.AGE_NANOS); seconds += 4) {
      passes(4);
      renewed(renewed);
    }
  }

  @Test
  void aRightThatComesWithAnotherTokenCounts(@TempDir Path dir) throws Exception {
    Path token = Files.writeString(dir.resolve("token"), "before");
    connectWith(token);
    Session session = open(told);
    Session other = open(toldOther);
    Connection link = client.core().link.current();
    member.deniedTo = "Bearer before";
    member.denied.add(session.id());
    tokenAges(other);
    until(told, SessionState.SUSPENDED);
    assertEquals(1, streams.get());
    Files.writeString(token, "after");
    tokenAges(other);
    until(told, SessionState.CONNECTED);
    assertEquals(2, streams.get());
    assertTrue(toldOther.isEmpty(), toldOther::toString);
    assertSame(link, client.core().link.current());
  }

  @Test
  void anotherTokenTellsThatItExpired(@TempDir Path dir) throws Exception {
    Path token = Files.writeString(dir.resolve("token"), "before");
    connectWith(token);
    Session session = open(told);
    member.deniedTo = "Bearer before";
    member.denied.add(session.id());
    member.refused = ErrorReason.ERROR_REASON_SESSION_EXPIRED;
    Files.writeString(token, "after");
    member.authorization = "Bearer after"; // Of new calls; the stream goes on.
    client.kv().put("k", "v");
    until(told, SessionState.CLOSED);
    assertEquals(Optional.of(CloseCause.EXPIRED), session.cause());
  }

  @Test
  void aTokenThatNobodyKnowsLeavesTheOtherSessionsAlone(@TempDir Path dir) throws Exception {
    Path token = Files.writeString(dir.resolve("token"), "before");
    connectWith(token);
    Session session = open(told);
    Session other = open(toldOther);
    Connection link = client.core().link.current();
    member.deniedTo = "Bearer before";
    member.denied.add(session.id());
    Files.writeString(token, "after");
    member.authorization = "Bearer another";
    assertEquals(ErrorKind.AUTH_FAILED, failure(client.kv().putAsync("k", "v")).kind());
    for (int n = 0; n < 5; n++) {
      renewed(other);
    }
    assertTrue(toldOther.isEmpty(), toldOther::toString);
    member.authorization = "Bearer after";
    until(() -> streams.get() == 2);
    member.seen();
    renewed(session);
    assertEquals(SessionState.CONNECTED, session.state());
    assertTrue(toldOther.isEmpty(), toldOther::toString);
    assertSame(link, client.core().link.current());
  }
}
