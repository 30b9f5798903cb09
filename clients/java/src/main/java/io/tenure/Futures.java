package io.tenure;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

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

  /** Returns what becomes of a value; cancelling it cancels what gives the value. */
  static <T, U> CompletableFuture<U> map(CompletableFuture<T> from, Function<? super T, ? extends U> then) {
    return compose(from, v -> CompletableFuture.completedFuture(then.apply(v)));
  }

  /** Returns what becomes of a value in the end; cancelling it cancels what is under way. */
  static <T, U> CompletableFuture<U> compose(CompletableFuture<T> from, Function<? super T, CompletableFuture<U>> then) {
    CompletableFuture<U> to = new CompletableFuture<>();
    from.whenComplete((value, error) -> {
      if (error != null) {
        to.completeExceptionally(error(error));
      } else if (!to.isDone()) {
        try {
          connect(then.apply(value), to);
        } catch (RuntimeException | Error e) {
          to.completeExceptionally(e);
        }
      }
    });
    cancels(to, from);
    return to;
  }

  /** Returns the end of a change under a condition: that the condition does not hold is as good as the change. */
  static CompletableFuture<Void> unlessCompareFails(CompletableFuture<?> change) {
    return unless(map(change, v -> null), ErrorKind.COMPARE_FAILED, null);
  }

  /** Returns a future for which an error of this kind is an answer. */
  static <T> CompletableFuture<T> unless(CompletableFuture<T> from, ErrorKind kind, T answer) {
    CompletableFuture<T> to = new CompletableFuture<>();
    from.whenComplete((value, error) -> {
      if (error == null) {
        to.complete(value);
      } else if (error(error) instanceof TenureException e && e.kind() == kind) {
        to.complete(answer);
      } else {
        to.completeExceptionally(error(error));
      }
    });
    cancels(to, from);
    return to;
  }

  /** Returns the end of a call that no session made: that it lacks the secret of one does not say that a session of the caller is over. */
  static <T> CompletableFuture<T> withoutSession(CompletableFuture<T> call) {
    CompletableFuture<T> to = new CompletableFuture<>();
    call.whenComplete((value, error) -> {
      if (error == null) {
        to.complete(value);
      } else {
        to.completeExceptionally(error(error) instanceof TenureException e ? e.withoutSession() : error(error));
      }
    });
    cancels(to, call);
    return to;
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
    cancels(to, from);
  }

  private static void cancels(CompletableFuture<?> to, CompletableFuture<?> from) {
    to.whenComplete((value, error) -> {
      if (to.isCancelled()) {
        from.cancel(true);
      }
    });
  }
}
