package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.internal.session.SessionToken;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.CancelWaitResponse;
import io.tenure.v1.DestroySessionRequest;
import io.tenure.v1.Hold;
import io.tenure.v1.Place;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.ResponseHeader;
import io.tenure.v1.Sequencer;
import io.tenure.v1.TryAcquireLockResponse;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Sessions without TTL: nothing ends the belief in them but the cluster's word. */
final class WithoutTtlTest extends WithFakeMember {
  private static final LockOptions NAMED = LockOptions.exclusive().withOwner("me");

  @BeforeEach
  void withoutTtl() {
    member.ttl = Duration.ZERO;
  }

  private static Hold hold(String key, long token) {
    return Hold.newBuilder().setOwner("me").setSequencer(
        Sequencer.newBuilder().setKey(key).setLockIndex(token).setFencingToken(token)).build();
  }

  /** Has the member tell these holds as of revision 9. */
  private void has(AtomicReference<List<Hold>> holds) {
    member.attach = (r, o) -> FakeMember.reply(o, member.truth(r, holds.get().toArray(Hold[]::new)).toBuilder()
        .setHeader(ResponseHeader.newBuilder().setRevision(9)).build());
    member.acquire = a -> a.grant(a.request().getKey().equals("k") ? hold("k", 7) : hold(a.request().getKey(), 12));
    member.tryAcquire = (r, o) -> FakeMember.reply(o, TryAcquireLockResponse.newBuilder().setAcquired(true)
        .setHold(r.getKey().equals("k") ? hold("k", 7) : hold(r.getKey(), 12)).build());
  }

  private static void assertNotHad(Executable call) {
    TenureException e = assertThrows(TenureException.StaleToken.class, call);
    assertEquals(ErrorKind.NOT_HELD, e.kind());
    assertEquals(Applied.NO, e.applied());
    assertTrue(e.getMessage().contains("without TTL"), e.getMessage());
  }

  @Test
  void whatItHeldIsNeverBelievedByWhoResumesItWithAKeptToken() throws Exception {
    has(new AtomicReference<>(List.of(hold("k", 7))));
    Session session = client.resume(FakeMember.token(false));
    for (int day = 0; day < 2; day++) {
      assertTrue(session.isSafe());
      assertNotHad(session::inherited);
      assertNotHad(() -> session.lock("k", NAMED).acquire());
      assertNotHad(() -> session.lock("k", NAMED).acquire(Duration.ofSeconds(FakeMember.SOON_SECONDS)));
      assertNotHad(() -> session.lock("k", NAMED).tryAcquire());
      passes(TimeUnit.DAYS.toSeconds(1));
    }
    assertTrue(session.lock("other", NAMED).acquire().isSafe());
    assertTrue(session.lock("other", NAMED).tryAcquire().held().orElseThrow().isSafe());
    session.close();
    // Then the lock-delay protects.
    List<Object> seen = member.seen();
    assertTrue(seen.stream().anyMatch(r -> r instanceof DestroySessionRequest d && !d.getClean()));
    assertFalse(seen.stream().anyMatch(ReleaseLockRequest.class::isInstance));
  }

  @Test
  void aGrantAfterTheTakeoverIsBelievedThoughLaterPagesWereToldYet() {
    member.attach = (r, o) -> FakeMember.reply(o, member.truth(r, hold("k", 3)).toBuilder()
        .setHeader(ResponseHeader.newBuilder().setRevision(r.getPageToken().isEmpty() ? 3 : 9))
        .setNextPageToken(r.getPageToken().isEmpty() ? "2" : "").build());
    member.acquire = a -> a.grant(a.request().getKey().equals("k") ? hold("k", 3) : hold("c", 5));
    Session session = client.resume(FakeMember.token(false));
    assertTrue(session.lock("c", NAMED).acquire().isSafe());
    assertNotHad(() -> session.lock("k", NAMED).acquire());
  }

  @Test
  void anExportOfWhatMayNotBeBelievedIsNoHandOver() {
    has(new AtomicReference<>(List.of(hold("k", 7))));
    Session session = client.resume(FakeMember.token(false));
    assertFalse(SessionToken.parse(session.export()).handedOver());
  }

  @Test
  void whatItHeldIsBelievedByWhomItIsHandedTo() {
    has(new AtomicReference<>(List.of(hold("k", 7))));
    Session session = client.resume(FakeMember.token());
    Held held = session.inherited().get(0);
    assertTrue(held.isSafe());
    assertEquals(held, session.lock("k", NAMED).acquire());
  }

  @Test
  void whatWasTakenFromItIsNoReasonToDoubt() throws Exception {
    AtomicReference<List<Hold>> holds = new AtomicReference<>(List.of(hold("k", 7)));
    has(holds);
    Session session = client.resume(FakeMember.token(false));
    assertNotHad(session::inherited);
    holds.set(List.of());
    assertEquals(List.of(), session.inherited());
    // Granted anew, after the process before was told of its end.
    member.acquire = a -> a.grant(hold("k", 12));
    assertTrue(session.lock("k", NAMED).acquire().isSafe());
  }

  @Test
  void placesThatItHadAreGivenUpWhetherOrNotItsHoldsMayBeBelieved() throws Exception {
    member.attach = (r, o) -> {
      AttachSessionResponse.Builder truth = member.truth(r, hold("k", 7)).toBuilder();
      FakeMember.reply(o, truth.setHeader(ResponseHeader.newBuilder().setRevision(9))
          .addPlaces(Place.newBuilder().setKey("c").setOwner("me")).build());
    };
    member.cancelWait =
        (r, o) -> FakeMember.reply(o, CancelWaitResponse.newBuilder().setHold(hold("c", 12)).build());
    Session session = client.resume(FakeMember.token(false));
    assertNotHad(session::inherited);
    passes(11);
    assertEquals("c", member.next(CancelWaitRequest.class).getKey());
    assertEquals(12, member.next(ReleaseLockRequest.class).getLockIndex());
  }

  @Test
  void aCallInAnOutageEndsNevertheless() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    member.next(FakeMember.Acquire.class);
    // That it has run so long already is no reason to end it when the outage begins.
    passes(1000);
    session.kv().put("x", "");
    for (int i = 0; i < 3; i++) {
      member.next(FakeMember.Renewal.class);
    }
    member.close();
    until(() -> session.state() == SessionState.SUSPENDED);
    CompletableFuture<PutResult> first = session.kv().putAsync("a", new byte[0], PutOptions.defaults());
    passes(30);
    CompletableFuture<Optional<KeyValue>> second = session.kv().findAsync("b");
    passes(16);
    TenureException e = failure(first);
    assertEquals(ErrorKind.UNAVAILABLE, e.kind());
    assertEquals(Applied.NO, e.applied());
    // Nobody says what became of its place.
    passes(3);
    assertInstanceOf(TenureException.Unavailable.class, failure(wait));
    assertFalse(second.isDone());
    passes(30);
    assertEquals(ErrorKind.UNAVAILABLE, failure(second).kind());
    // Nobody said that the session ended.
    assertEquals(SessionState.SUSPENDED, session.state());
    assertTrue(session.isSafe());
    CompletableFuture<Void> closed = session.closeAsync();
    passes(11);
    get(closed);
  }
}
