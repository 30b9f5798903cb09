package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.Wire;
import io.tenure.v1.DestroySessionResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.ReleaseLockResponse;
import io.tenure.v1.SessionHint;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a hold says of itself at the moment that it ends. */
@Timeout(240)
final class HeldTest {
  /** What happens while a thread is between two looks; only for the thread that asks. */
  private final ThreadLocal<Runnable> pause = new ThreadLocal<>();

  private long nanos() {
    Runnable meanwhile = pause.get();
    if (meanwhile != null) {
      pause.remove();
      meanwhile.run();
    }
    return System.nanoTime();
  }

  private void whileItIsAsked(Consumer<Held> question) throws Exception {
    try (FakeMember member = new FakeMember();
        Client client = WithFakeMember.client(member.uri(), this::nanos)) {
      member.ttl = Duration.ofHours(1);
      CompletableFuture<Held> wait = client.openSession().lock("k").acquireAsync();
      FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
      stream.grant(stream.hold(7));
      Held held = WithFakeMember.get(wait);
      pause.set(() -> held.core().end(EndCause.TAKEN_AWAY));
      question.accept(held);
    }
  }

  @Test
  void whatEndedMeanwhileIsNotSafe() throws Exception {
    whileItIsAsked(held -> assertFalse(held.isSafe()));
  }

  @Test
  void whatEndedMeanwhileIsSafeForNoTime() throws Exception {
    whileItIsAsked(held -> assertEquals(Duration.ZERO, held.safeFor()));
  }

  /** Has a lock with this, which loses it. */
  private interface Use {
    void of(FakeMember member, Session session, Held held) throws Exception;
  }

  private static void aHeld(Use use) throws Exception {
    aHeld(System::nanoTime, use);
  }

  private static void aHeld(LongSupplier nanos, Use use) throws Exception {
    try (FakeMember member = new FakeMember(); Client client = WithFakeMember.client(member.uri(), nanos)) {
      member.ttl = Duration.ofHours(1);
      AtomicLong token = new AtomicLong(7);
      member.acquire = a -> a.grant(a.hold(token.getAndIncrement()));
      Session session = client.openSession();
      use.of(member, session, session.lock("k").acquire());
    }
  }

  private static void lose(FakeMember member, Held held) {
    member.hint(SessionHint.newBuilder().setSessionId(held.core().session().id())
        .setLost(Hold.newBuilder().setSequencer(Wire.sequencer(held.sequencer()))).build());
    assertEquals(EndCause.TAKEN_AWAY, held.ended().join());
  }

  @Test
  void theEndOfAScopeFailsWhenTheLockWasLost() throws Exception {
    aHeld((member, session, held) -> {
      TenureException e = assertThrows(TenureException.StaleToken.class, () -> {
        try (held) {
          lose(member, held);
        }
      });
      assertEquals(ErrorKind.NOT_HELD, e.kind());
      assertEquals("lock k was lost while it was held: it was taken away", e.getMessage());
      held.close(); // That it was lost is told once.
    });
  }

  @Test
  void theEndOfATaskUnderALockFailsWhenTheLockWasLost() throws Exception {
    aHeld((member, session, held) -> assertThrows(
        TenureException.StaleToken.class, () -> session.lock("other").withLock(own -> {
          lose(member, own);
          return null;
        })));
  }

  @Test
  void whatATaskThrowsComesBeforeTheLossOfItsLock() throws Exception {
    aHeld((member, session, held) -> {
      IllegalStateException e = assertThrows(
          IllegalStateException.class, () -> session.lock("other").withLock(own -> {
            lose(member, own);
            throw new IllegalStateException("the task's own");
          }));
      assertEquals("the task's own", e.getMessage());
      assertInstanceOf(TenureException.StaleToken.class, e.getSuppressed()[0]);
    });
  }

  @Test
  void aReleaseThatTheClusterRefusesIsALoss() throws Exception {
    aHeld((member, session, held) -> {
      member.release = (r, o) -> FakeMember.reply(o, ReleaseLockResponse.getDefaultInstance());
      assertThrows(TenureException.StaleToken.class, held::close);
    });
  }

  @Test
  void aReleaseThatIsRefusedBecauseTheSessionIsOverIsALoss() throws Exception {
    Map<String, String> whys = Map.of("SESSION_EXPIRED", "its session ended", "SESSION_NOT_FOUND", "its session ended",
        "SESSION_SECRET_WRONG", "its session ended", "SESSION_SUPERSEDED", "another process took over its session",
        "EPOCH_MISMATCH", "another process took over its session");
    for (Map.Entry<String, String> why : whys.entrySet()) {
      aHeld((member, session, held) -> {
        member.release = (r, o) -> o.onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, why.getKey()));
        TenureException e = assertThrows(TenureException.StaleToken.class, held::close, why.getKey());
        assertEquals(ErrorKind.NOT_HELD, e.kind());
        assertEquals("lock k was lost while it was held: " + why.getValue(), e.getMessage());
        assertInstanceOf(TenureException.SessionOver.class, e.getCause());
        held.close(); // That it was lost is told once.
        assertThrows(TenureException.StaleToken.class, () -> session.lock("other").withLock(() -> { }), why.getKey());
      });
    }
  }

  private static final StatusRuntimeException LOST_ANSWER =
      FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown");

  /** Has the first attempt at a release fail so, and answers the next. */
  private static void failThenAnswer(
      FakeMember member, StatusRuntimeException first, Consumer<StreamObserver<ReleaseLockResponse>> then) {
    AtomicBoolean failed = new AtomicBoolean();
    member.release = (r, o) -> {
      if (failed.getAndSet(true)) {
        then.accept(o);
      } else {
        o.onError(first);
      }
    };
  }

  /** What says that nothing was there to release. */
  private static List<Consumer<StreamObserver<ReleaseLockResponse>>> nothingThere() {
    return List.of(o -> FakeMember.reply(o, ReleaseLockResponse.getDefaultInstance()),
        o -> o.onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, "SESSION_EXPIRED")));
  }

  @Test
  void aReleaseThatMayHaveBeenDoneByAnAttemptBeforeIsNoLoss() throws Exception {
    for (Consumer<StreamObserver<ReleaseLockResponse>> answer : nothingThere()) {
      aHeld((member, session, held) -> {
        failThenAnswer(member, LOST_ANSWER, answer);
        held.close();
        held.close();
      });
    }
    aHeld((member, session, held) -> {
      failThenAnswer(member, LOST_ANSWER, nothingThere().get(0));
      assertTrue(held.release());
    });
    aHeld((member, session, held) -> {
      // A member tries, too.
      member.release = (r, o) -> o.onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, "SESSION_EXPIRED", "applied", "unknown"));
      held.close();
    });
  }

  @Test
  void anAttemptBeforeThatDidNothingExplainsNoLoss() throws Exception {
    for (Consumer<StreamObserver<ReleaseLockResponse>> answer : nothingThere()) {
      aHeld((member, session, held) -> {
        failThenAnswer(member, FakeMember.refusal(Code.UNAVAILABLE_VALUE, "NOT_LEADER"), answer);
        assertThrows(TenureException.StaleToken.class, held::close);
      });
    }
  }

  @Test
  void whatIsLearnedAfterTheLeaseRanOutSinceTheReleaseIsNoLoss() throws Exception {
    for (Consumer<StreamObserver<ReleaseLockResponse>> answer : nothingThere()) {
      AtomicLong ahead = new AtomicLong();
      aHeld(() -> System.nanoTime() + ahead.get(), (member, session, held) -> {
        member.release = (r, o) -> {
          ahead.addAndGet(Duration.ofHours(2).toNanos());
          answer.accept(o);
        };
        held.close();
      });
    }
  }

  @Test
  void aSessionThatIsClosedAsALockIsReleasedHasReleasedIt() throws Exception {
    aHeld((member, session, held) -> {
      BlockingQueue<StreamObserver<ReleaseLockResponse>> releases = new LinkedBlockingQueue<>();
      member.release = (r, o) -> releases.add(o);
      CompletableFuture<Void> closed = CompletableFuture.runAsync(held::close);
      StreamObserver<ReleaseLockResponse> release = WithFakeMember.next(releases);
      session.close();
      FakeMember.reply(release, ReleaseLockResponse.getDefaultInstance());
      WithFakeMember.get(closed);
    });
  }

  @Test
  void aClientThatIsClosedAsALockIsReleasedHasReleasedIt() throws Exception {
    try (FakeMember member = new FakeMember(); Client client = Client.connect(member.uri())) {
      member.acquire = a -> a.grant(a.hold(7));
      Held held = client.openSession().lock("k").acquire();
      BlockingQueue<StreamObserver<ReleaseLockResponse>> releases = new LinkedBlockingQueue<>();
      member.release = (r, o) -> releases.add(o);
      CompletableFuture<Void> closed = CompletableFuture.runAsync(held::close);
      StreamObserver<ReleaseLockResponse> release = WithFakeMember.next(releases);
      member.destroy = (r, o) -> {
        FakeMember.reply(release, ReleaseLockResponse.getDefaultInstance());
        closed.handle((v, e) -> v).join();
        FakeMember.reply(o, DestroySessionResponse.getDefaultInstance());
      };
      client.close();
      WithFakeMember.get(closed);
    }
  }

  @Test
  void aSessionThatIsClosedAsALockIsReleasedIsNoLoss() throws Exception {
    aHeld((member, session, held) -> {
      BlockingQueue<StreamObserver<ReleaseLockResponse>> releases = new LinkedBlockingQueue<>();
      member.release = (r, o) -> releases.add(o);
      CompletableFuture<Void> closed = CompletableFuture.runAsync(held::close);
      StreamObserver<ReleaseLockResponse> release = WithFakeMember.next(releases);
      session.close();
      release.onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, "SESSION_EXPIRED"));
      WithFakeMember.get(closed);
    });
  }

  @Test
  void whoKnowsHowAHoldEndedIsNotToldAtTheEndOfItsScope() throws Exception {
    aHeld((member, session, held) -> {
      try (held) {
        lose(member, held);
        assertFalse(held.release());
      }
    });
    aHeld((member, session, held) -> {
      try (held) {
        assertTrue(held.release());
      }
    });
    aHeld((member, session, held) -> {
      try (held) {
        session.close();
      }
    });
  }

  @Test
  void whatEndedMeanwhileTellsWhy() throws Exception {
    whileItIsAsked(held -> assertEquals(Optional.of(EndCause.TAKEN_AWAY), held.cause()));
  }
}
