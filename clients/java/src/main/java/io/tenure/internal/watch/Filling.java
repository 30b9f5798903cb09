package io.tenure.internal.watch;

import io.tenure.TenureException;
import java.util.concurrent.CompletableFuture;

/**
 * Whether a local copy that a watch feeds is filled, and who waits for that. When the last of them gives up before it is filled, the watch is closed,
 * and the next one who waits begins another. Any thread can use it.
 */
public final class Filling {
  private final CompletableFuture<Void> filled = new CompletableFuture<>();
  // Guarded by this, as what follows; anybody may read the volatile ones.
  private int waiting;
  private volatile WatchCore watch;
  private volatile boolean closed;

  /** Waits until the copy is filled. If no watch feeds it, {@code begin} is run, which names one by {@link #feed}. */
  public synchronized CompletableFuture<Void> await(Runnable begin) {
    if (watch == null && !closed) {
      begin.run();
    }
    CompletableFuture<Void> one = filled.copy();
    waiting++;
    one.whenComplete((v, error) -> gone());
    return one;
  }

  private void gone() {
    WatchCore unwanted = null;
    synchronized (this) {
      if (--waiting == 0 && !filled.isDone()) {
        unwanted = watch;
        watch = null;
      }
    }
    if (unwanted != null) {
      unwanted.close();
    }
  }

  /** Puts a watch in the place of the one before, null for none; returns false if that feeds the copy no longer. */
  public synchronized boolean feed(WatchCore before, WatchCore next) {
    boolean wanted = !closed && watch == before;
    if (wanted) {
      watch = next;
    }
    return wanted;
  }

  /** Whether this watch feeds the copy. */
  public boolean isFedBy(WatchCore w) {
    return watch == w;
  }

  /** Says that the copy is filled, by the watch that feeds it. */
  public void fill(WatchCore by) {
    synchronized (this) {
      if (watch != by) {
        return;
      }
      filled.complete(null);
    }
  }

  public boolean isFilled() {
    return filled.isDone() && !filled.isCompletedExceptionally();
  }

  /** Says that the copy will not be filled any more, unless it is. */
  public void fail(TenureException why) {
    filled.completeExceptionally(why);
  }

  /** Closes the watch; whoever waits fails. */
  public void close(TenureException why) {
    WatchCore last;
    synchronized (this) {
      closed = true;
      last = watch;
    }
    fail(why);
    if (last != null) {
      last.close();
    }
  }

  public boolean isClosed() {
    return closed;
  }
}
