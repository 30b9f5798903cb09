package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.Wire;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.ReleaseLockResponse;
import io.tenure.v1.ResignRequest;
import io.tenure.v1.ResignResponse;
import io.tenure.v1.SessionHint;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;

/** What becomes of leadership that is passed on, by a member that does what it is told. */
final class LeadershipTest extends WithFakeMember {
  /** A resignation that the member was asked for. */
  private record Asked(ResignRequest request, StreamObserver<ResignResponse> out) {
    void answer(boolean resigned) {
      FakeMember.reply(out, ResignResponse.newBuilder().setResigned(resigned).build());
    }

    void refuse() {
      out.onError(FakeMember.refusal(Code.NOT_FOUND_VALUE, "CANDIDATE_NOT_FOUND"));
    }
  }

  private final BlockingQueue<Asked> asked = new LinkedBlockingQueue<>();

  private Leadership elected() throws Exception {
    member.resign = (r, o) -> asked.add(new Asked(r, o));
    CompletableFuture<Leadership> campaign =
        client.openSession().election("e").campaignAsync("me", "me", Optional.empty());
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    stream.grant(stream.hold(7));
    Leadership leadership = get(campaign);
    assertTrue(leadership.isSafe());
    return leadership;
  }

  @Test
  void whenTheClusterSaysThatItDidNotLeadItEnds() throws Exception {
    Leadership leadership = elected();
    CompletableFuture<Boolean> resigned = leadership.resignToAsync("a", "a");
    next(asked).answer(false);
    assertFalse(get(resigned));
    assertFalse(leadership.isSafe());
    assertEquals(EndCause.TAKEN_AWAY, get(leadership.held().ended()));
  }

  @Test
  void theRefusalOfOneCandidateSaysNothingAboutAnother() throws Exception {
    Leadership leadership = elected();
    CompletableFuture<Boolean> first = leadership.resignToAsync("a", "a");
    Asked a = next(asked);
    CompletableFuture<Boolean> second = leadership.resignToAsync("b", "b");
    next(asked).refuse();
    assertEquals(ErrorKind.CANDIDATE_NOT_FOUND, failure(second).kind());
    assertFalse(leadership.isSafe());
    assertTrue(leadership.held().safeFor().isZero());
    a.refuse();
    assertEquals(ErrorKind.CANDIDATE_NOT_FOUND, failure(first).kind());
    assertTrue(leadership.isSafe());
    assertFalse(leadership.held().safeFor().isZero());
  }

  @Test
  void aResignationWhoseCallerWentAwayIsDoneNevertheless() throws Exception {
    Leadership leadership = elected();
    CompletableFuture<Boolean> resigned = leadership.resignToAsync("a", "a");
    Asked a = next(asked);
    resigned.cancel(true);
    assertFalse(leadership.isSafe());
    a.answer(true);
    assertEquals(EndCause.RELEASED, get(leadership.held().ended()));
  }

  @Test
  void aResignationWhoseCallerWentAwayAndThatIsRefusedLeavesLeadershipAsItWas() throws Exception {
    Leadership leadership = elected();
    CompletableFuture<TenureException> interrupted = new CompletableFuture<>();
    Thread caller = new Thread(() ->
        interrupted.complete(assertThrows(TenureException.class, () -> leadership.resignTo("a", "a"))));
    caller.start();
    Asked a = next(asked);
    caller.interrupt();
    assertEquals(ErrorKind.CANCELLED, get(interrupted).kind());
    assertFalse(leadership.isSafe());
    a.refuse();
    until(leadership::isSafe);
    assertEquals(Optional.empty(), leadership.held().cause());
  }

  @Test
  void leadershipThatMayHaveBeenPassedOnIsGivenUp() throws Exception {
    Leadership leadership = elected();
    member.attach = (r, o) -> FakeMember.reply(o, member.truth(r, io.tenure.v1.Hold.newBuilder().setOwner("me")
        .setSequencer(Wire.sequencer(leadership.held().sequencer())).build()));
    CompletableFuture<Boolean> resigned = leadership.resignToAsync("a", "a");
    next(asked).out().onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
    assertEquals(ErrorKind.INTERNAL, failure(resigned).kind());
    assertEquals(EndCause.RELEASED, get(leadership.held().ended()));
    member.next(AttachSessionRequest.class);
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
  }

  @Test
  void aRefusalAfterAnAnswerWasLostDoesNotSayThatLeadershipWasNotPassedOn() throws Exception {
    Leadership leadership = elected();
    member.attach = (r, o) -> FakeMember.reply(o, member.truth(r, io.tenure.v1.Hold.newBuilder().setOwner("me")
        .setSequencer(Wire.sequencer(leadership.held().sequencer())).build()));
    CompletableFuture<Boolean> resigned = leadership.resignToAsync("a", "a");
    next(asked).out().onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown"));
    next(asked).out().onError(FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, "PERMISSION_DENIED"));
    assertEquals(Applied.UNKNOWN, failure(resigned).applied());
    assertFalse(leadership.isSafe());
    assertEquals(EndCause.RELEASED, get(leadership.held().ended()));
    assertEquals(7, member.next(ReleaseLockRequest.class).getLockIndex());
  }

  /** Leadership that is closed in another thread while it is being passed on, and what the member was asked for. */
  private record Both(Leadership leadership, CompletableFuture<Boolean> resigned, Asked resign, CompletableFuture<Void> closed,
      StreamObserver<ReleaseLockResponse> release) {
    void releasedNothing() {
      FakeMember.reply(release, ReleaseLockResponse.getDefaultInstance());
    }
  }

  private Both closedAsItIsPassedOn() throws Exception {
    Leadership leadership = elected();
    BlockingQueue<StreamObserver<ReleaseLockResponse>> releases = new LinkedBlockingQueue<>();
    member.release = (r, o) -> releases.add(o);
    CompletableFuture<Boolean> resigned = leadership.resignToAsync("a", "a");
    Asked resign = next(asked);
    CompletableFuture<Void> closed = CompletableFuture.runAsync(leadership::close);
    return new Both(leadership, resigned, resign, closed, next(releases));
  }

  @Test
  void leadershipThatWasPassedOnWhileItIsClosedIsNotLost() throws Exception {
    Both both = closedAsItIsPassedOn();
    both.resign().answer(true);
    assertTrue(get(both.resigned()));
    both.releasedNothing();
    get(both.closed());
  }

  @Test
  void leadershipThatMayBePassedOnWhileItIsClosedIsNotLost() throws Exception {
    Both both = closedAsItIsPassedOn();
    both.releasedNothing();
    get(both.closed());
    both.resign().answer(true);
    assertTrue(get(both.resigned()));
    Both unknown = closedAsItIsPassedOn();
    unknown.resign().out().onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
    failure(unknown.resigned());
    unknown.releasedNothing();
    get(unknown.closed());
  }

  @Test
  void leadershipThatWasNotPassedOnWhileItIsClosedIsLost() throws Exception {
    Both both = closedAsItIsPassedOn();
    both.resign().refuse();
    assertEquals(ErrorKind.CANDIDATE_NOT_FOUND, failure(both.resigned()).kind());
    both.releasedNothing();
    ExecutionException e = assertThrows(ExecutionException.class, () -> get(both.closed()));
    assertInstanceOf(TenureException.StaleToken.class, e.getCause());
  }

  private void lose(Leadership leadership) throws Exception {
    member.hint(SessionHint.newBuilder().setSessionId(leadership.held().core().session().id())
        .setLost(io.tenure.v1.Hold.newBuilder().setSequencer(Wire.sequencer(leadership.held().sequencer()))).build());
    assertEquals(EndCause.TAKEN_AWAY, get(leadership.held().ended()));
  }

  @Test
  void leadershipThatIsGoneAsItIsPassedOnIsNotLost() throws Exception {
    Leadership leadership = elected();
    CompletableFuture<Boolean> resigned = leadership.resignToAsync("a", "a");
    Asked a = next(asked);
    lose(leadership);
    a.out().onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown"));
    failure(resigned);
    leadership.close();
  }

  @Test
  void leadershipThatIsGoneAndWasNotPassedOnIsLost() throws Exception {
    Leadership leadership = elected();
    CompletableFuture<Boolean> resigned = leadership.resignToAsync("a", "a");
    Asked a = next(asked);
    lose(leadership);
    a.refuse();
    failure(resigned);
    assertThrows(TenureException.StaleToken.class, leadership::close);
  }

  @Test
  void whoDoesNotLeadAnyMoreHasNothingToPassOn() throws Exception {
    Leadership leadership = elected();
    assertTrue(leadership.resign());
    member.seen();
    assertFalse(leadership.resignTo("a", "a"));
    assertFalse(member.seen().stream().anyMatch(ResignRequest.class::isInstance));
  }

  @Test
  void aCandidateHasAName() throws Exception {
    Leadership leadership = elected();
    assertThrows(NullPointerException.class, () -> leadership.resignTo(null, "a"));
    assertThrows(NullPointerException.class, () -> leadership.resignToAsync("a", null));
    assertTrue(leadership.isSafe());
  }
}
