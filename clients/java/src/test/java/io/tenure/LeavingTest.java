package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.CancelWaitResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.PutRequest;
import io.tenure.v1.PutResponse;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.TryAcquireLockRequest;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is on its way back is believed by nobody, and comes back, by a member that does what it is told. */
@Timeout(120)
final class LeavingTest {
  private FakeMember member;
  private Client client;

  @BeforeEach
  void start() throws IOException {
    member = new FakeMember();
    client = Client.connect(member.uri());
  }

  @AfterEach
  void stop() throws InterruptedException {
    client.close();
    member.close();
  }

  private static <T> T get(CompletableFuture<T> f) throws Exception {
    return f.get(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
  }

  private static <T> T next(BlockingQueue<T> asked) throws InterruptedException {
    T one = asked.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
    assertTrue(one != null);
    return one;
  }

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
    Hold hold = Hold.newBuilder().setOwner(stuck.getOptions().getOwner()).setSequencer(io.tenure.v1.Sequencer.newBuilder()
        .setKey(stuck.getKey()).setSessionId(session.id()).setLockIndex(7).setFencingToken(7)).build();
    isLeftAgain(put, stuck.getOptions().getRequestId().getSequence(), hold);
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
}
