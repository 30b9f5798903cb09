package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.tenure.internal.watch.Observation;
import io.tenure.internal.watch.WatchSubscription;
import io.tenure.v1.WatchProgress;
import io.tenure.v1.WatchResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Publishers keep to the rules of Flow. */
final class FlowTest extends WithFakeMember {
  private List<Flow.Publisher<?>> publishers() {
    return List.of(client.watch(WatchOptions.all()).publisher(), client.election("e").observe());
  }

  @Test
  void nobodyIsNoSubscriber() {
    for (Flow.Publisher<?> p : publishers()) {
      assertThrows(NullPointerException.class, () -> p.subscribe(null));
    }
  }

  @Test
  void aRequestForNothingIsAnErrorOnceAndNothingAfterTheEnd() throws Exception {
    for (Flow.Publisher<?> p : publishers()) {
      Signals<?> s = Signals.of(p);
      s.subscription().request(0);
      s.subscription().request(-1);
      assertInstanceOf(IllegalArgumentException.class, s.next());
      Signals<?> cancelled = Signals.of(client.election("e").observe());
      cancelled.subscription().cancel();
      cancelled.subscription().request(0);
      // What comes after it on the same way was told.
      passes(0);
      isTold(s.subscription());
      isTold(cancelled.subscription());
      assertTrue(s.isSilent());
      assertTrue(cancelled.isSilent());
    }
  }

  /** Waits until the subscriber was told what was on its way. */
  private static void isTold(Flow.Subscription s) throws Exception {
    CompletableFuture<Void> told = new CompletableFuture<>();
    (s instanceof Observation o ? o.calls : ((WatchSubscription) s).calls).execute(() -> told.complete(null));
    get(told);
  }

  @Test
  void aWatchHasOneSubscriber() throws Exception {
    Watch watch = client.watch(WatchOptions.all());
    Signals.of(watch.publisher());
    Object second = Signals.of(watch.publisher()).next();
    assertEquals(ErrorKind.INVALID_ARGUMENT, assertInstanceOf(TenureException.class, second).kind());
    watch.close();
  }

  @Test
  void aSecondSubscriberCannotEndTheWatchOfTheFirst() throws Exception {
    for (int i = 0; i < 200; i++) {
      Watch watch = client.watch(WatchOptions.all());
      Signals<WatchMessage> first = Signals.of(watch.publisher());
      CompletableFuture<Void> told = new CompletableFuture<>();
      watch.publisher().subscribe(leaving(told));
      get(told);
      isTold(first.subscription());
      assertTrue(first.isSilent());
      assertFalse(watch.core().isOver());
      watch.close();
      assertEquals(Signals.DONE, first.next());
    }
  }

  @Test
  void theEndIsToldOnceThoughTwoThreadsSeeThatTheClientIsClosed() throws Exception {
    client.close();
    for (int i = 0; i < 500; i++) {
      Signals<WatchMessage> s = Signals.of(client.watch(WatchOptions.all()).publisher());
      assertEquals(ErrorKind.CLIENT_CLOSED, s.failure().kind());
      isTold(s.subscription());
      assertTrue(s.isSilent());
    }
  }

  @Test
  void whoAsksForNothingIsToldThatTheClientEndedOrTheWatch() throws Exception {
    Watch watch = client.watch(WatchOptions.all());
    Signals<?> ended = Signals.of(watch.publisher(), 0, () -> { });
    ended.subscription();
    watch.close();
    assertEquals(Signals.DONE, ended.next());
    List<Signals<?>> all = new ArrayList<>();
    for (Flow.Publisher<?> p : publishers()) {
      all.add(Signals.of(p, 0, () -> { }));
    }
    client.close();
    for (Signals<?> s : all) {
      assertEquals(Signals.DONE, s.next());
    }
    assertEquals(ErrorKind.CLIENT_CLOSED, Signals.of(client.watch(WatchOptions.all()).publisher(), 0, () -> { }).failure().kind());
  }

  @Test
  void whoIsBeingToldSomethingAsTheClientEndsIsToldTheEnd() throws Exception {
    member.watch = (r, o) -> o.onNext(WatchResponse.newBuilder().setProgress(WatchProgress.getDefaultInstance()).build());
    CompletableFuture<Void> closed = new CompletableFuture<>();
    Signals<WatchMessage> s =
        Signals.of(client.watch(WatchOptions.all()).publisher(), Long.MAX_VALUE, closed::join);
    assertInstanceOf(WatchMessage.Progress.class, s.next());
    client.close();
    closed.complete(null);
    assertEquals(Signals.DONE, s.next());
    assertTrue(s.isSilent());
  }

  @Test
  void whatIsReadyIsToldBeforeTheEndOfAWatch() throws Exception {
    WatchResponse progress = WatchResponse.newBuilder().setProgress(WatchProgress.getDefaultInstance()).build();
    member.watch = (r, o) -> {
      for (int i = 0; i < 2; i++) {
        o.onNext(progress);
      }
      // The end of history: nothing comes after it.
      o.onError(FakeMember.refusal(Code.OUT_OF_RANGE_VALUE, "REVISION_COMPACTED"));
    };
    Watch watch = client.watch(WatchOptions.all());
    Signals<WatchMessage> s = Signals.of(watch.publisher(), 1, () -> { });
    assertInstanceOf(WatchMessage.Progress.class, s.next());
    s.subscription().request(1);
    assertInstanceOf(WatchMessage.Progress.class, s.next());
    assertEquals(ErrorKind.COMPACTED, s.failure().kind());
    until(() -> client.core().parts.isEmpty());
  }

  @Test
  void aSubscriberThatThrowsAtTheBeginningIsForgotten() throws Exception {
    for (Flow.Publisher<?> p : publishers()) {
      CountDownLatch begun = new CountDownLatch(1);
      p.subscribe(throwing(begun));
      assertTrue(begun.await(FakeMember.SOON_SECONDS, TimeUnit.SECONDS));
      until(() -> client.core().parts.isEmpty());
    }
  }

  /** Returns a subscriber that cancels at once, and says when it was told the end. */
  private static <T> Flow.Subscriber<T> leaving(CompletableFuture<Void> told) {
    return new Flow.Subscriber<>() {
      @Override
      public void onSubscribe(Flow.Subscription s) {
        s.cancel();
      }

      @Override
      public void onNext(T item) {
        told.completeExceptionally(new AssertionError("was told " + item));
      }

      @Override
      public void onError(Throwable t) {
        told.complete(null);
      }

      @Override
      public void onComplete() {
        told.completeExceptionally(new AssertionError("completed"));
      }
    };
  }

  private static <T> Flow.Subscriber<T> throwing(CountDownLatch begun) {
    return new Flow.Subscriber<>() {
      @Override
      public void onSubscribe(Flow.Subscription s) {
        begun.countDown();
        throw new IllegalStateException("meant to be seen in the log of this test");
      }

      @Override
      public void onNext(T item) {
        throw new AssertionError("was told " + item);
      }

      @Override
      public void onError(Throwable t) {
        throw new AssertionError(t);
      }

      @Override
      public void onComplete() {
        throw new AssertionError("completed");
      }
    };
  }
}
