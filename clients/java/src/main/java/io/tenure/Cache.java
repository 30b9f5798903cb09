package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Backoff;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Loop;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.watch.Filling;
import io.tenure.internal.watch.KeysWanted;
import io.tenure.internal.watch.WatchCore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A local copy of all keys with a prefix, kept up to date by a watch. {@link #begin} fills it; before that it cannot be read. Reading it
 * makes no call. While no member can be reached, or its member lags, it still answers, and {@link #staleFor} grows: check it where that
 * matters. Any thread can use it.
 */
public final class Cache implements AutoCloseable {
  private static final Duration PROGRESS = Duration.ofSeconds(1);
  /** Bounds what two clocks whose rates differ drift apart: the moment of a proof is counted from the stream's request. */
  private static final Duration STREAM_AGE = Duration.ofMinutes(1);

  private final ClientCore core;
  private final String prefix;
  private final Filling filling = new Filling();
  /** Held while a message is applied, because a watch that was given up may still deliver one. No listener is called under it. */
  private final Object feeding = new Object();
  private final List<Consumer<WatchMessage>> listeners = new CopyOnWriteArrayList<>();
  /** Where they are told, in the order in which messages were applied. A watch has at most one message there. */
  private final Executor telling;
  private volatile ConcurrentSkipListMap<String, KeyValue> keys = new ConcurrentSkipListMap<>();
  private volatile long provedAt;
  /** How often in a row the history was lost with nothing told but the present state. */
  private volatile int losses;
  private volatile TenureException failure;

  Cache(ClientCore core, String prefix) {
    this.core = core;
    this.prefix = Objects.requireNonNull(prefix, "prefix");
    this.telling = core.loop.serial();
  }

  /**
   * Starts it, and waits until it is filled, for as long as that takes. If every caller that waits for that gives up, by an interrupt or by
   * cancelling the future, its watch is closed; the next call starts it again.
   *
   * @return this cache
   * @throws TenureException of kind CANCELLED if it is closed before that
   */
  public Cache begin() {
    return Await.of(beginInner());
  }

  /**
   * Starts it; see {@link #begin}.
   *
   * @return a future that completes with this cache when it is filled
   */
  public CompletableFuture<Cache> beginAsync() {
    return core.loop.shown(beginInner());
  }

  /**
   * {@return a key from the copy, or empty if it does not have it}
   *
   * @param key the key, without the namespace
   * @throws IllegalStateException if the cache is not filled yet
   */
  public Optional<KeyValue> get(String key) {
    needsFilled();
    return Optional.ofNullable(keys.get(key));
  }

  /**
   * {@return all keys of the copy, in order}
   *
   * @throws IllegalStateException if the cache is not filled yet
   */
  public Map<String, KeyValue> all() {
    needsFilled();
    return new TreeMap<>(keys);
  }

  /**
   * {@return an upper bound of the copy's age: it contains every change that was committed longer ago} It is never zero, and 1 to 3 s
   * while the cluster is healthy. It shrinks when a member proves that nothing is missing, which happens about once a second; events
   * alone prove nothing, because a member that catches up sends old ones. It is correct as long as clock rates are within 1 %.
   *
   * @throws IllegalStateException if the cache is not filled yet
   */
  public Duration staleFor() {
    needsFilled();
    return Duration.ofNanos(Math.max(1, core.clock.nanos() - provedAt));
  }

  private void needsFilled() {
    if (!filling.isFilled()) {
      throw new IllegalStateException("the cache of \"" + prefix + "\" is not filled: call begin() before it is read");
    }
  }

  /** {@return why the copy is no longer updated; empty while it is, and after {@link #close}} */
  public Optional<TenureException> failure() {
    return Optional.ofNullable(failure);
  }

  /**
   * Registers a listener: it gets each message after the copy has applied it. An exception in it goes to the thread's handler of
   * uncaught exceptions.
   *
   * @param listener gets the messages in order, on a thread of the client's pool
   */
  public void listen(Consumer<WatchMessage> listener) {
    listeners.add(Objects.requireNonNull(listener, "listener"));
  }

  /** Ends the watch. The copy can still be read, and no longer changes. A {@link #begin} that waits fails as CANCELLED. */
  @Override
  public void close() {
    filling.close(Exceptions.of(ErrorKind.CANCELLED, Applied.NO, "the cache is closed"));
  }

  private CompletableFuture<Cache> beginInner() {
    return Futures.map(filling.await(() -> follow(null)), v -> this);
  }

  /** Follows a new watch after the one before, null for none. */
  private void follow(WatchCore before) {
    WatchCore w = new WatchCore(core, WatchOptions.prefix(prefix).withInitial().progressEvery(PROGRESS).plan(), STREAM_AGE);
    if (!filling.feed(before, w)) {
      return;
    }
    w.publisher().subscribe(new Flow.Subscriber<>() {
      private Flow.Subscription subscription;

      @Override
      public void onSubscribe(Flow.Subscription s) {
        subscription = s;
        s.request(1);
      }

      @Override
      public void onNext(WatchMessage m) {
        synchronized (feeding) {
          if (filling.isFedBy(w)) {
            apply(m, w);
            telling.execute(() -> tell(m));
          }
          telling.execute(() -> subscription.request(1));
        }
      }

      @Override
      public void onError(Throwable t) {
        if (t instanceof TenureException.HistoryLost && !filling.isClosed()) {
          // Not on the loop: a client that was closed meanwhile says so when it is asked.
          CompletableFuture.delayedExecutor(
              Backoff.pauseNanos(losses++, core.random), TimeUnit.NANOSECONDS, core.loop::onPool).execute(() -> follow(w));
        } else {
          over(w, t instanceof TenureException e
              ? e : Exceptions.of(ErrorKind.INTERNAL, Applied.NO, "fault in the client", Map.of(), t));
        }
      }

      @Override
      public void onComplete() {
        over(w, ClientCore.closedError());
      }
    });
  }

  private void over(WatchCore w, TenureException why) {
    if (!filling.isFedBy(w)) {
      return; // It was given up.
    }
    if (!filling.isClosed()) {
      failure = why;
    }
    filling.fail(why);
  }

  private void apply(WatchMessage m, WatchCore by) {
    if (m instanceof WatchMessage.Initial) {
      ConcurrentSkipListMap<String, KeyValue> fresh = new ConcurrentSkipListMap<>();
      KeysWanted.apply(fresh, m);
      keys = fresh;
    } else {
      KeysWanted.apply(keys, m);
      losses = 0;
    }
    provedAt = Math.max(provedAt, by.provedAt());
    filling.fill(by);
  }

  private void tell(WatchMessage m) {
    for (Consumer<WatchMessage> l : listeners) {
      // One that throws keeps neither the others nor the cache from what comes.
      Loop.guarded(() -> l.accept(m));
    }
  }
}
