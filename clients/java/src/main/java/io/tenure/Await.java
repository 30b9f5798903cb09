package io.tenure;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** The blocking form of a call. */
final class Await {
  private Await() {}

  /** Waits for the future. An interrupt cancels what is done and fails as CANCELLED, with the interrupt flag set. */
  static <T> T of(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException e) {
      future.cancel(true);
      Thread.currentThread().interrupt();
      throw TenureException.of(ErrorKind.CANCELLED, Applied.UNKNOWN, "interrupted while waiting");
    } catch (CancellationException e) {
      throw TenureException.of(ErrorKind.CANCELLED, Applied.UNKNOWN, "cancelled");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof TenureException t) {
        // The caller's own frames, which the loop's stack trace lacks.
        t.addSuppressed(new Throwable("called from"));
        throw t;
      }
      throw new IllegalStateException("fault in the client", e.getCause());
    }
  }
}
