package io.tenure;

import io.tenure.internal.watch.WatchCore;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/**
 * A watch: changes in order, each once, none missed, even if the connection breaks and the watch resumes with another member. One reader
 * can read it: by iterating, by {@link #next}, or as a {@link #publisher}. If the reader is so slow that the cluster no longer has the
 * next events, the watch fails as {@link TenureException.HistoryLost}.
 */
public final class Watch implements AutoCloseable, Iterable<WatchMessage> {
  private final WatchCore core;

  Watch(WatchCore core) {
    this.core = core;
  }

  WatchCore core() {
    return core;
  }

  /** Waits until the watch has started: every change from now on will be delivered. */
  public void begin() {
    core.begin();
  }

  /**
   * Starts the watch; see {@link #begin}.
   *
   * @return a future that completes when it has started
   */
  public CompletableFuture<Void> beginAsync() {
    return core.beginAsync();
  }

  /**
   * Waits for the next message, for as long as it takes.
   *
   * @return the message, or empty if the watch was closed
   * @throws TenureException.HistoryLost if the watch missed events
   */
  public Optional<WatchMessage> next() {
    return core.next();
  }

  /**
   * Waits for the next message at most for the given time.
   *
   * @param wait how long to wait
   * @return the message, or empty if the watch was closed
   * @throws TenureException.TimedOut if none came; the watch continues
   */
  public Optional<WatchMessage> next(Duration wait) {
    return core.next(wait);
  }

  /** Iterates over the messages until the watch is closed; fails with a {@link TenureException} if it cannot continue. */
  @Override
  public Iterator<WatchMessage> iterator() {
    return new Iterator<>() {
      private Optional<WatchMessage> head;

      @Override
      public boolean hasNext() {
        if (head == null) {
          head = Watch.this.next();
        }
        return head.isPresent();
      }

      @Override
      public WatchMessage next() {
        if (!hasNext()) {
          throw new NoSuchElementException("the watch was closed");
        }
        WatchMessage m = head.orElseThrow();
        head = null;
        return m;
      }
    };
  }

  /**
   * {@return the messages as a publisher for one subscriber, with back-pressure to the cluster} A second subscriber gets an error. The
   * subscriber is called on threads of the client's pool, one call after another. Cancelling its subscription closes the watch.
   */
  public Flow.Publisher<WatchMessage> publisher() {
    return core.publisher();
  }

  /** Ends the watch; readers get what is there, then the end. */
  @Override
  public void close() {
    core.close();
  }
}
