package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Futures;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.watch.KeysWanted;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A barrier. While its key exists, it is closed, and {@link #await()} waits. Any thread can use it. */
public final class Barrier {
  private static final byte[] NOTHING = new byte[0];

  private final ClientCore core;
  private final KV kv;
  private final String key;

  Barrier(ClientCore core, KV kv, String key) {
    this.core = core;
    this.kv = kv;
    this.key = Objects.requireNonNull(key, "key");
  }

  /** Closes the barrier. If it is closed, this does nothing. */
  public void set() {
    Await.of(setInner());
  }

  /**
   * Closes the barrier. If it is closed, this does nothing.
   *
   * @return a future that completes when that is done
   */
  public CompletableFuture<Void> setAsync() {
    return core.loop.shown(setInner());
  }

  /** Opens the barrier. If it is open, this does nothing. */
  public void remove() {
    Await.of(removeInner());
  }

  /**
   * Opens the barrier.
   *
   * @return a future that completes when that is done
   */
  public CompletableFuture<Void> removeAsync() {
    return core.loop.shown(removeInner());
  }

  /** Waits until the barrier is open. With a barrier of a session, it waits as long as the session lives. */
  public void await() {
    Await.of(awaitInner(Optional.empty()));
  }

  /**
   * Waits until the barrier is open, at most for the given time; see {@link #await()}.
   *
   * @param wait how long to wait
   * @throws TenureException.TimedOut if it is still closed then
   */
  public void await(Duration wait) {
    Await.of(awaitInner(Optional.of(wait)));
  }

  /**
   * Waits until the barrier is open; see {@link #await()}.
   *
   * @return a future that completes when it is open; cancelling it ends the wait
   */
  public CompletableFuture<Void> awaitAsync() {
    return core.loop.shown(awaitInner(Optional.empty()));
  }

  /**
   * Waits until the barrier is open, at most for the given time; see {@link #await(Duration)}.
   *
   * @param wait how long to wait
   * @return a future that completes when it is open; cancelling it ends the wait
   */
  public CompletableFuture<Void> awaitAsync(Duration wait) {
    return core.loop.shown(awaitInner(Optional.of(wait)));
  }

  private CompletableFuture<Void> setInner() {
    return Futures.unlessCompareFails(kv.putInner(key, NOTHING, PutOptions.defaults().ifRevision(0)));
  }

  private CompletableFuture<Void> removeInner() {
    return Futures.map(kv.deleteInner(key, null, null), existed -> null);
  }

  private CompletableFuture<Void> awaitInner(Optional<Duration> wait) {
    CompletableFuture<Map<String, KeyValue>> open = new CompletableFuture<>();
    new KeysWanted.Wait(core, kv.session(), WatchOptions.key(key).withInitial().plan(), wait).until(Map::isEmpty, open);
    return Futures.map(open, gone -> null);
  }
}
