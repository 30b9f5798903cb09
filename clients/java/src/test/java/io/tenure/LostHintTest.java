package io.tenure;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.stub.StreamObserver;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.ResponseHeader;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
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
    member.attach = this::tell;
    Held held = acquire();
    assertTrue(held.isSafe());
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
    member.attach = (r, o) -> {
      // It is lost between the first answer and the first renewal of the stream, which nobody tells.
      if (attached.complete(null)) {
        tell(r, o, hold.join());
      } else {
        tell(r, o);
      }
    };
    Held held = acquire();
    member.breakOff();
    get(attached);
    get(held.ended());
    assertFalse(held.isSafe());
  }
}
