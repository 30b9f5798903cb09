package io.tenure.internal.watch;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.WatchMessage;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.session.ClientCore;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;

/** Carries the messages of a watch to one subscriber, as many as it asks for, one after another, on the client's pool. */
public final class WatchSubscription implements Flow.Subscription, AutoCloseable {
  private final ClientCore core;
  private final WatchCore watch;
  private final Flow.Subscriber<? super WatchMessage> subscriber;
  /** Where the subscriber is told everything. */
  public final Executor calls;
  private long demand;
  private boolean pulling;
  /** Set by whoever ends it: several threads may see that there is an end, and it is told once. */
  private final AtomicBoolean over = new AtomicBoolean();

  WatchSubscription(ClientCore core, WatchCore watch, Flow.Subscriber<? super WatchMessage> subscriber) {
    this.core = core;
    this.watch = watch;
    this.subscriber = subscriber;
    this.calls = core.loop.serial();
  }

  void start() {
    boolean first = watch.subscribe(this);
    // The requests of a second one are for nothing, and the watch that it cancels is another's.
    if (!first) {
      over.set(true);
    }
    calls.execute(() -> {
      try {
        subscriber.onSubscribe(this);
      } catch (RuntimeException | Error e) {
        cancel();
        throw e;
      }
    });
    if (!first) {
      calls.execute(() -> subscriber.onError(Exceptions.of(
          ErrorKind.INVALID_ARGUMENT, Applied.NO, "a watch has one subscriber, and this one has another already")));
      return;
    }
    core.onLoop(() -> {
      if (!over.get()) {
        core.parts.add(this);
        step();
      }
      return CompletableFuture.completedFuture(null);
    }).exceptionally(closed -> {
      refuse(closed);
      return null;
    });
  }

  @Override
  public void request(long n) {
    // On a client that was closed nothing would ever come.
    core.onLoop(() -> {
      if (n <= 0) {
        if (end()) {
          watch.close();
          calls.execute(() -> subscriber.onError(new IllegalArgumentException("a request must be for more than nothing")));
        }
      } else if (!over.get()) {
        demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
        step();
      }
      return CompletableFuture.completedFuture(null);
    }).exceptionally(closed -> {
      refuse(closed);
      return null;
    });
  }

  private void refuse(Throwable closed) {
    finish(() -> subscriber.onError(Futures.error(closed)));
  }

  @Override
  public void cancel() {
    if (end()) {
      watch.close();
    }
  }

  /** The client ends, and the loop with it: who is being told something cannot ask it for more. */
  @Override
  public void close() {
    finish(subscriber::onComplete);
  }

  private void finish(Runnable last) {
    if (end()) {
      calls.execute(last);
    }
  }

  /** Ends it; returns whether nobody did before. */
  private boolean end() {
    boolean first = over.compareAndSet(false, true);
    if (first) {
      core.loop.run(() -> core.parts.remove(this));
    }
    return first;
  }

  /** Goes on to tell the subscriber what it asked for, or the end, for which nobody asks. The loop calls it. */
  void step() {
    if (over.get() || pulling || demand == 0 && !watch.isOver()) {
      return;
    }
    pulling = true;
    watch.pull().whenComplete((m, error) -> core.loop.run(() -> {
      if (over.get()) {
        return;
      }
      if (error != null) {
        finish(() -> subscriber.onError(Futures.error(error)));
      } else if (m.isEmpty()) {
        finish(subscriber::onComplete);
      } else {
        demand--;
        calls.execute(() -> tell(m.get()));
      }
    }));
  }

  /** Tells the subscriber; only then is the next one fetched, whatever it asked for. One that throws is told no more. */
  private void tell(WatchMessage m) {
    try {
      if (!over.get()) {
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
