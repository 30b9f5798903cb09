package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.session.SessionToken;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.CancelWaitResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.ReleaseLockResponse;
import io.tenure.v1.RenewSessionRequest;
import io.tenure.v1.RenewSessionResponse;
import io.tenure.v1.Sequencer;
import io.tenure.v1.TryAcquireLockRequest;
import io.tenure.v1.TryAcquireLockResponse;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;

/** A session is handed over, and ended, by a member that does what it is told. */
final class HandoverTest extends WithFakeMember {
  @Test
  void itIsHandedOverThoughNobodyAnswersTheLastRenewal() throws Exception {
    Session session = client.openSession();
    member.renew = (r, o) -> { };
    CompletableFuture<String> exported = session.exportAsync();
    member.next(RenewSessionRequest.class);
    passes(60);
    SessionToken token = SessionToken.parse(get(exported));
    assertEquals(session.id(), token.sessionId());
    assertTrue(token.handedOver());
    assertEquals(Optional.of(CloseCause.EXPORTED), session.cause());
  }

  @Test
  void itIsHandedOverThoughTheLastRenewalFails() throws Exception {
    member.renew = (r, o) -> o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
    Session session = client.openSession();
    assertTrue(SessionToken.parse(session.export()).handedOver());
  }

  @Test
  void onlyTheClustersWordThatItIsOverKeepsItFromThat() throws Exception {
    for (String reason : List.of("SESSION_EXPIRED", "SESSION_NOT_FOUND", "SESSION_SUPERSEDED", "SESSION_SECRET_WRONG")) {
      member.renew = (r, o) -> o.onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, reason));
      TenureException e = failure(client.openSession().exportAsync());
      assertInstanceOf(TenureException.SessionOver.class, e, reason);
      assertTrue(e.kind() != ErrorKind.SESSION_CLOSED, reason);
    }
  }

  @Test
  void anInterruptDoesNotLoseTheToken() throws Exception {
    Session session = client.openSession();
    BlockingQueue<StreamObserver<RenewSessionResponse>> renewals = new LinkedBlockingQueue<>();
    member.renew = (r, o) -> renewals.add(o);
    CompletableFuture<String> token = new CompletableFuture<>();
    CompletableFuture<Boolean> flag = new CompletableFuture<>();
    Thread caller = new Thread(() -> {
      try {
        token.complete(session.export());
      } catch (RuntimeException e) {
        token.completeExceptionally(e);
      }
      flag.complete(Thread.currentThread().isInterrupted());
    });
    caller.start();
    StreamObserver<RenewSessionResponse> last = next(renewals);
    caller.interrupt();
    FakeMember.reply(last, RenewSessionResponse.getDefaultInstance());
    assertEquals(session.id(), SessionToken.parse(get(token)).sessionId());
    assertTrue(get(flag));
  }

  /** Returns how often it was asked for a last renewal, by what the member has seen. */
  private long renewed(List<Object> seen) {
    return seen.stream().filter(RenewSessionRequest.class::isInstance).count();
  }

  @Test
  void aPlaceAndWhatItBecameIsGivenBackBeforeThat() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.queued();
    BlockingQueue<StreamObserver<CancelWaitResponse>> cancels = new LinkedBlockingQueue<>();
    member.cancelWait = (r, o) -> cancels.add(o);
    BlockingQueue<StreamObserver<ReleaseLockResponse>> releases = new LinkedBlockingQueue<>();
    member.release = (r, o) -> releases.add(o);
    CompletableFuture<String> exported = session.exportAsync();
    StreamObserver<CancelWaitResponse> cancel = next(cancels);
    assertEquals(ErrorKind.SESSION_CLOSED, failure(session.lock("k").acquireAsync()).kind());
    assertEquals(ErrorKind.SESSION_CLOSED, failure(session.lock("k").tryAcquireAsync()).kind());
    FakeMember.reply(cancel, CancelWaitResponse.newBuilder().setHold(stream.hold(7)).build());
    StreamObserver<ReleaseLockResponse> release = next(releases);
    assertEquals(0, renewed(member.seen()));
    FakeMember.reply(release, ReleaseLockResponse.newBuilder().setReleased(true).build());
    TenureException e = failure(wait);
    assertEquals("SESSION_CLOSED NO session " + session.id() + " was handed over", e.kind() + " " + e.applied() + " " + e.getMessage());
    assertTrue(SessionToken.parse(get(exported)).handedOver());
    assertEquals(1, renewed(member.seen()));
  }

  @Test
  void whatATryThatWasGivenUpHadIsGivenBackBeforeThat() throws Exception {
    Session session = client.openSession();
    BlockingQueue<StreamObserver<TryAcquireLockResponse>> tries = new LinkedBlockingQueue<>();
    member.tryAcquire = (r, o) -> tries.add(o);
    CompletableFuture<TryResult> attempt = session.lock("k").tryAcquireAsync();
    StreamObserver<TryAcquireLockResponse> answer = next(tries);
    attempt.cancel(true);
    CompletableFuture<String> exported = session.exportAsync();
    Hold hold = Hold.newBuilder().setOwner(member.next(TryAcquireLockRequest.class).getOptions().getOwner())
        .setSequencer(Sequencer.newBuilder().setKey("k").setLockIndex(7).setFencingToken(7)).build();
    FakeMember.reply(answer, TryAcquireLockResponse.newBuilder().setAcquired(true).setHold(hold).build());
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
    member.next(RenewSessionRequest.class);
    get(exported);
  }

  /** Opens a session whose lease ran out, while calls have answers. */
  private Session inJeopardy() throws Exception {
    Session session = client.openSession();
    member.denied.add(session.id());
    jumps(FakeMember.LAPSE_SECONDS);
    member.seen();
    member.next(FakeMember.Renewal.class); // The client may take a member for silent that had not answered before the jump.
    member.next(FakeMember.Renewal.class);
    assertEquals(SessionState.JEOPARDY, session.state());
    return session;
  }

  /** Answers a try, and waits until the client knows. */
  private void acquired(StreamObserver<TryAcquireLockResponse> answer) throws Exception {
    Hold hold = Hold.newBuilder().setOwner(member.next(TryAcquireLockRequest.class).getOptions().getOwner())
        .setSequencer(Sequencer.newBuilder().setKey("k").setLockIndex(7).setFencingToken(7)).build();
    FakeMember.reply(answer, TryAcquireLockResponse.newBuilder().setAcquired(true).setHold(hold).build());
    get(client.kv().findAsync("other"));
  }

  @Test
  void whatATryHadThatCouldNotBeBelievedIsGivenBackBeforeThat() throws Exception {
    Session session = inJeopardy();
    BlockingQueue<StreamObserver<TryAcquireLockResponse>> tries = new LinkedBlockingQueue<>();
    member.tryAcquire = (r, o) -> tries.add(o);
    CompletableFuture<TryResult> attempt = session.lock("k").tryAcquireAsync();
    acquired(next(tries));
    attempt.cancel(true);
    CompletableFuture<String> exported = session.exportAsync();
    get(exported);
    List<Object> seen = member.seen();
    assertEquals(List.of(7L), seen.stream().filter(ReleaseLockRequest.class::isInstance)
        .map(r -> ((ReleaseLockRequest) r).getLockIndex()).toList());
    assertEquals(1, renewed(seen));
  }

  @Test
  void whatATryHasThatCannotBeBelievedAnyMoreIsGivenBackBeforeThat() throws Exception {
    Session session = inJeopardy();
    BlockingQueue<StreamObserver<TryAcquireLockResponse>> tries = new LinkedBlockingQueue<>();
    member.tryAcquire = (r, o) -> tries.add(o);
    CompletableFuture<TryResult> attempt = session.lock("k").tryAcquireAsync();
    StreamObserver<TryAcquireLockResponse> answer = next(tries);
    CompletableFuture<String> exported = session.exportAsync();
    acquired(answer);
    TenureException e = failure(attempt);
    assertEquals("SESSION_CLOSED YES session " + session.id() + " was handed over", e.kind() + " " + e.applied() + " " + e.getMessage());
    get(exported);
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
  }

  @Test
  void aReleaseThatIsUnderWayThenIsNoLoss() throws Exception {
    Session session = client.openSession();
    member.acquire = a -> a.grant(a.hold(7));
    Held held = session.lock("k").acquire();
    BlockingQueue<StreamObserver<ReleaseLockResponse>> releases = new LinkedBlockingQueue<>();
    member.release = (r, o) -> releases.add(o);
    CompletableFuture<Void> closed = CompletableFuture.runAsync(held::close);
    StreamObserver<ReleaseLockResponse> release = next(releases);
    CompletableFuture<String> exported = session.exportAsync();
    passes(4);
    get(exported);
    FakeMember.reply(release, ReleaseLockResponse.getDefaultInstance());
    get(closed);
  }

  @Test
  void itIsHandedOverThoughNobodyAnswersThatAPlaceIsGivenUp() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    member.next(FakeMember.Acquire.class).queued();
    member.cancelWait = (r, o) -> { };
    CompletableFuture<String> exported = session.exportAsync();
    member.next(CancelWaitRequest.class);
    passes(4);
    assertEquals(session.id(), SessionToken.parse(get(exported)).sessionId());
    assertEquals(ErrorKind.SESSION_CLOSED, failure(wait).kind());
  }

  @Test
  void oneThatEndsAsItLeavesItsQueuesIsNotHandedOver() throws Exception {
    Session session = client.openSession();
    session.lock("k").acquireAsync();
    member.next(FakeMember.Acquire.class).queued();
    member.cancelWait = (r, o) -> { };
    CompletableFuture<String> exported = session.exportAsync();
    member.next(CancelWaitRequest.class);
    session.close();
    assertEquals(ErrorKind.SESSION_CLOSED, failure(exported).kind());
    assertEquals(Optional.of(CloseCause.CLOSED), session.cause());
  }

  @Test
  void aSessionThatIsOverReadsNothing() throws Exception {
    Session session = client.openSession();
    session.close();
    for (CompletableFuture<?> f : List.of(session.kv().findAsync("k"), session.kv().getAsync("k"))) {
      TenureException e = failure(f);
      assertEquals(ErrorKind.SESSION_CLOSED, e.kind());
      assertEquals(Applied.NO, e.applied());
    }
  }
}
