package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.Wire;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.BreakLockResponse;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.CancelWaitResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.KeyValue;
import io.tenure.v1.ListResponse;
import io.tenure.v1.Place;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.ResponseHeader;
import io.tenure.v1.Sequencer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What has more to tell than fits into one answer. */
final class PagesTest extends WithFakeMember {
  /** More than a stack has room for, if it had to have room for all. */
  private static final int MANY = 3000;

  /** Returns the token of the page after this one, of so many. */
  private static String after(String token) {
    int page = token.isEmpty() ? 1 : Integer.parseInt(token) + 1;
    return page < MANY ? String.valueOf(page) : "";
  }

  @Test
  void keysOnManyPagesAreListed() throws Exception {
    member.list = (r, o) -> FakeMember.reply(o, ListResponse.newBuilder().setNextPageToken(after(r.getPageToken()))
        .addKvs(KeyValue.newBuilder().setKey("k" + r.getPageToken())).build());
    List<io.tenure.KeyValue> all = get(client.kv().listAsync("k"));
    assertEquals(MANY, all.size());
    assertEquals("k", all.get(0).key());
    assertEquals("k" + (MANY - 1), all.get(MANY - 1).key());
  }

  @Test
  void aListThatIsGivenUpAsksForNoFurtherPage() throws Exception {
    BlockingQueue<StreamObserver<ListResponse>> asked = new LinkedBlockingQueue<>();
    member.list = (r, o) -> asked.add(o);
    CompletableFuture<List<io.tenure.KeyValue>> list = client.kv().listAsync("k");
    FakeMember.reply(next(asked), ListResponse.newBuilder().setNextPageToken("1").build());
    StreamObserver<ListResponse> second = next(asked);
    list.cancel(true);
    client.kv().put("x", ""); // What is answered next is answered after it was given up.
    FakeMember.reply(second, ListResponse.newBuilder().setNextPageToken("2").build());
    client.kv().put("x", "");
    assertEquals(0, asked.size());
  }

  @Test
  void aPageThatFailsFailsTheList() throws Exception {
    member.list = (r, o) -> {
      if (r.getPageToken().isEmpty()) {
        FakeMember.reply(o, ListResponse.newBuilder().setNextPageToken("1").build());
      } else {
        o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL"));
      }
    };
    assertEquals(ErrorKind.INTERNAL, failure(client.kv().listAsync("k")).kind());
  }

  @Test
  void aLockWithManyHoldsIsBroken() throws Exception {
    member.breakLock = (r, o) -> FakeMember.reply(
        o, BreakLockResponse.newBuilder().setHolds(1).setBreakToken(after(r.getBreakToken())).build());
    assertEquals(MANY, get(client.breakLockAsync("k", "why")));
  }

  @Test
  void aSessionThatHasManyPagesIsResumed() throws Exception {
    member.attach = (r, o) -> answer(r, o, page(r, 9, after(r.getPageToken()), hold("k" + r.getPageToken(), 1)));
    Session session = client.resume(FakeMember.token());
    assertEquals(MANY, get(session.inheritedAsync()).size());
  }

  private static Hold hold(String key, long token) {
    return Hold.newBuilder().setOwner("o").setSequencer(
        Sequencer.newBuilder().setKey(key).setLockIndex(token).setFencingToken(token)).build();
  }

  private static Place place(String key) {
    return Place.newBuilder().setKey(key).setOwner("o").build();
  }

  /** Returns a page as of a revision, and where to go on. */
  private AttachSessionResponse.Builder page(AttachSessionRequest r, long revision, String next, Hold... holds) {
    return member.truth(r, holds).toBuilder()
        .setHeader(ResponseHeader.newBuilder().setRevision(revision)).setNextPageToken(next);
  }

  private void answer(AttachSessionRequest r, StreamObserver<AttachSessionResponse> o, AttachSessionResponse.Builder page) {
    FakeMember.reply(o, page.build());
  }

  private static List<String> keys(List<Held> all) {
    List<String> keys = new ArrayList<>();
    all.forEach(h -> keys.add(Wire.sequencer(h.sequencer()).getKey()));
    return keys.stream().sorted().toList();
  }

  @Test
  void whatIsInheritedIsOnAllPages() throws Exception {
    AtomicInteger lost = new AtomicInteger(1);
    List<AttachSessionRequest> later = new ArrayList<>();
    member.attach = (r, o) -> {
      switch (r.getPageToken()) {
        case "" -> answer(r, o, page(r, 9, "2", hold("a", 1)));
        case "2" -> {
          if (lost.getAndDecrement() > 0) {
            o.onError(Status.UNAVAILABLE.asRuntimeException());
            return;
          }
          answer(r, o, page(r, 9, "3", hold("b", 2)));
        }
        default -> {
          synchronized (later) {
            later.add(r);
          }
          answer(r, o, page(r, 9, "").addPlaces(place("c")));
        }
      }
    };
    Session session = client.resume(FakeMember.token());
    AttachSessionRequest takeOver = member.next(AttachSessionRequest.class);
    assertTrue(takeOver.getTakeOver());
    assertEquals(List.of("a", "b"), keys(get(session.inheritedAsync())));
    assertEquals("c", member.next(CancelWaitRequest.class).getKey());
    synchronized (later) {
      assertEquals(2, later.size());
      later.forEach(r -> {
        assertFalse(r.getTakeOver());
        assertEquals(takeOver.getInstanceId(), r.getInstanceId());
        assertEquals(takeOver.getOptions().getSessionSecret(), r.getOptions().getSessionSecret());
        assertEquals(2, r.getOptions().getEpoch());
      });
    }
  }

  @Test
  void aPlaceThatIsGrantedBetweenThePagesIsInherited() throws Exception {
    AtomicInteger walks = new AtomicInteger();
    member.attach = (r, o) -> {
      if (!r.getPageToken().isEmpty()) {
        answer(r, o, page(r, 9, ""));
      } else if (walks.getAndIncrement() == 0) {
        answer(r, o, page(r, 3, "2", hold("b", 1)));
      } else {
        answer(r, o, page(r, 9, "2", hold("a", 5), hold("b", 1)));
      }
    };
    Session session = client.resume(FakeMember.token());
    assertEquals(List.of("a", "b"), keys(get(session.inheritedAsync())));
  }

  @Test
  void aResumeWhoseLaterPageIsRefusedMayBeTriedAgain() throws Exception {
    AtomicInteger refusals = new AtomicInteger(1);
    member.attach = (r, o) -> {
      if (r.getPageToken().isEmpty()) {
        answer(r, o, page(r, 9, "2", hold("a", 1)));
      } else if (refusals.getAndDecrement() > 0) {
        o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL"));
      } else {
        answer(r, o, page(r, 9, "", hold("b", 2)));
      }
    };
    String token = FakeMember.token();
    CompletableFuture<Session> first = client.resumeAsync(token, Duration.ofSeconds(30), c -> { });
    assertThrows(ExecutionException.class, () -> get(first));
    AttachSessionRequest takeOver = member.next(AttachSessionRequest.class);
    Session session = get(client.resumeAsync(token, Duration.ofSeconds(30), c -> { }));
    assertEquals("2", member.next(AttachSessionRequest.class).getPageToken());
    AttachSessionRequest again = member.next(AttachSessionRequest.class);
    assertTrue(again.getTakeOver());
    assertEquals(takeOver.getInstanceId(), again.getInstanceId());
    assertEquals(List.of("a", "b"), keys(get(session.inheritedAsync())));
  }

  @Test
  void aHoldOnALaterPageIsNotTakenForLost() throws Exception {
    Session session = client.openSession();
    CompletableFuture<Held> first = session.lock("a").acquireAsync();
    FakeMember.Acquire stream = member.next(FakeMember.Acquire.class);
    Hold a = stream.hold(7);
    stream.grant(a);
    Held held = get(first);
    CompletableFuture<Held> second = session.lock("b").acquireAsync();
    FakeMember.Acquire other = member.next(FakeMember.Acquire.class);
    other.grant(other.hold(8));
    Held gone = get(second);
    AtomicInteger lost = new AtomicInteger(1);
    member.attach = (r, o) -> {
      if (r.getPageToken().isEmpty()) {
        answer(r, o, page(r, 9, "2", hold("x", 1)));
      } else if (lost.getAndDecrement() > 0) {
        o.onError(Status.UNAVAILABLE.asRuntimeException());
      } else {
        answer(r, o, page(r, 9, "", a));
      }
    };
    member.next(FakeMember.Renewal.class);
    member.breakOff();
    Map<Long, AttachSessionRequest> firstPages = new HashMap<>();
    for (int walks = 0; walks < 2;) {
      AttachSessionRequest asked = member.next(AttachSessionRequest.class);
      if (asked.getPageToken().isEmpty()) {
        firstPages.put(asked.getAttempt(), asked);
        continue;
      }
      AttachSessionRequest begun = firstPages.get(asked.getAttempt());
      assertEquals("2", asked.getPageToken());
      assertEquals(begun.getInstanceId(), asked.getInstanceId());
      assertEquals(begun.getOptions(), asked.getOptions());
      walks++;
    }
    // Nothing is renewed before the truth is known.
    member.next(FakeMember.Renewal.class);
    assertTrue(held.isSafe());
    assertFalse(gone.isSafe());
  }

  @Test
  void aPlaceThatNobodyAsksForIsGivenUpWithWhatItBecame() throws Exception {
    member.attach = (r, o) -> answer(r, o, page(r, 9, "").addPlaces(place("c")));
    AtomicInteger refusals = new AtomicInteger(1);
    member.cancelWait = (r, o) -> {
      if (refusals.getAndDecrement() > 0) {
        o.onError(FakeMember.refusal(Code.INTERNAL_VALUE, "INTERNAL"));
      } else {
        FakeMember.reply(o, CancelWaitResponse.newBuilder().setHold(hold("c", 12)).build());
      }
    };
    client.resume(FakeMember.token());
    passes(FakeMember.LAPSE_SECONDS);
    assertEquals("c", member.next(CancelWaitRequest.class).getKey());
    assertEquals("c", member.next(CancelWaitRequest.class).getKey());
    ReleaseLockRequest back = member.next(ReleaseLockRequest.class);
    assertEquals("o", back.getOptions().getOwner());
    assertEquals(12, back.getLockIndex());
  }
}
