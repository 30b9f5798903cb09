package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.stub.StreamObserver;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.DestroySessionRequest;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;

/** One session that is known to one client more than once, for it was taken over there. */
final class TakeoverTest extends WithFakeMember {
  /** A takeover that the member was asked for. */
  private record Asked(AttachSessionRequest request, StreamObserver<AttachSessionResponse> out) {}

  private BlockingQueue<Asked> takeovers() {
    BlockingQueue<Asked> asked = new LinkedBlockingQueue<>();
    member.attach = (r, o) -> asked.add(new Asked(r, o));
    return asked;
  }

  private void answer(Asked asked) {
    FakeMember.reply(asked.out(), member.truth(asked.request()));
    // The next call is answered after this was dealt with.
    client.kv().put("x", "");
  }

  private CompletableFuture<Session> resume(String token) {
    return client.resumeAsync(token, Duration.ofSeconds(FakeMember.SOON_SECONDS), c -> { });
  }

  private void assertIsRenewed(Session session) throws Exception {
    member.seen();
    passes(11);
    assertEquals(session.id(), member.next(FakeMember.Renewal.class).session());
    assertEquals(SessionState.CONNECTED, session.state());
    assertTrue(session.isSafe());
  }

  @Test
  void aLateAnswerToAResumeThatWasGivenUpDoesNoHarmToTheNextOne() throws Exception {
    BlockingQueue<Asked> asked = takeovers();
    String token = FakeMember.token();
    CompletableFuture<Session> first = resume(token);
    Asked late = next(asked);
    first.cancel(true);
    CompletableFuture<Session> second = resume(token);
    Asked same = next(asked);
    assertEquals(late.request().getInstanceId(), same.request().getInstanceId());
    answer(same);
    Session session = get(second);
    answer(late);
    assertIsRenewed(session);
  }

  @Test
  void ofTwoThatResumeAtOnceOneHasTheSession() throws Exception {
    BlockingQueue<Asked> asked = takeovers();
    String token = FakeMember.token();
    CompletableFuture<Session> first = resume(token);
    Asked one = next(asked);
    CompletableFuture<Session> second = resume(token);
    Asked two = next(asked);
    answer(one);
    Session session = get(first);
    answer(two);
    assertEquals(ErrorKind.SESSION_SUPERSEDED, failure(second).kind());
    assertIsRenewed(session);
  }

  @Test
  void whoResumesASessionOfTheSameClientEndsTheOneBeforeAndNotTheSession() throws Exception {
    Session before = client.openSession();
    CompletableFuture<Held> wait = before.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(wait);
    Session session = client.resume(before.token());
    assertEquals(EndCause.SUPERSEDED, get(held.ended()));
    assertEquals(SessionState.CLOSED, before.state());
    assertEquals(Optional.of(CloseCause.SUPERSEDED), before.cause());
    before.close();
    assertFalse(member.seen().stream().anyMatch(DestroySessionRequest.class::isInstance));
    assertIsRenewed(session);
  }
}
