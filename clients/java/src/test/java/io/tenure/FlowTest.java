package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
  void aSubscriberThatThrowsAtTheBeginningIsForgotten() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    client.election("e").observe().subscribe(new Flow.Subscriber<LeaderChange>() {
      @Override
      public void onSubscribe(Flow.Subscription s) {
        begun.countDown();
        throw new IllegalStateException("meant to be seen in the log of this test");
      }

      @Override
      public void onNext(LeaderChange item) {
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
    });
    assertTrue(begun.await(FakeMember.SOON_SECONDS, TimeUnit.SECONDS));
    int[] parts = {1};
    until(() -> {
      client.core().onLoop(() -> CompletableFuture.completedFuture(parts[0] = client.core().parts.size())).join();
      return parts[0] == 0;
    });
  }
}
