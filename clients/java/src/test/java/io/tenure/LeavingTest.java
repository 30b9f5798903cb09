package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.session.SessionCore;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.CancelWaitResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.LockMode;
import io.tenure.v1.Place;
import io.tenure.v1.PutResponse;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.ReleaseLockResponse;
import io.tenure.v1.Sequencer;
import io.tenure.v1.TryAcquireLockRequest;
import io.tenure.v1.TryAcquireLockResponse;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What is on its way back is believed by nobody, and comes back, by a member that does what it is told. */
final class LeavingTest extends WithFakeMember {
  @Test
  void aPlaceIsGivenUpAgainOnceTheRequestForItIsKnownToBeDone() throws Exception {
    Session session = client.openSession();
    BlockingQueue<StreamObserver<PutResponse>> puts = new LinkedBlockingQueue<>();
    member.put = (r, o) -> puts.add(o);
    session.kv().putAsync("x", new byte[0], PutOptions.defaults());
    StreamObserver<PutResponse> put = next(puts);
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stuck = member.next(FakeMember.Acquire.class);
    wait.cancel(true);
    isLeftAgain(put, stuck.request().getOptions().getRequestId().getSequence(), stuck.hold(7));
  }

  @Test
  void aPlaceThatWasLookedForAgainIsGivenUpOnceThatRequestIsKnownToBeDone() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire first = member.next(FakeMember.Acquire.class);
    BlockingQueue<StreamObserver<PutResponse>> puts = new LinkedBlockingQueue<>();
    member.put = (r, o) -> puts.add(o);
    session.kv().putAsync("x", new byte[0], PutOptions.defaults());
    StreamObserver<PutResponse> put = next(puts);
    first.queued();
    first.out().onError(Status.UNAVAILABLE.asRuntimeException());
    FakeMember.Acquire stuck = member.next(FakeMember.Acquire.class);
    wait.cancel(true);
    isLeftAgain(put, stuck.request().getOptions().getRequestId().getSequence(), stuck.hold(7));
  }

  @Test
  void aTryThatFailedIsGivenUpAgainOnceItIsKnownToBeDone() throws Exception {
    Session session = client.openSession();
    BlockingQueue<StreamObserver<PutResponse>> puts = new LinkedBlockingQueue<>();
    member.put = (r, o) -> puts.add(o);
    session.kv().putAsync("x", new byte[0], PutOptions.defaults());
    StreamObserver<PutResponse> put = next(puts);
    member.tryAcquire = (r, o) -> o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
    CompletableFuture<TryResult> attempt = session.lock("k").tryAcquireAsync();
    TryAcquireLockRequest stuck = member.next(TryAcquireLockRequest.class);
    assertThrows(ExecutionException.class, () -> get(attempt));
    isLeftAgain(put, stuck.getOptions().getRequestId().getSequence(), hold(session, "k", stuck.getOptions().getOwner(), 7));
  }

  @Test
  void aTryThatIsRefusedAfterAnAnswerWasLostIsGivenUp() throws Exception {
    Session session = client.openSession();
    AtomicBoolean lost = new AtomicBoolean();
    member.tryAcquire = (r, o) -> o.onError(lost.getAndSet(true)
        ? FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, "PERMISSION_DENIED")
        : FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown"));
    member.cancelWait = (r, o) -> FakeMember.reply(o, CancelWaitResponse.newBuilder().setHold(
        hold(session, "k", r.getOptions().getOwner(), 7)).build());
    assertEquals(Applied.UNKNOWN, failure(session.lock("k").tryAcquireAsync()).applied());
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
  }

  @Test
  void whatMayNotBeGivenBackForAMomentIsGivenBackLater() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(wait);
    member.attach = (r, o) -> FakeMember.reply(o, member.truth(r, stream.hold(7)));
    CompletableFuture<Held> given = session.lock("other").acquireAsync();
    member.next(FakeMember.Acquire.class).queued();
    BlockingQueue<String> refusals = new LinkedBlockingQueue<>(List.of("UNAUTHENTICATED", "LIMIT_EXCEEDED", "PERMISSION_DENIED"));
    BlockingQueue<Long> released = new LinkedBlockingQueue<>();
    member.release = (r, o) -> {
      String refusal = refusals.poll();
      if (refusal == null) {
        FakeMember.reply(o, ReleaseLockResponse.newBuilder().setReleased(true).build());
        released.add(r.getLockIndex());
      } else {
        o.onError(FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, refusal));
      }
    };
    assertEquals("UNAUTHENTICATED", failure(held.releaseAsync()).reason());
    assertEquals(7, next(released));
    BlockingQueue<String> denials = new LinkedBlockingQueue<>(List.of("UNAUTHENTICATED", "PERMISSION_DENIED", "LIMIT_EXCEEDED"));
    BlockingQueue<String> left = new LinkedBlockingQueue<>();
    member.cancelWait = (r, o) -> {
      String denial = denials.poll();
      if (denial == null) {
        FakeMember.reply(o, CancelWaitResponse.getDefaultInstance());
        left.add(r.getKey());
      } else {
        o.onError(FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, denial));
      }
    };
    given.cancel(true);
    assertTrue(next(left).endsWith("other"));
    assertEquals(SessionState.CONNECTED, session.state());
  }

  @Test
  void aPlaceThatAStreamMayHaveMadeBeforeItBeganAnewIsGivenUpWhenThatIsRefused() throws Exception {
    Session session = client.openSession();
    Lock lock = session.lock("k").reentrant();
    CompletableFuture<Held> first = lock.acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(first);
    CompletableFuture<Held> wait = lock.acquireAsync();
    FakeMember.Acquire stuck = member.next(FakeMember.Acquire.class);
    assertTrue(held.release());
    FakeMember.Acquire anew = member.next(FakeMember.Acquire.class);
    refuse(anew);
    assertEquals(ErrorKind.MODE_MISMATCH, failure(wait).kind());
    CancelWaitRequest left = member.next(CancelWaitRequest.class);
    assertEquals(stuck.request().getOptions().getOwner(), left.getOptions().getOwner());
  }

  @Test
  void aPlaceThatAStreamWhichFailedMayHaveMadeIsGivenUp() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stuck = member.next(FakeMember.Acquire.class);
    stuck.out().onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
    assertEquals(ErrorKind.INTERNAL, failure(wait).kind());
    CancelWaitRequest left = member.next(CancelWaitRequest.class);
    assertEquals(stuck.request().getOptions().getOwner(), left.getOptions().getOwner());
  }

  @Test
  void whatCouldNotBeReleasedIsGivenBackOnceAndNothingThatIsHadLater() throws Exception {
    Session session = client.openSession();
    Lock lock = session.lock("k").reentrant();
    CompletableFuture<Held> first = lock.acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(first);
    AtomicBoolean failed = new AtomicBoolean();
    member.release = (r, o) -> {
      if (failed.getAndSet(true)) {
        FakeMember.reply(o, ReleaseLockResponse.newBuilder().setReleased(true).build());
      } else {
        o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
      }
    };
    // Whatever there is, the truth names it: first the hold, then the place of the next wait.
    member.attach = (r, o) -> FakeMember.reply(o, member.truth(r, stream.hold(7)));
    assertEquals(ErrorKind.INTERNAL, failure(held.releaseAsync()).kind());
    CompletableFuture<Held> second = lock.acquireAsync();
    FakeMember.Acquire anew = member.next(FakeMember.Acquire.class);
    String owner = anew.request().getOptions().getOwner();
    member.attach = (r, o) -> FakeMember.reply(o, member.truth(r).toBuilder()
        .addPlaces(Place.newBuilder().setKey(anew.request().getKey()).setOwner(owner)).build());
    CompletableFuture<Boolean> cancelled = new CompletableFuture<>();
    member.cancelWait = (r, o) -> {
      cancelled.complete(second.isCancelled());
      FakeMember.reply(o, CancelWaitResponse.getDefaultInstance());
    };
    anew.queued();
    // More than the second after which what failed is tried again.
    for (int i = 0; i < 20; i++) {
      member.next(FakeMember.Renewal.class);
    }
    assertFalse(cancelled.isDone());
    second.cancel(true);
    assertTrue(get(cancelled));
  }

  @Test
  void whatCouldNotBeReleasedIsNotForgottenForATruthFromBeforeItsGrant() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(wait);
    member.release = (r, o) -> o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
    AtomicBoolean asked = new AtomicBoolean();
    member.attach = (r, o) ->
        FakeMember.reply(o, asked.getAndSet(true) ? member.truth(r, stream.hold(7)) : member.truth(r));
    assertEquals(ErrorKind.INTERNAL, failure(held.releaseAsync()).kind());
    member.next(ReleaseLockRequest.class);
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
  }

  @Test
  void aTryInAnOutageEndsThoughWhatWasHeldIsOnItsWayBack() throws Exception {
    Session session = client.openSession();
    Lock lock = session.lock("k").reentrant();
    CompletableFuture<Held> wait = lock.acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(wait);
    member.close();
    until(() -> session.state() != SessionState.CONNECTED);
    passes(FakeMember.LAPSE_SECONDS);
    assertEquals(EndCause.LEASE_RAN_OUT, get(held.ended()));
    CompletableFuture<TryResult> attempt = lock.tryAcquireAsync();
    SessionCore core = client.core().sessions.iterator().next();
    until(() -> core.state() == SessionState.JEOPARDY);
    passes(FakeMember.LAPSE_SECONDS);
    TenureException e = failure(attempt);
    assertEquals(ErrorKind.UNAVAILABLE, e.kind());
    assertEquals(Applied.NO, e.applied());
    CompletableFuture<Void> closed = session.closeAsync();
    passes(FakeMember.LAPSE_SECONDS);
    get(closed);
  }

  @Test
  void aPlaceThatAnotherWaitOfTheHandleUsedStillIsGivenUpWithThatOne() throws Exception {
    Session session = client.openSession();
    Lock lock = session.lock("k").reentrant();
    CompletableFuture<Held> first = lock.acquireAsync();
    member.next(FakeMember.Acquire.class).queued();
    CompletableFuture<Held> second = lock.acquireAsync();
    FakeMember.Acquire other = member.next(FakeMember.Acquire.class);
    first.cancel(true);
    session.kv().put("x", "");
    assertFalse(member.seen().stream().anyMatch(CancelWaitRequest.class::isInstance));
    refuse(other);
    assertEquals(ErrorKind.MODE_MISMATCH, failure(second).kind());
    assertEquals(other.request().getOptions().getOwner(), member.next(CancelWaitRequest.class).getOptions().getOwner());
  }

  @Test
  void whatATryMayHaveLeftWhileAnotherWaitOfTheHandleWentOnIsGivenUpWithThatOne() throws Exception {
    Session session = client.openSession();
    Lock lock = session.lock("k").reentrant();
    CompletableFuture<Held> wait = lock.acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    member.tryAcquire = (r, o) -> o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
    failure(lock.tryAcquireAsync());
    refuse(stream);
    assertEquals(ErrorKind.MODE_MISMATCH, failure(wait).kind());
    assertEquals(stream.request().getOptions().getOwner(), member.next(CancelWaitRequest.class).getOptions().getOwner());
  }

  @Test
  void aHandleWhoseHoldIsReleasedOwesNothingAndIsHadAgain() throws Exception {
    Session session = client.openSession();
    Lock lock = session.lock("k").reentrant();
    CompletableFuture<Held> first = lock.acquireAsync();
    member.next(FakeMember.Acquire.class).queued();
    CompletableFuture<Held> second = lock.acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    first.cancel(true);
    stream.grant(stream.hold(7));
    assertTrue(get(second).release());
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
    member.next(CancelWaitRequest.class);
    CompletableFuture<Held> third = lock.acquireAsync();
    FakeMember.Acquire again = member.next(FakeMember.Acquire.class);
    again.grant(again.hold(8));
    assertTrue(get(third).release());
    session.kv().put("x", "");
    assertFalse(member.seen().stream().anyMatch(CancelWaitRequest.class::isInstance));
  }

  private static void refuse(FakeMember.Acquire stream) {
    stream.out().onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, "LOCK_MODE_MISMATCH"));
  }

  private Hold hold(Session session, String key, String owner, long token) {
    return Hold.newBuilder().setOwner(owner).setMode(LockMode.LOCK_MODE_EXCLUSIVE)
        .setSequencer(Sequencer.newBuilder().setKey(client.core().namespace.key(key)).setSessionId(session.id())
            .setLockIndex(token).setFencingToken(token)).build();
  }

  /** A request stands open before the one that was given up, and the latter is applied late. */
  private void isLeftAgain(StreamObserver<PutResponse> open, long stuck, Hold late) throws Exception {
    member.cancelWait = (r, o) -> FakeMember.reply(o, r.getOptions().getRequestId().getDoneBelow() <= stuck
        ? CancelWaitResponse.getDefaultInstance() : CancelWaitResponse.newBuilder().setHold(late).build());
    CancelWaitRequest first = member.next(CancelWaitRequest.class);
    assertTrue(first.getOptions().getRequestId().getDoneBelow() <= stuck);
    FakeMember.reply(open, PutResponse.getDefaultInstance());
    CancelWaitRequest second = member.next(CancelWaitRequest.class);
    assertTrue(second.getOptions().getRequestId().getDoneBelow() > stuck);
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
  }

  @Test
  void aTryThatWasToldOfAHoldBeforeItsReleaseIsMadeAnew() throws Exception {
    Session session = client.openSession();
    Lock lock = session.lock("k").reentrant();
    CompletableFuture<Held> wait = lock.acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(wait);
    BlockingQueue<StreamObserver<TryAcquireLockResponse>> tries = new LinkedBlockingQueue<>();
    member.tryAcquire = (r, o) -> tries.add(o);
    CompletableFuture<TryResult> attempt = lock.tryAcquireAsync();
    StreamObserver<TryAcquireLockResponse> first = next(tries);
    BlockingQueue<StreamObserver<ReleaseLockResponse>> releases = new LinkedBlockingQueue<>();
    member.release = (r, o) -> releases.add(o);
    CompletableFuture<Boolean> released = held.releaseAsync();
    StreamObserver<ReleaseLockResponse> release = next(releases);
    FakeMember.reply(first, TryAcquireLockResponse.newBuilder().setAcquired(true).setHold(stream.hold(7)).build());
    FakeMember.reply(release, ReleaseLockResponse.newBuilder().setReleased(true).build());
    assertTrue(get(released));
    FakeMember.reply(
        next(tries), TryAcquireLockResponse.newBuilder().setAcquired(true).setHold(stream.hold(8)).build());
    assertEquals(8, get(attempt).held().orElseThrow().token());
  }

  @Test
  void aLapseGivesBackWhatWasHeldAndNothingElseOfItsOwner() throws Exception {
    Session session = client.openSession();
    LockOptions named = LockOptions.exclusive().withOwner("worker-1");
    CompletableFuture<Held> a = session.lock("a", named).acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(a);
    Hold b = hold(session, "b", "worker-1", 8);
    // Granted while nobody is heard: the first stream breaks with the link, the next ones tell so.
    AtomicBoolean again = new AtomicBoolean();
    member.acquire = s -> {
      if (again.getAndSet(true)) {
        s.grant(b);
      } else {
        s.queued();
      }
    };
    CompletableFuture<Void> queued = new CompletableFuture<>();
    CompletableFuture<Held> wait = session.lock("b", named.onQueued(p -> queued.complete(null))).acquireAsync();
    get(queued);
    member.attach = (r, o) -> FakeMember.reply(o, member.truth(r, stream.hold(7), b));
    BlockingQueue<Long> released = new LinkedBlockingQueue<>();
    member.release = (r, o) -> {
      released.add(r.getLockIndex());
      FakeMember.reply(o, ReleaseLockResponse.newBuilder().setReleased(true).build());
    };
    member.next(FakeMember.Renewal.class);
    member.fallSilent();
    member.breakOff();
    member.next(FakeMember.Acquire.class);
    passes(FakeMember.LAPSE_SECONDS);
    assertEquals(EndCause.LEASE_RAN_OUT, get(held.ended()));
    member.speak();
    assertEquals(8, get(wait).token());
    assertEquals(7, next(released));
    // The next call is answered after what the truth brought about.
    session.kv().put("x", "");
    assertEquals(List.of(), List.copyOf(released));
  }
}
