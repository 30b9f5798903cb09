package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.DeleteRequest;
import io.tenure.v1.DeleteResponse;
import io.tenure.v1.ErrorReason;
import io.tenure.v1.Event;
import io.tenure.v1.EventType;
import io.tenure.v1.KeyValue;
import io.tenure.v1.PutRequest;
import io.tenure.v1.PutResponse;
import io.tenure.v1.WatchEvents;
import io.tenure.v1.WatchInitial;
import io.tenure.v1.WatchRequest;
import io.tenure.v1.WatchResponse;
import io.tenure.v1.WatchStarted;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What waits at a barrier, or is in a group, hangs on its session, and can be given up. */
final class BarrierTest extends WithFakeMember {
  private final BlockingQueue<StreamObserver<WatchResponse>> watches = new LinkedBlockingQueue<>();

  private interface Blocking {
    void run() throws Exception;
  }

  private static CompletableFuture<Void> elsewhere(Blocking call) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    new Thread(() -> {
      try {
        call.run();
        done.complete(null);
      } catch (Exception e) {
        done.completeExceptionally(e);
      }
    }).start();
    return done;
  }

  private static void present(StreamObserver<WatchResponse> watch, String... keys) {
    watch.onNext(WatchResponse.newBuilder().setStarted(WatchStarted.getDefaultInstance()).build());
    WatchInitial.Builder all = WatchInitial.newBuilder().setComplete(true);
    for (String key : keys) {
      all.addKvs(KeyValue.newBuilder().setKey(key).setModRevision(5));
    }
    watch.onNext(WatchResponse.newBuilder().setInitial(all).build());
  }

  @Test
  void whoWaitsUnderASessionHearsThatItEnded() throws Exception {
    for (int how = 0; how < 3; how++) {
      member.refused = ErrorReason.ERROR_REASON_UNSPECIFIED;
      Session session = client.openSession();
      DoubleBarrier both = session.doubleBarrier("round", 2, "a");
      Barrier one = session.barrier("gate");
      CompletableFuture<Void> wait = switch (how) {
        case 0 -> elsewhere(both::enter);
        case 1 -> elsewhere(() -> both.leave(Duration.ofHours(1)));
        default -> elsewhere(one::await);
      };
      member.next(WatchRequest.class);
      member.refused = ErrorReason.ERROR_REASON_SESSION_EXPIRED;
      assertEquals(ErrorKind.SESSION_EXPIRED, failure(wait).kind());
      until(() -> client.core().parts.isEmpty());
    }
  }

  @Test
  void whoWaitsUnderASessionThatIsClosedHearsItAtOnce() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Void> wait = session.doubleBarrier("round", 2, "a").enterAsync();
    member.next(WatchRequest.class);
    session.close();
    assertEquals(ErrorKind.SESSION_CLOSED, failure(wait).kind());
    assertEquals(ErrorKind.SESSION_CLOSED, failure(session.barrier("gate").awaitAsync()).kind());
  }

  @Test
  void aListenerThatWaitsAtABarrierDoesNotKeepItsSessionsEndFromIt() throws Exception {
    CompletableFuture<Void> ended = new CompletableFuture<>();
    CompletableFuture<Barrier> gate = new CompletableFuture<>();
    Session session = client.openSession(SessionOptions.defaults(), Duration.ofMinutes(5), change -> {
      if (change.to() == SessionState.CONNECTED) {
        try {
          gate.join().await();
        } catch (TenureException e) {
          ended.completeExceptionally(e);
        }
      }
    });
    gate.complete(session.barrier("gate"));
    member.next(WatchRequest.class);
    session.closeAsync();
    assertEquals(ErrorKind.SESSION_CLOSED, failure(ended).kind());
  }

  @Test
  void whoGivesUpEnteringLeaves() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Void> wait = session.doubleBarrier("round", 2, "a").enterAsync();
    member.next(WatchRequest.class);
    wait.cancel(true);
    assertEquals("round/members/a", member.next(DeleteRequest.class).getKey());
    until(() -> client.core().parts.isEmpty());
  }

  @Test
  void whoGivesUpWhileItIsBeingPutThereIsTakenOutAfterwards() throws Exception {
    BlockingQueue<StreamObserver<PutResponse>> puts = new LinkedBlockingQueue<>();
    member.put = (r, o) -> puts.add(o);
    Session session = client.openSession();
    CompletableFuture<Void> wait = session.doubleBarrier("round", 2, "a").enterAsync();
    StreamObserver<PutResponse> entering = next(puts);
    CompletableFuture<Presence.Membership> joining = session.presence("group").joinAsync("a", "");
    StreamObserver<PutResponse> answer = next(puts);
    wait.cancel(true);
    joining.cancel(true);
    client.kv().find("x");
    assertTrue(member.seen().stream().noneMatch(DeleteRequest.class::isInstance));
    FakeMember.reply(entering, PutResponse.getDefaultInstance());
    assertEquals("round/members/a", member.next(DeleteRequest.class).getKey());
    FakeMember.reply(answer, PutResponse.newBuilder().setKv(KeyValue.newBuilder().setKey("group/a").setModRevision(7)).build());
    DeleteRequest left = member.next(DeleteRequest.class);
    assertEquals("group/a", left.getKey());
    assertEquals(7, left.getIfRevision());
  }

  @Test
  void whoEntersAgainIsNotThrownOutByWhatItGaveUpBefore() throws Exception {
    BlockingQueue<StreamObserver<PutResponse>> puts = new LinkedBlockingQueue<>();
    member.put = (r, o) -> puts.add(o);
    BlockingQueue<StreamObserver<DeleteResponse>> deletes = new LinkedBlockingQueue<>();
    member.delete = (r, o) -> deletes.add(o);
    Session session = client.openSession();
    DoubleBarrier both = session.doubleBarrier("round", 2, "a");
    CompletableFuture<Void> first = both.enterAsync();
    StreamObserver<PutResponse> entering = next(puts);
    first.cancel(true);
    both.enterAsync();
    CompletableFuture<Void> third = both.enterAsync();
    third.cancel(true);
    client.kv().find("x");
    assertTrue(puts.isEmpty());
    FakeMember.reply(entering, put("round/members/a", 7));
    StreamObserver<DeleteResponse> leaving = next(deletes);
    assertEquals(7, member.next(DeleteRequest.class).getIfRevision());
    client.kv().find("x");
    assertTrue(puts.isEmpty());
    // Another handle of the same name was faster.
    leaving.onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, "COMPARE_FAILED"));
    next(puts);
    client.kv().find("x");
    assertTrue(puts.isEmpty() && deletes.isEmpty());
  }

  @Test
  void whoEntersAgainIsNotThrownOutByItsLeaving() throws Exception {
    BlockingQueue<StreamObserver<DeleteResponse>> deletes = new LinkedBlockingQueue<>();
    member.delete = (r, o) -> deletes.add(o);
    DoubleBarrier both = client.openSession().doubleBarrier("round", 2, "a");
    both.leaveAsync().cancel(true);
    StreamObserver<DeleteResponse> leaving = next(deletes);
    both.enterAsync();
    client.kv().find("x");
    assertTrue(member.seen().stream().noneMatch(PutRequest.class::isInstance));
    FakeMember.reply(leaving, DeleteResponse.newBuilder().setDeleted(true).build());
    member.next(PutRequest.class);
  }

  @Test
  void whoGivesUpAsTheLastOneComesLeaves() throws Exception {
    member.put = (r, o) -> FakeMember.reply(o, put(r.getKey(), 7));
    member.watch = (r, o) -> watches.add(o);
    Session session = client.openSession();
    for (int i = 0; i < 20; i++) {
      CompletableFuture<Void> wait = session.doubleBarrier("round", 2, "a").enterAsync();
      StreamObserver<WatchResponse> watch = next(watches);
      CompletableFuture<Boolean> cancelled = new CompletableFuture<>();
      client.core().loop.execute(() -> cancelOnceSeen(wait, cancelled));
      present(watch, "round/members/a", "round/members/b", "round/ready");
      if (get(cancelled)) {
        assertEquals(7, member.next(DeleteRequest.class).getIfRevision());
      }
    }
  }

  /** Cancels the wait as soon as the loop has seen its end, which most likely nobody was told yet. */
  private void cancelOnceSeen(CompletableFuture<Void> wait, CompletableFuture<Boolean> cancelled) {
    if (client.core().parts.isEmpty()) {
      cancelled.complete(wait.cancel(true));
    } else {
      client.core().loop.execute(() -> cancelOnceSeen(wait, cancelled));
    }
  }

  private static PutResponse put(String key, long revision) {
    return PutResponse.newBuilder().setKv(KeyValue.newBuilder().setKey(key).setModRevision(revision)).build();
  }

  @Test
  void theLastToComeOpensTheDoubleBarrierAndTheLastToLeaveClosesIt() throws Exception {
    member.watch = (r, o) -> watches.add(o);
    DoubleBarrier both = client.openSession().doubleBarrier("round", 2, "a");
    CompletableFuture<Void> wait = both.enterAsync(Duration.ofMinutes(5));
    StreamObserver<WatchResponse> watch = next(watches);
    present(watch, "round/members/a", "round/members/b");
    assertEquals("round/members/a", member.next(PutRequest.class).getKey());
    PutRequest ready = member.next(PutRequest.class);
    assertEquals("round/ready", ready.getKey());
    assertTrue(ready.hasIfRevision());
    watch.onNext(WatchResponse.newBuilder().setEvents(WatchEvents.newBuilder().addEvents(Event.newBuilder()
        .setType(EventType.EVENT_TYPE_PUT).setKv(KeyValue.newBuilder().setKey("round/ready").setModRevision(5)))).build());
    get(wait);
    CompletableFuture<Void> left = both.leaveAsync(Duration.ofMinutes(5));
    present(next(watches));
    get(left);
    assertEquals("round/members/a", member.next(DeleteRequest.class).getKey());
    assertEquals(5, member.next(DeleteRequest.class).getIfRevision());
  }

  @Test
  void theLastToLeaveSeesTheEndThoughTheNextRoundBeginsAtOnce() throws Exception {
    Session session = client.openSession();
    AtomicReference<StreamObserver<WatchResponse>> watch = new AtomicReference<>();
    member.watch = (r, o) -> {
      // Once it left, it would see the next round only.
      synchronized (watch) {
        present(o, member.seen().stream().anyMatch(DeleteRequest.class::isInstance) ? "d/members/other" : "d/members/a");
        watch.set(o);
      }
    };
    member.delete = (r, o) -> {
      FakeMember.reply(o, DeleteResponse.newBuilder().setDeleted(true).build());
      synchronized (watch) {
        if (watch.get() != null && r.getKey().equals("d/members/a")) {
          watch.get().onNext(WatchResponse.newBuilder().setEvents(WatchEvents.newBuilder()
              .addEvents(Event.newBuilder().setType(EventType.EVENT_TYPE_DELETED).setKey("d/members/a").setRevision(8))
              .addEvents(Event.newBuilder().setType(EventType.EVENT_TYPE_PUT).setRevision(9)
                  .setKv(KeyValue.newBuilder().setKey("d/members/other").setModRevision(9)))).build());
        }
      }
    };
    get(session.doubleBarrier("d", 2, "a").leaveAsync());
  }

  @Test
  void whoLeavesIsOutThoughItWaitsNoLonger() throws Exception {
    DoubleBarrier both = client.openSession().doubleBarrier("d", 2, "a");
    assertEquals(ErrorKind.TIMEOUT, failure(both.leaveAsync(Duration.ofMillis(1))).kind());
    assertEquals("d/members/a", member.next(DeleteRequest.class).getKey());
    both.leaveAsync().cancel(true);
    assertEquals("d/members/a", member.next(DeleteRequest.class).getKey());
  }

  @Test
  void aBarrierHasAFormThatDoesNotBlock() throws Exception {
    assertEquals(ErrorKind.TIMEOUT, failure(client.barrier("late").awaitAsync(Duration.ofMillis(1))).kind());
    member.watch = (r, o) -> {
      if (r.getKeys(0).equals("gate")) {
        watches.add(o);
      }
    };
    Barrier gate = client.barrier("gate");
    get(gate.setAsync());
    assertTrue(member.next(PutRequest.class).hasIfRevision());
    CompletableFuture<Void> open = gate.awaitAsync();
    present(next(watches));
    get(open);
    get(gate.removeAsync());
    assertEquals("gate", member.next(DeleteRequest.class).getKey());
  }

  @Test
  void toJoinAGroupNeedsASession() {
    assertEquals(ErrorKind.INVALID_ARGUMENT, failure(client.presence("group").joinAsync("a", "")).kind());
  }
}
