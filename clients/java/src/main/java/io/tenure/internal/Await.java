package io.tenure.internal;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** The blocking form of a call. */
public final class Await {
  private Await() {}

  /**
   * Waits for the future. An interrupt cancels what is done and fails as CANCELLED; a result that was there first is returned
   * nevertheless, so that nothing is had by nobody. The interrupt flag is set either way.
   */
  public static <T> T of(CompletableFuture<T> future) {
    try {
      return get(future);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      if (future.cancel(true)) {
        throw Exceptions.of(ErrorKind.CANCELLED, Applied.UNKNOWN, "interrupted while waiting");
      }
      return uninterrupted(future);
    }
  }

  /** Waits for the end of something that goes on by itself. An interrupt ends the waiting only; the flag is set then. */
  public static void ending(CompletableFuture<?> future) {
    try {
      get(future);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits for something that has a bound of its own, whatever interrupts come; the flag is set if any did. */
  public static <T> T uninterrupted(CompletableFuture<T> future) {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return get(future);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static <T> T get(CompletableFuture<T> future) throws InterruptedException {
    try {
      return future.get();
    } catch (CancellationException e) {
      throw Exceptions.of(ErrorKind.CANCELLED, Applied.UNKNOWN, "cancelled");
    } catch (ExecutionException e) {
      if (Futures.error(e.getCause()) instanceof TenureException t) {
        // With the caller's own frames, which the loop's stack trace lacks.
        throw Exceptions.here(t);
      }
      throw new IllegalStateException("fault in the client", e.getCause());
    }
  }
}
