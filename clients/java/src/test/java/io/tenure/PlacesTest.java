package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.CancelWaitResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.Place;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.Sequencer;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What becomes of the places that a resumed session inherited, when something fails on the way. */
final class PlacesTest extends WithFakeMember {
  /** How many of the questions for the truth, and of the cancellations, fail first. */
  private final AtomicInteger truthFails = new AtomicInteger();
  private final AtomicInteger cancelFails = new AtomicInteger();

  private static Hold hold(String key, long token) {
    return Hold.newBuilder().setOwner("me").setSequencer(
        Sequencer.newBuilder().setKey(key).setLockIndex(token).setFencingToken(token)).build();
  }

  private static StatusRuntimeException fault() {
    return FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL", "applied", "unknown");
  }

  /** The session queues for c and d when it is taken over; c was granted meanwhile. */
  @BeforeEach
  void queues() {
    member.attach = (r, o) -> {
      if (r.getAttempt() == 0 && truthFails.getAndDecrement() > 0) {
        o.onError(fault());
        return;
      }
      FakeMember.reply(o, truth(r));
    };
    member.cancelWait = (r, o) -> {
      if (r.getKey().equals("d") && cancelFails.getAndDecrement() > 0) {
        o.onError(fault());
      } else if (r.getKey().equals("d")) {
        FakeMember.reply(o, CancelWaitResponse.newBuilder().setCancelled(true).build());
      } else {
        FakeMember.reply(o, CancelWaitResponse.newBuilder().setHold(hold("c", 12)).build());
      }
    };
  }

  private AttachSessionResponse truth(AttachSessionRequest r) {
    AttachSessionResponse.Builder truth = member.truth(r).toBuilder();
    if (!r.getTakeOver()) {
      return truth.addHolds(hold("c", 12)).build();
    }
    return truth.addPlaces(Place.newBuilder().setKey("c").setOwner("me"))
        .addPlaces(Place.newBuilder().setKey("d").setOwner("me")).build();
  }

  private static void assertHasC(List<Held> inherited) {
    assertEquals(List.of("c"), inherited.stream().map(Held::key).toList());
    assertTrue(inherited.get(0).isSafe());
  }

  @Test
  void aPlaceThatBecameAHoldIsToldThoughTheTruthFailedFirst() throws Exception {
    Session session = client.resume(FakeMember.token());
    truthFails.set(1);
    assertEquals(ErrorKind.INTERNAL, failure(session.inheritedAsync()).kind());
    assertHasC(session.inherited());
  }

  @Test
  void aPlaceThatBecameAHoldIsToldThoughAnotherPlaceFailedFirst() throws Exception {
    Session session = client.resume(FakeMember.token());
    cancelFails.set(1);
    assertEquals(ErrorKind.INTERNAL, failure(session.inheritedAsync()).kind());
    assertHasC(session.inherited());
  }

  @Test
  void anotherCallReturnsTheSameAgain() throws Exception {
    Session session = client.resume(FakeMember.token());
    List<Held> first = session.inherited();
    assertHasC(first);
    assertSame(first.get(0), session.inherited().get(0));
    assertTrue(first.get(0).release());
    assertEquals(List.of(), session.inherited());
  }

  @Test
  void whenItFailedAndNobodyAsksAgainAllIsGivenUp() throws Exception {
    Session session = client.resume(FakeMember.token());
    cancelFails.set(1);
    assertEquals(ErrorKind.INTERNAL, failure(session.inheritedAsync()).kind());
    member.seen();
    passes(FakeMember.LAPSE_SECONDS);
    givenUp();
  }

  @Test
  void whenItFailsAfterTheTimeForItAllIsGivenUpThen() throws Exception {
    Session session = client.resume(FakeMember.token());
    BlockingQueue<StreamObserver<CancelWaitResponse>> waits = new LinkedBlockingQueue<>();
    var answered = member.cancelWait;
    member.cancelWait = (r, o) -> {
      if (r.getKey().equals("d")) {
        waits.add(o);
      } else {
        answered.accept(r, o);
      }
    };
    CompletableFuture<List<Held>> inherited = session.inheritedAsync();
    StreamObserver<CancelWaitResponse> d = next(waits);
    passes(FakeMember.LAPSE_SECONDS);
    until(session::isSafe);
    session.kv().put("x", "");
    assertFalse(member.seen().stream().anyMatch(ReleaseLockRequest.class::isInstance));
    // If the connection broke meanwhile, the call was made again.
    member.cancelWait = (r, o) -> {
      if (r.getKey().equals("d")) {
        o.onError(fault());
      } else {
        answered.accept(r, o);
      }
    };
    d.onError(fault());
    waits.forEach(o -> o.onError(fault()));
    assertEquals(ErrorKind.INTERNAL, failure(inherited).kind());
    member.cancelWait = answered;
    givenUp();
  }

  @Test
  void whoHasWhatThePlaceBecameKeepsItThoughNobodyAsksAgain() throws Exception {
    Session session = client.resume(FakeMember.token());
    cancelFails.set(1);
    assertEquals(ErrorKind.INTERNAL, failure(session.inheritedAsync()).kind());
    CompletableFuture<Held> wait = session.lock("c", LockOptions.exclusive().withOwner("me")).acquireAsync();
    member.next(FakeMember.Acquire.class).grant(hold("c", 12));
    Held held = get(wait);
    BlockingQueue<String> left = new LinkedBlockingQueue<>();
    var answered = member.cancelWait;
    member.cancelWait = (r, o) -> {
      left.add(r.getKey());
      answered.accept(r, o);
    };
    BlockingQueue<Long> released = new LinkedBlockingQueue<>();
    member.release = (r, o) -> released.add(r.getLockIndex());
    // In two steps, so that its lease goes on.
    for (int i = 0; i < 2; i++) {
      passes(31);
      until(() -> held.safeFor().toSeconds() >= 58);
    }
    assertEquals("d", next(left));
    session.kv().put("x", "");
    assertEquals(List.of(), List.copyOf(released));
    assertTrue(held.isSafe());
  }

  /** Waits until the place in the one queue is given up, and the hold that the other place became. */
  private void givenUp() throws InterruptedException {
    boolean left = false;
    boolean released = false;
    while (!left || !released) {
      Object o = member.next(Object.class);
      left |= o instanceof CancelWaitRequest r && r.getKey().equals("d");
      released |= o instanceof ReleaseLockRequest r && r.getLockIndex() == 12;
    }
  }
}
