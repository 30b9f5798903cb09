package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.Await;
import io.tenure.internal.Loop;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.CancelWaitResponse;
import io.tenure.v1.CreateSessionResponse;
import io.tenure.v1.DestroySessionRequest;
import io.tenure.v1.ErrorReason;
import io.tenure.v1.Hold;
import io.tenure.v1.PutRequest;
import io.tenure.v1.PutResponse;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.SessionHint;
import io.tenure.v1.TryAcquireLockResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What a member does only at an unlucky moment, by one that does what it is told. */
final class FaultsTest extends WithFakeMember {
  @Test
  void aWaitThatTheCallersTimeOutEndsLeavesTheQueue() throws Exception {
    CompletableFuture<Held> wait = client.openSession().lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.queued();
    wait.orTimeout(1, TimeUnit.MILLISECONDS);
    assertInstanceOf(TimeoutException.class, assertThrows(ExecutionException.class, () -> get(wait)).getCause());
    assertEquals(stream.request().getOptions().getOwner(), member.next(CancelWaitRequest.class).getOptions().getOwner());
  }

  @Test
  void aGrantThatCameBeforeTheCancelIsGivenBack() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.queued();
    Hold hold = stream.hold(7);
    member.cancelWait = (r, o) -> FakeMember.reply(o, CancelWaitResponse.newBuilder().setHold(hold).build());
    wait.cancel(true);
    member.next(CancelWaitRequest.class);
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
  }

  @Test
  void aConnectionThatIsEndedForTooMuchTrafficIsNoRefusal() throws Exception {
    AtomicBoolean again = new AtomicBoolean();
    member.put = (r, o) -> {
      if (again.getAndSet(true)) {
        FakeMember.reply(o, PutResponse.getDefaultInstance());
      } else {
        o.onError(io.grpc.Status.RESOURCE_EXHAUSTED.withDescription("Bandwidth exhausted\n"
            + "HTTP/2 error code: ENHANCE_YOUR_CALM\nReceived Goaway\ntoo_many_pings").asRuntimeException());
      }
    };
    client.kv().put("k", "x");
    PutRequest first = member.next(PutRequest.class);
    assertEquals(first, member.next(PutRequest.class));
  }

  @Test
  void aTryThatWasCancelledLeavesTheHoldOfItsHandleAlone() throws Exception {
    Lock lock = client.openSession().lock("k").reentrant();
    CompletableFuture<Held> wait = lock.acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    Hold hold = stream.hold(7);
    stream.grant(hold);
    Held held = get(wait);
    BlockingQueue<StreamObserver<TryAcquireLockResponse>> asked = new LinkedBlockingQueue<>();
    member.tryAcquire = (r, o) -> asked.add(o);
    CompletableFuture<TryResult> attempt = lock.tryAcquireAsync();
    StreamObserver<TryAcquireLockResponse> answer = next(asked);
    attempt.cancel(true);
    FakeMember.reply(answer, TryAcquireLockResponse.newBuilder().setAcquired(true).setHold(hold).build());
    // The next call is answered after the one before was dealt with.
    client.openSession().kv().put("x", "");
    assertTrue(held.isSafe());
    assertTrue(held.release());
  }

  @Test
  void aSessionThatNobodyTookIsEnded() throws Exception {
    BlockingQueue<StreamObserver<CreateSessionResponse>> asked = new LinkedBlockingQueue<>();
    member.create = (r, o) -> asked.add(o);
    CompletableFuture<Session> opening = client.openSessionAsync(SessionOptions.defaults());
    StreamObserver<CreateSessionResponse> answer = next(asked);
    opening.cancel(true);
    member.createAtOnce(null, answer);
    assertTrue(member.next(DestroySessionRequest.class).getClean());
  }

  @Test
  void aResumeWithoutRenewalEndsInTimeAndMayBeTriedAgain() throws Exception {
    // The time is for the resumption alone, not for finding the member.
    client.kv().put("x", "");
    member.fallSilent();
    String token = FakeMember.token();
    CompletableFuture<Session> first = client.resumeAsync(token, Duration.ofSeconds(3), c -> { });
    AttachSessionRequest takeover = member.next(AttachSessionRequest.class);
    TenureException e = failure(first);
    assertEquals(ErrorKind.UNAVAILABLE, e.kind());
    assertEquals(Applied.YES, e.applied());
    assertEquals(0, get(client.core().onLoop(() -> CompletableFuture.completedFuture(client.core().keeper.size()))));
    member.speak();
    CompletableFuture<Session> again = client.resumeAsync(token, Duration.ofSeconds(30), c -> { });
    AttachSessionRequest same = member.next(AttachSessionRequest.class);
    while (!same.getTakeOver()) {
      same = member.next(AttachSessionRequest.class);
    }
    assertEquals(takeover.getInstanceId(), same.getInstanceId());
    assertEquals(2, get(again).epoch());
    // Done with: a third one is another instance, which the cluster refuses.
    client.resumeAsync(token, Duration.ofSeconds(30), c -> { });
    AttachSessionRequest other = member.next(AttachSessionRequest.class);
    assertFalse(takeover.getInstanceId().equals(other.getInstanceId()));
  }

  @Test
  void askingForWhatWasInheritedStandsOutsideOfTheOrderOfAttempts() throws Exception {
    Session session = client.resume(FakeMember.token());
    long[] latest = {0};
    member.attach = (r, o) -> {
      synchronized (latest) {
        if (r.getAttempt() != 0 && r.getAttempt() < latest[0]) {
          o.onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, "ATTEMPT_OUTDATED", "attempt", "9"));
        } else if (latest[0] == 0) {
          // The answer is lost, and the session was attached anew meanwhile.
          latest[0] = 9;
          o.onError(Status.UNAVAILABLE.asRuntimeException());
        } else {
          FakeMember.reply(o, member.truth(r));
        }
      }
    };
    assertEquals(List.of(), get(session.inheritedAsync()));
  }

  @Test
  void aFullWindowIsWaitedForUnderAnotherNumber() throws Exception {
    Session session = client.openSession();
    int[] refusals = {2};
    member.put = (r, o) -> {
      if (refusals[0]-- > 0) {
        o.onError(FakeMember.windowFull());
      } else {
        FakeMember.reply(o, PutResponse.getDefaultInstance());
      }
    };
    session.kv().put("k", "v");
    long before = 0;
    for (int i = 0; i < 3; i++) {
      PutRequest r = member.next(PutRequest.class);
      assertTrue(r.getOptions().getRequestId().getSequence() > before);
      assertTrue(r.getOptions().getRequestId().getDoneBelow() > before);
      before = r.getOptions().getRequestId().getSequence();
    }
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire refused = member.next(FakeMember.Acquire.class);
    refused.out().onError(FakeMember.windowFull());
    FakeMember.Acquire next = member.next(FakeMember.Acquire.class);
    assertTrue(next.request().getOptions().getRequestId().getDoneBelow()
        > refused.request().getOptions().getRequestId().getSequence());
    next.grant(next.hold(7));
    assertTrue(get(wait).isSafe());
  }

  @Test
  void aFullWindowTakesNoNumberFromWhatMayHaveBeenApplied() throws Exception {
    Session session = client.openSession();
    AtomicInteger attempts = new AtomicInteger();
    member.put = (r, o) -> {
      switch (attempts.getAndIncrement()) {
        case 0 -> o.onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown"));
        case 1 -> o.onError(FakeMember.windowFull());
        default -> FakeMember.reply(o, PutResponse.getDefaultInstance());
      }
    };
    session.kv().put("k", "v");
    long number = member.next(PutRequest.class).getOptions().getRequestId().getSequence();
    for (int i = 0; i < 2; i++) {
      assertEquals(number, member.next(PutRequest.class).getOptions().getRequestId().getSequence());
    }
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stuck = member.next(FakeMember.Acquire.class);
    stuck.out().onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown"));
    FakeMember.Acquire refused = member.next(FakeMember.Acquire.class);
    refused.out().onError(FakeMember.windowFull());
    FakeMember.Acquire last = member.next(FakeMember.Acquire.class);
    assertEquals(stuck.request().getOptions().getRequestId().getSequence(),
        last.request().getOptions().getRequestId().getSequence());
    last.grant(last.hold(7));
    assertTrue(get(wait).isSafe());
  }

  /** Puts under the session and outside of it, once after an answer that was lost and once at first, and returns what the errors say. */
  private List<Applied> refused(Session session, String reason) {
    List<Applied> told = new ArrayList<>();
    for (KV kv : List.of(session.kv(), client.kv())) {
      for (boolean lost : new boolean[] {true, false}) {
        AtomicBoolean loses = new AtomicBoolean(lost);
        member.put = (r, o) -> o.onError(loses.getAndSet(false)
            ? FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown")
            : FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, reason));
        TenureException e = failure(kv.putAsync("k", new byte[0], PutOptions.defaults()));
        assertEquals(reason, e.reason());
        told.add(e.applied());
      }
    }
    return told;
  }

  @Test
  void aRefusalByAMemberSaysNothingOfAnAttemptBefore() throws Exception {
    Session session = client.openSession();
    for (String reason : List.of("PERMISSION_DENIED", "UNAUTHENTICATED", "LIMIT_EXCEEDED", "TOO_LARGE", "INVALID_ARGUMENT", "RIGHTS_CHANGED",
        "OF_A_LATER_VERSION")) {
      assertEquals(List.of(Applied.UNKNOWN, Applied.NO, Applied.UNKNOWN, Applied.NO), refused(session, reason), reason);
    }
    for (String reason : List.of("COMPARE_FAILED", "FENCING_TOKEN_STALE")) {
      assertEquals(List.of(Applied.NO, Applied.NO, Applied.NO, Applied.NO), refused(session, reason), reason);
    }
  }

  @Test
  void aReadThatIsRefusedChangedNothing() throws Exception {
    AtomicBoolean lost = new AtomicBoolean();
    member.get = (r, o) -> o.onError(lost.getAndSet(true)
        ? FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, "PERMISSION_DENIED")
        : FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown"));
    assertEquals(Applied.NO, failure(client.kv().getAsync("k")).applied());
  }

  @Test
  void aPlaceIsFoundAgainUnderAnotherNumber() throws Exception {
    CompletableFuture<Held> wait = client.openSession().lock("k").acquireAsync();
    FakeMember.Acquire first = member.next(FakeMember.Acquire.class);
    assertTrue(first.request().getOptions().hasRequestId());
    first.queued();
    first.out().onError(Status.UNAVAILABLE.asRuntimeException());
    FakeMember.Acquire second = member.next(FakeMember.Acquire.class);
    assertTrue(second.request().getOptions().getRequestId().getSequence()
        > first.request().getOptions().getRequestId().getSequence());
    assertEquals(first.request().getOptions().getOwner(), second.request().getOptions().getOwner());
    second.grant(second.hold(7));
    assertTrue(get(wait).isSafe());
  }

  @Test
  void aTimeOutSaysWhetherTheValueWasWritten() throws Exception {
    Session session = client.openSession();
    assertEquals(Applied.NO, timeOut(session, (r, o) -> FakeMember.reply(o, CancelWaitResponse.getDefaultInstance()), 0));
    assertEquals(Applied.YES, timeOut(session, (r, o) -> FakeMember.reply(o, CancelWaitResponse.newBuilder()
        .setHold(Hold.newBuilder().setOwner(r.getOptions().getOwner())).build()), 0));
    assertEquals(Applied.UNKNOWN, timeOut(session, (r, o) -> { }, 3));
  }

  private Applied timeOut(Session session,
      java.util.function.BiConsumer<CancelWaitRequest, StreamObserver<CancelWaitResponse>> leave, long waits)
      throws Exception {
    member.cancelWait = leave;
    LockOptions options = LockOptions.exclusive().withValue("v".getBytes(StandardCharsets.UTF_8));
    CompletableFuture<Held> wait = session.lock("k", options).acquireAsync(Duration.ofSeconds(20));
    member.next(FakeMember.Acquire.class).queued();
    passes(21);
    member.next(CancelWaitRequest.class);
    passes(waits);
    TenureException e = failure(wait);
    assertEquals(ErrorKind.TIMEOUT, e.kind());
    return e.applied();
  }

  @Test
  void aHoldWhoseLossWasToldBeforeItsGrantIsNotHad() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    Hold hold = stream.hold(7);
    member.hint(SessionHint.newBuilder().setSessionId(session.id()).setLost(hold).build());
    // The hint comes with the answer to one of these; before the last it was taken note of.
    for (int i = 0; i < 3; i++) {
      member.next(FakeMember.Renewal.class);
    }
    stream.grant(hold);
    assertEquals(ErrorKind.NOT_HELD, failure(wait).kind());
  }

  @Test
  void aLossThatWasToldBeforeItsGrantIsKnownHoweverManyAreToldAfterIt() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    Hold hold = stream.hold(7);
    member.hint(SessionHint.newBuilder().setSessionId(session.id()).setLost(hold).build());
    for (int i = 8; i < 6_000; i++) {
      Hold other = hold.toBuilder().setSequencer(
          hold.getSequencer().toBuilder().setKey("other").setLockIndex(i).setFencingToken(i)).build();
      member.hint(SessionHint.newBuilder().setSessionId(session.id()).setLost(other).build());
    }
    for (int i = 0; i < 3; i++) {
      member.next(FakeMember.Renewal.class);
    }
    stream.grant(hold);
    assertEquals(ErrorKind.NOT_HELD, failure(wait).kind());
  }

  @Test
  void aNewSessionIsRenewedAtOnceSoThatItIsToldWhatHappens() throws Exception {
    member.renewEvery = Duration.ofHours(1);
    for (int i = 0; i < 2; i++) {
      Session session = client.openSession();
      assertEquals(session.id(), member.next(FakeMember.Renewal.class).session());
    }
  }

  @Test
  void aRenewalWithTheWrongSecretEndsTheSession() throws Exception {
    BlockingQueue<SessionChange> told = new LinkedBlockingQueue<>();
    Session session = client.openSession(SessionOptions.defaults(), Duration.ofMinutes(5), told::add);
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(wait);
    member.refused = ErrorReason.ERROR_REASON_SESSION_SECRET_WRONG;
    for (SessionState s : List.of(SessionState.CONNECTING, SessionState.CONNECTED)) {
      assertEquals(s, next(told).to());
    }
    SessionChange last = next(told);
    assertEquals(SessionState.CLOSED, last.to());
    assertEquals(Optional.of(CloseCause.AUTH_FAILED), last.cause());
    get(held.ended());
    assertFalse(held.isSafe());
    TenureException over = failure(session.kv().putAsync("k", new byte[0], PutOptions.defaults()));
    assertEquals(ErrorKind.AUTH_FAILED, assertInstanceOf(TenureException.SessionOver.class, over).kind());
  }

  @Test
  void aSessionSaysThatItsRenewalsAreRefused() throws Exception {
    Session session = client.openSession();
    assertEquals(Optional.empty(), session.refusal());
    member.refused = ErrorReason.ERROR_REASON_PERMISSION_DENIED;
    client.core().loop.run(() -> client.core().sessions.forEach(client.core().keeper::hurry));
    WithMember.until(() -> session.refusal().isPresent());
    TenureException why = session.refusal().orElseThrow();
    assertEquals(ErrorKind.AUTH_FAILED, why.kind());
    assertEquals("PERMISSION_DENIED", why.reason());
    assertFalse(why instanceof TenureException.SessionOver);
    member.refused = ErrorReason.ERROR_REASON_NO_LEADER; // No question of rights.
    WithMember.until(() -> session.refusal().isEmpty());
    member.refused = ErrorReason.ERROR_REASON_UNAUTHENTICATED;
    WithMember.until(() -> session.refusal().isPresent());
    member.refused = ErrorReason.ERROR_REASON_UNSPECIFIED;
    WithMember.until(() -> session.refusal().isEmpty());
    assertTrue(session.isSafe());
  }

  @Test
  void aSecretThatACallIsRefusedForIsOfASessionThatIsOver() throws Exception {
    Session session = client.openSession();
    for (String reason : List.of("SESSION_SECRET_WRONG", "PERMISSION_DENIED")) {
      member.put = (r, o) -> o.onError(FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, reason));
      TenureException why = failure(session.kv().putAsync("k", new byte[0], PutOptions.defaults()));
      assertEquals(ErrorKind.AUTH_FAILED, why.kind());
      assertEquals(reason.equals("SESSION_SECRET_WRONG"), why instanceof TenureException.SessionOver);
    }
  }

  @Test
  void aRunStandsAgainThoughItCouldNotResign() throws Exception {
    Session session = client.openSession();
    member.release = (r, o) -> o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL"));
    try (ElectionRun run = session.election("svc").run("v", l -> { })) {
      FakeMember.Acquire first = member.next(FakeMember.Acquire.class);
      first.grant(first.hold(7));
      FakeMember.Acquire second = member.next(FakeMember.Acquire.class);
      assertFalse(run.ended().isDone());
      second.out().onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL"));
      FakeMember.Acquire third = member.next(FakeMember.Acquire.class);
      assertFalse(run.ended().isDone());
      member.release = (r, o) -> FakeMember.reply(o, io.tenure.v1.ReleaseLockResponse.getDefaultInstance());
      third.out().onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, "LOCK_MODE_MISMATCH"));
      assertEquals(ErrorKind.MODE_MISMATCH, failure(run.ended()).kind());
    }
  }

  @Test
  void aRunEndsWithItsClient() throws Exception {
    ElectionRun run = client.openSession().election("svc").run("v", l -> { });
    member.next(FakeMember.Acquire.class);
    client.close();
    get(run.ended());
  }

  @Test
  void anInterruptedThreadClosesEverything() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> wait = session.lock("k").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Held held = get(wait);
    Thread.currentThread().interrupt();
    held.close();
    assertTrue(Thread.interrupted());
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
    Thread.currentThread().interrupt();
    session.close();
    client.close();
    assertTrue(Thread.interrupted());
    assertTrue(member.next(DestroySessionRequest.class).getClean());
    assertThrows(TenureException.class, () -> client.openSession());
    // From any thread, as often as one likes.
    client.close();
  }

  @Test
  void aResultThatWasThereBeforeTheInterruptIsHad() {
    Thread.currentThread().interrupt();
    assertEquals("had", Await.of(new CompletableFuture<>() {
      @Override
      public Object get() throws InterruptedException {
        if (Thread.interrupted()) {
          complete("had");
          throw new InterruptedException();
        }
        return getNow(null);
      }
    }));
    assertTrue(Thread.interrupted());
  }

  @Test
  void whatIsShownIsTakenOrReturned() throws Exception {
    Loop loop = new Loop();
    BlockingQueue<Integer> returned = new LinkedBlockingQueue<>();
    int taken = 0;
    int times = 2_000;
    for (int i = 0; i < times; i++) {
      CompletableFuture<Integer> inner = new CompletableFuture<>();
      CompletableFuture<Integer> shown = loop.shown(inner, returned::add);
      inner.complete(i);
      taken += shown.cancel(true) ? 0 : 1;
    }
    for (int i = taken; i < times; i++) {
      assertTrue(returned.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS) != null);
    }
    loop.shutdown();
    assertEquals(0, returned.size());
  }
}
