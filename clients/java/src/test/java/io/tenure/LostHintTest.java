package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.stub.StreamObserver;
import io.tenure.internal.session.Keeper;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.ResponseHeader;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** A lock is taken away, and the hint that says so never comes. */
final class LostHintTest extends WithFakeMember {
  /** The token of the lock, and a revision at which it is gone. */
  private static final long TOKEN = 7;
  private static final long LATER = 9;

  private final CompletableFuture<Hold> hold = new CompletableFuture<>();

  private Held acquire() throws Exception {
    member.acquire = a -> {
      hold.complete(a.hold(TOKEN));
      a.grant(a.hold(TOKEN));
    };
    return get(client.openSession().lock("k").acquireAsync());
  }

  private void tell(AttachSessionRequest r, StreamObserver<AttachSessionResponse> o, Hold... holds) {
    FakeMember.reply(o, member.truth(r, holds).toBuilder().setHeader(ResponseHeader.newBuilder().setRevision(LATER)).build());
  }

  @Test
  void theClusterIsAskedAfterAWhile() throws Exception {
    member.renewEvery = Duration.ofSeconds(20); // No renewal is under way while the clock is put forward.
    AtomicBoolean lost = new AtomicBoolean();
    member.attach = (r, o) -> {
      if (lost.get()) {
        tell(r, o);
      } else {
        tell(r, o, hold.join());
      }
    };
    Held held = acquire();
    assertTrue(held.isSafe());
    lost.set(true);
    passes(TimeUnit.NANOSECONDS.toSeconds(Keeper.RECONCILE_NANOS) + 1);
    get(held.ended());
    assertFalse(held.isSafe());
  }

  @Test
  void whatIsStillHeldStaysSo() throws Exception {
    member.renewEvery = Duration.ofSeconds(20);
    CompletableFuture<Void> asked = new CompletableFuture<>();
    member.attach = (r, o) -> {
      tell(r, o, hold.join());
      asked.complete(null);
    };
    Held held = acquire();
    passes(TimeUnit.NANOSECONDS.toSeconds(Keeper.RECONCILE_NANOS) + 1);
    get(asked);
    until(client.openSession()::isSafe); // The answer came before that of a later call.
    assertTrue(held.isSafe());
  }

  @Test
  void theClusterIsAskedOnceANewStreamRenewsTheSession() throws Exception {
    CompletableFuture<Void> attached = new CompletableFuture<>();
    AtomicBoolean broken = new AtomicBoolean();
    member.attach = (r, o) -> {
      // It is lost between the first answer after the break and the first renewal of the stream, so no hint comes.
      if (!broken.get() || attached.complete(null)) {
        tell(r, o, hold.join());
      } else {
        tell(r, o);
      }
    };
    Held held = acquire();
    broken.set(true);
    member.breakOff();
    get(attached);
    get(held.ended());
    assertFalse(held.isSafe());
  }

  @Test
  void aGrantThatIsOnItsWayIsNotBelieved() throws Exception {
    member.renewEvery = Duration.ofSeconds(20);
    CompletableFuture<FakeMember.Acquire> asked = new CompletableFuture<>();
    CompletableFuture<Void> told = new CompletableFuture<>();
    member.acquire = asked::complete;
    member.attach = (r, o) -> {
      tell(r, o);
      told.complete(null);
    };
    CompletableFuture<Held> acquiring = client.openSession().lock("k").acquireAsync();
    FakeMember.Acquire a = get(asked);
    passes(TimeUnit.NANOSECONDS.toSeconds(Keeper.RECONCILE_NANOS) + 1);
    get(told);
    until(client.openSession()::isSafe); // The answer came before that of a later call.
    a.grant(a.hold(TOKEN));
    assertEquals(ErrorKind.NOT_HELD, failure(acquiring).kind());
  }
}
