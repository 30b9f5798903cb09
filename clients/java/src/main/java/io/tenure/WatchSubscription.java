package io.tenure;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.function.Supplier;

/** Carries the messages of a watch to one subscriber, as many as it asks for, one after another, on the client's pool. */
final class WatchSubscription implements Flow.Subscription {
  private final ClientCore core;
  private final Supplier<CompletableFuture<Optional<WatchMessage>>> pull;
  private final Runnable close;
  private final Flow.Subscriber<? super WatchMessage> subscriber;
  private final Executor calls;
  private long demand;
  private boolean pulling;
  private volatile boolean over;

  WatchSubscription(ClientCore core, Supplier<CompletableFuture<Optional<WatchMessage>>> pull, Runnable close,
      Flow.Subscriber<? super WatchMessage> subscriber) {
    this.core = core;
    this.pull = pull;
    this.close = close;
    this.subscriber = subscriber;
    this.calls = core.loop.serial();
  }

  void start() {
    calls.execute(() -> subscriber.onSubscribe(this));
  }

  @Override
  public void request(long n) {
    if (n <= 0) {
      over = true;
      close.run();
      calls.execute(() -> subscriber.onError(new IllegalArgumentException("a request must be for more than nothing")));
      return;
    }
    core.loop.run(() -> {
      demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
      step();
    });
  }

  @Override
  public void cancel() {
    over = true;
    close.run();
  }

  private void step() {
    if (over || pulling || demand == 0) {
      return;
    }
    pulling = true;
    pull.get().whenComplete((m, error) -> core.loop.run(() -> {
      if (over) {
        return;
      }
      if (error != null) {
        over = true;
        calls.execute(() -> subscriber.onError(Futures.error(error)));
      } else if (m.isEmpty()) {
        over = true;
        calls.execute(subscriber::onComplete);
      } else {
        demand--;
        calls.execute(() -> tell(m.get()));
      }
    }));
  }

  /** Tells the subscriber; only then is the next one fetched, whatever it asked for. One that throws is told no more. */
  private void tell(WatchMessage m) {
    try {
      if (!over) {
        subscriber.onNext(m);
      }
    } catch (RuntimeException | Error e) {
      cancel();
      throw e;
    }
    core.loop.run(() -> {
      pulling = false;
      step();
    });
  }
}
