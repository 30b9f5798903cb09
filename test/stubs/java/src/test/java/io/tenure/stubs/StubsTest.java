package io.tenure.stubs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.ClusterServiceGrpc;
import io.tenure.v1.CreateSessionRequest;
import io.tenure.v1.CreateSessionResponse;
import io.tenure.v1.DestroySessionRequest;
import io.tenure.v1.DestroySessionResponse;
import io.tenure.v1.ErrorReason;
import io.tenure.v1.Event;
import io.tenure.v1.GetLockRequest;
import io.tenure.v1.GetRequest;
import io.tenure.v1.GetResponse;
import io.tenure.v1.GetSessionRequest;
import io.tenure.v1.GetStatusRequest;
import io.tenure.v1.GetStatusResponse;
import io.tenure.v1.KVServiceGrpc;
import io.tenure.v1.KeepAliveRequest;
import io.tenure.v1.KeepAliveResponse;
import io.tenure.v1.Lock;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.PutRequest;
import io.tenure.v1.PutResponse;
import io.tenure.v1.RenewalVerdict;
import io.tenure.v1.Session;
import io.tenure.v1.SessionEndCause;
import io.tenure.v1.SessionRenewal;
import io.tenure.v1.SessionServiceGrpc;
import io.tenure.v1.WatchRequest;
import io.tenure.v1.WatchResponse;
import io.tenure.v1.WatchServiceGrpc;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The generated Java stubs, by real calls against the real program. */
class StubsTest {
  private static final int SECONDS = 60;

  @TempDir static Path folder;
  private static Member member;
  private static ManagedChannel channel;

  @BeforeAll
  static void start() throws Exception {
    member = Member.start(folder);
    channel = Grpc.newChannelBuilder(member.grpcAddress(), InsecureChannelCredentials.create()).build();
  }

  @AfterAll
  static void stop() throws Exception {
    if (channel != null) {
      channel.shutdownNow();
      assertTrue(channel.awaitTermination(SECONDS, TimeUnit.SECONDS), "the channel ended");
    }
    if (member != null) {
      member.close();
    }
  }

  private static SessionServiceGrpc.SessionServiceBlockingStub sessions() {
    return SessionServiceGrpc.newBlockingStub(channel).withWaitForReady().withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
  }

  private static KVServiceGrpc.KVServiceBlockingStub kv() {
    return KVServiceGrpc.newBlockingStub(channel).withWaitForReady().withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
  }

  private static CreateSessionResponse newSession(String name) {
    return sessions().createSession(CreateSessionRequest.newBuilder()
        .setName(name)
        .setTtl(Duration.newBuilder().setSeconds(60))
        .setLockDelay(Duration.getDefaultInstance())
        .build());
  }

  private static PutResponse acquire(String key, String text, String sessionId) {
    return kv().put(PutRequest.newBuilder().setKey(key).setText(text).setAcquire(sessionId).build());
  }

  @Test
  void aLockPassesFromOneSessionToTheNext() {
    String key = "stubs/java/leader";
    CreateSessionResponse first = newSession("first");
    CreateSessionResponse second = newSession("second");
    assertNotEquals(first.getSessionId(), second.getSessionId());
    assertEquals(60, first.getTtl().getSeconds());

    PutResponse won = acquire(key, "one", first.getSessionId());
    assertTrue(won.getAcquired());
    assertEquals(first.getSessionId(), won.getSequencer().getSessionId());
    assertEquals(1, won.getSequencer().getLockIndex());
    assertEquals(won.getHeader().getRevision(), won.getSequencer().getFencingToken());

    GetResponse got = kv().get(GetRequest.newBuilder().setKey(key).build());
    assertEquals(ByteString.copyFromUtf8("one"), got.getKv().getValue());
    assertEquals(first.getSessionId(), got.getKv().getSessionId());

    PutResponse lost = acquire(key, "two", second.getSessionId());
    assertFalse(lost.getAcquired());
    assertEquals(1, lost.getLock().getHoldsCount());
    assertEquals("first", lost.getLock().getHolds(0).getSessionName());
    assertEquals(won.getSequencer(), lost.getLock().getHolds(0).getSequencer());

    Iterator<WatchResponse> watch = WatchServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(SECONDS, TimeUnit.SECONDS)
        .watch(WatchRequest.newBuilder()
            .addKeys(key)
            .setAfterRevision(won.getHeader().getRevision())
            .setLimit(1)
            .build());
    assertEquals(won.getHeader().getRevision(), watch.next().getStarted().getAfterRevision());

    PutResponse released = kv().put(
        PutRequest.newBuilder().setKey(key).setText("free").setRelease(first.getSessionId()).build());
    assertTrue(released.getReleased());
    Event event = nextEvent(watch);
    assertEquals(released.getHeader().getRevision(), event.getRevision());
    assertEquals(key, event.getKv().getKey());
    assertEquals("free", event.getKv().getValue().toStringUtf8());
    assertEquals("", event.getKv().getSessionId());
    assertFalse(watch.hasNext(), "limit ends the watch");

    PutResponse retried = acquire(key, "two", second.getSessionId());
    assertTrue(retried.getAcquired());
    assertEquals(2, retried.getSequencer().getLockIndex());
    assertTrue(retried.getSequencer().getFencingToken() > won.getSequencer().getFencingToken());

    DestroySessionResponse ended = sessions().destroySession(
        DestroySessionRequest.newBuilder().setSessionId(second.getSessionId()).setClean(true).build());
    assertTrue(ended.getDestroyed());
    assertEquals(1, ended.getHolds());
    Session told = sessions()
        .getSession(GetSessionRequest.newBuilder().setSessionId(second.getSessionId()).build())
        .getSession();
    assertEquals(SessionEndCause.SESSION_END_CAUSE_DESTROYED, told.getEnd().getCause());
    assertEquals(List.of(key), told.getEnd().getHeldKeysList());
    Lock lock = LockServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(SECONDS, TimeUnit.SECONDS)
        .getLock(GetLockRequest.newBuilder().setKey(key).build())
        .getLock();
    assertEquals(0, lock.getHolders());
    assertEquals(2, lock.getLockIndex());
    sessions().destroySession(DestroySessionRequest.newBuilder().setSessionId(first.getSessionId()).build());
  }

  /** Returns the next event of a watch, past progress marks. */
  private static Event nextEvent(Iterator<WatchResponse> watch) {
    WatchResponse message = watch.next();
    while (!message.hasEvents()) {
      message = watch.next();
    }
    return message.getEvents().getEvents(0);
  }

  @Test
  void aSessionIsKeptAliveOverAStream() throws Exception {
    CreateSessionResponse session = newSession("renewed");
    BlockingQueue<RenewalVerdict> verdicts = new LinkedBlockingQueue<>();
    StreamObserver<KeepAliveRequest> requests = SessionServiceGrpc.newStub(channel)
        .withDeadlineAfter(SECONDS, TimeUnit.SECONDS)
        .keepAlive(new StreamObserver<>() {
          @Override
          public void onNext(KeepAliveResponse answer) {
            verdicts.addAll(answer.getVerdictsList());
          }

          @Override
          public void onError(Throwable cause) {}

          @Override
          public void onCompleted() {}
        });
    requests.onNext(KeepAliveRequest.newBuilder()
        .addRenewals(SessionRenewal.newBuilder()
            .setSessionId(session.getSessionId())
            .setEpoch(session.getEpoch())
            .setNumber(7))
        .build());
    RenewalVerdict verdict = verdicts.poll(SECONDS, TimeUnit.SECONDS);
    requests.onCompleted();
    assertEquals(7, verdict.getNumber());
    assertEquals(ErrorReason.ERROR_REASON_UNSPECIFIED, verdict.getRefused());
    assertEquals(60, verdict.getTtl().getSeconds());
  }

  @Test
  void aMissingKeyIsNotFound() {
    GetRequest request = GetRequest.newBuilder().setKey("stubs/java/missing").build();
    StatusRuntimeException refused = assertThrows(StatusRuntimeException.class, () -> kv().get(request));
    assertEquals(Status.Code.NOT_FOUND, refused.getStatus().getCode());
  }

  @Test
  void theMemberKnowsItsLeader() {
    GetStatusResponse status = ClusterServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(SECONDS, TimeUnit.SECONDS)
        .getStatus(GetStatusRequest.getDefaultInstance());
    List<String> leaders =
        status.getMembersList().stream().filter(m -> m.getLeader()).map(m -> m.getName()).toList();
    assertEquals(List.of(status.getLeader()), leaders);
  }
}
