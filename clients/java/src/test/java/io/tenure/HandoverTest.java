package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.RenewSessionRequest;
import io.tenure.v1.RenewSessionResponse;
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
