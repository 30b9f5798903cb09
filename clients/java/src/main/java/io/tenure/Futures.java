package io.tenure;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Small things about futures. */
final class Futures {
  private Futures() {}

  /** Returns the error itself, without the wrapping that a chain of futures adds. */
  static Throwable error(Throwable t) {
    return t instanceof CompletionException c && c.getCause() != null ? c.getCause() : t;
  }

  /** Makes an error one that a stage may throw. */
  static RuntimeException rethrow(Throwable t) {
    Throwable e = error(t);
    return e instanceof RuntimeException r ? r : new CompletionException(e);
  }

  /** Ends one future as another does, and cancels the other when the one is cancelled. */
  static <T> void connect(CompletableFuture<T> from, CompletableFuture<T> to) {
    from.whenComplete((value, error) -> {
      if (error != null) {
        to.completeExceptionally(error(error));
      } else {
        to.complete(value);
      }
    });
    to.whenComplete((value, error) -> {
      if (to.isCancelled()) {
        from.cancel(true);
      }
    });
  }
}
