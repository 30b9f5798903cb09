package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.CreateSessionRequest;
import io.tenure.v1.CreateSessionResponse;
import io.tenure.v1.DestroySessionRequest;
import io.tenure.v1.DestroySessionResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Sessions that are opened for somebody who is gone before they are there leave nothing with the cluster. */
final class OpeningTest extends WithFakeMember {
  private final BlockingQueue<StreamObserver<CreateSessionResponse>> asked = new LinkedBlockingQueue<>();
  private final BlockingQueue<SessionChange> told = new LinkedBlockingQueue<>();

  /** Closes the client from another thread. */
  private CompletableFuture<Void> closing() {
    return CompletableFuture.runAsync(client::close);
  }

  private CompletableFuture<Session> open(Duration wait) {
    return client.openSessionAsync(SessionOptions.defaults(), wait, told::add);
  }

  /** Shows that a session that nobody got was told to its listener as being opened only. */
  private void neverConnected() throws Exception {
    assertEquals(SessionState.CONNECTING, next(told).to());
    assertTrue(told.isEmpty());
  }

  /** Passes the bytes of one connection on to the member in one direction. */
  private static void pass(Socket from, Socket to) {
    Thread passing = new Thread(() -> {
      try (from; to) {
        from.getInputStream().transferTo(to.getOutputStream());
      } catch (IOException e) {
        return; // One of them has gone.
      }
    });
    passing.setDaemon(true);
    passing.start();
  }

  @Test
  void aSessionThatIsDeniedIsNotOneThatIsOver() throws Exception {
    Map<String, Integer> reasons = Map.of("PERMISSION_DENIED", Code.PERMISSION_DENIED_VALUE, "UNAUTHENTICATED", Code.UNAUTHENTICATED_VALUE);
    for (Map.Entry<String, Integer> reason : reasons.entrySet()) {
      member.create = (r, o) -> o.onError(FakeMember.refusal(reason.getValue(), reason.getKey()));
      TenureException why = failure(open(Duration.ofMinutes(1)));
      assertFalse(why instanceof TenureException.SessionOver, why::toString);
      assertEquals(ErrorKind.AUTH_FAILED, why.kind());
      assertEquals(Applied.NO, why.applied());
      assertEquals(reason.getKey(), why.reason());
      assertTrue(why.getMessage().contains(reason.getKey()));
    }
  }

  @Test
  void theTimeInWhichThereIsNoConnectionIsNotTakenOffANewSession() throws Exception {
    CountDownLatch asks = new CountDownLatch(1);
    CountDownLatch open = new CountDownLatch(1);
    try (ServerSocket gate = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
      Thread accepting = new Thread(() -> {
        String[] at = member.uri().substring("tenure://".length()).split(":");
        while (!gate.isClosed()) {
          try {
            Socket asking = gate.accept();
            asks.countDown();
            open.await();
            Socket on = new Socket(at[0], Integer.parseInt(at[1]));
            pass(asking, on);
            pass(on, asking);
          } catch (IOException | InterruptedException e) {
            continue; // The test is over, or who asked has gone.
          }
        }
      });
      accepting.setDaemon(true);
      accepting.start();
      client.close();
      client = client("tenure://127.0.0.1:" + gate.getLocalPort());
      CompletableFuture<Session> opening = open(Duration.ofHours(1));
      assertTrue(asks.await(FakeMember.SOON_SECONDS, TimeUnit.SECONDS));
      passes(100);
      open.countDown();
      Session session = get(opening);
      assertEquals(SessionState.CONNECTED, session.state());
      assertTrue(session.isSafe());
      assertTrue(told.stream().noneMatch(c -> c.to() == SessionState.JEOPARDY));
    }
  }

  @Test
  void aSessionThatIsBeingOpenedWhenTheClientClosesIsEnded() throws Exception {
    member.create = (r, o) -> asked.add(o);
    CompletableFuture<Session> opening = open(Duration.ofMinutes(5));
    StreamObserver<CreateSessionResponse> answer = next(asked);
    CompletableFuture<Void> closed = closing();
    TenureException e = failure(opening);
    assertEquals(ErrorKind.CLIENT_CLOSED, e.kind());
    assertEquals(Applied.UNKNOWN, e.applied());
    assertFalse(closed.isDone());
    member.createAtOnce(null, answer);
    assertTrue(member.next(DestroySessionRequest.class).getClean());
    get(closed);
    neverConnected();
  }

  @Test
  void anOpeningThatNeverWentOutEndsWithTheClientAtOnce() throws Exception {
    String uri = member.uri();
    member.close();
    client.close();
    client = client(uri);
    CompletableFuture<Session> opening = open(Duration.ofMinutes(5));
    until(() -> !told.isEmpty());
    get(CompletableFuture.runAsync(client::close));
    TenureException e = failure(opening);
    assertEquals(ErrorKind.CLIENT_CLOSED, e.kind());
    assertEquals(Applied.NO, e.applied());
  }

  @Test
  void aSessionThatIsMadeAfterItsCallerGaveUpIsEnded() throws Exception {
    member.create = (r, o) -> asked.add(o);
    CompletableFuture<Session> opening = open(Duration.ofSeconds(20));
    StreamObserver<CreateSessionResponse> lost = next(asked);
    CreateSessionRequest first = member.next(CreateSessionRequest.class);
    passes(21);
    TenureException e = failure(opening);
    assertEquals(ErrorKind.OUTCOME_UNKNOWN, e.kind());
    assertEquals(Applied.UNKNOWN, e.applied());
    // An attempt that had no answer is made again, and the member knows it by its key.
    lost.onError(Status.UNAVAILABLE.asRuntimeException());
    StreamObserver<CreateSessionResponse> again = next(asked);
    assertEquals(first, member.next(CreateSessionRequest.class));
    member.createAtOnce(null, again);
    assertTrue(member.next(DestroySessionRequest.class).getClean());
    neverConnected();
  }

  @Test
  void aSessionThatIsKnownNotToBeMadeIsNotLookedForOnceItsCallerGaveUp() throws Exception {
    member.create = (r, o) -> asked.add(o);
    CompletableFuture<Session> opening = open(Duration.ofSeconds(20));
    StreamObserver<CreateSessionResponse> refused = next(asked);
    passes(21);
    assertEquals(Applied.UNKNOWN, failure(opening).applied());
    member.next(CreateSessionRequest.class);
    refused.onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "NO_LEADER"));
    until(() -> client.core().endings.isEmpty());
    assertTrue(member.seen().stream().noneMatch(CreateSessionRequest.class::isInstance));
  }

  @Test
  void aSessionThatMayHaveBeenMadeBeforeARefusalIsEnded() throws Exception {
    AtomicInteger attempts = new AtomicInteger();
    member.create = (r, o) -> {
      switch (attempts.getAndIncrement()) {
        case 0 -> o.onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown"));
        case 1 -> o.onError(FakeMember.refusal(Code.RESOURCE_EXHAUSTED_VALUE, "QUOTA_EXCEEDED"));
        default -> member.createAtOnce(r, o);
      }
    };
    TenureException e = failure(open(Duration.ofMinutes(5)));
    assertEquals(Applied.UNKNOWN, e.applied());
    assertTrue(member.next(DestroySessionRequest.class).getClean());
    neverConnected();
  }

  @Test
  void anOpeningThatWasRefusedIsNotMadeAgain() throws Exception {
    member.create = (r, o) -> o.onError(FakeMember.refusal(Code.RESOURCE_EXHAUSTED_VALUE, "QUOTA_EXCEEDED"));
    assertEquals(Applied.NO, failure(open(Duration.ofMinutes(5))).applied());
    member.next(CreateSessionRequest.class);
    client.close();
    assertTrue(member.seen().stream().noneMatch(CreateSessionRequest.class::isInstance));
  }

  @Test
  void nobodyOpensASessionOfAClientThatIsClosing() throws Exception {
    Session session = client.openSession(SessionOptions.defaults(), Duration.ofMinutes(5), told::add);
    BlockingQueue<StreamObserver<DestroySessionResponse>> ends = new LinkedBlockingQueue<>();
    member.destroy = (r, o) -> ends.add(o);
    CompletableFuture<Void> closed = closing();
    StreamObserver<DestroySessionResponse> end = next(ends);
    for (CompletableFuture<Session> f : List.of(open(Duration.ofMinutes(5)),
        client.resumeAsync(FakeMember.token(), Duration.ofMinutes(5), c -> { }))) {
      TenureException e = failure(f);
      assertEquals(ErrorKind.CLIENT_CLOSED, e.kind());
      assertEquals(Applied.NO, e.applied());
    }
    assertFalse(closed.isDone());
    FakeMember.reply(end, DestroySessionResponse.getDefaultInstance());
    get(closed);
    assertEquals(Optional.of(CloseCause.CLOSED), session.cause());
    assertTrue(member.seen().stream().noneMatch(AttachSessionRequest.class::isInstance));
  }

  @Test
  void aSessionThatIsBeingResumedWhenTheClientClosesIsLeftToItsToken() throws Exception {
    BlockingQueue<Runnable> answers = new LinkedBlockingQueue<>();
    member.attach = (r, o) -> answers.add(() -> FakeMember.reply(o, member.truth(r)));
    CompletableFuture<Session> resuming = client.resumeAsync(FakeMember.token(), Duration.ofMinutes(5), told::add);
    Runnable answer = next(answers);
    CompletableFuture<Void> closed = closing();
    assertEquals(ErrorKind.CLIENT_CLOSED, failure(resuming).kind());
    answer.run();
    get(closed);
    assertTrue(member.seen().stream().noneMatch(DestroySessionRequest.class::isInstance));
    neverConnected();
  }

  @Test
  void aSessionThatWasTakenOverAndNotRenewedYetIsLeftToItsTokenToo() throws Exception {
    member.fallSilent();
    CompletableFuture<Session> resuming = client.resumeAsync(FakeMember.token(), Duration.ofMinutes(5), c -> { });
    member.next(FakeMember.Renewal.class);
    client.close();
    TenureException e = failure(resuming);
    assertEquals(ErrorKind.CLIENT_CLOSED, e.kind());
    assertEquals(Applied.YES, e.applied());
    assertTrue(member.seen().stream().noneMatch(DestroySessionRequest.class::isInstance));
  }
}
