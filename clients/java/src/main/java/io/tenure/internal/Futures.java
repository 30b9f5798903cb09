package io.tenure.internal;

import io.tenure.ErrorKind;
import io.tenure.TenureException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Small things about futures. */
public final class Futures {
  private Futures() {}

  /** Returns the error itself, without the wrapping that a chain of futures adds. */
  public static Throwable error(Throwable t) {
    return t instanceof CompletionException c && c.getCause() != null ? c.getCause() : t;
  }

  /** Makes an error one that a stage may throw. */
  public static RuntimeException rethrow(Throwable t) {
    Throwable e = error(t);
    return e instanceof RuntimeException r ? r : new CompletionException(e);
  }

  /** Returns what becomes of a value; cancelling it cancels what gives the value. */
  public static <T, U> CompletableFuture<U> map(CompletableFuture<T> from, Function<? super T, ? extends U> then) {
    return compose(from, v -> CompletableFuture.completedFuture(then.apply(v)));
  }

  /** Returns what becomes of a value in the end; cancelling it cancels what is under way. */
  public static <T, U> CompletableFuture<U> compose(CompletableFuture<T> from, Function<? super T, CompletableFuture<U>> then) {
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

  /**
   * Makes calls one after another, until {@code more} says of the value of one that it was the last. However many there are, and however
   * soon each has its value, the stack is as deep as with one. Cancelling the future cancels the call under way.
   */
  public static <T> CompletableFuture<Void> repeat(Supplier<CompletableFuture<T>> call, Predicate<? super T> more) {
    return new Repeated<T>(call, more).begin();
  }

  /** Asks for pages one after another, the first by an empty token; {@code take} returns the token of the next page, empty for none. */
  public static <T> CompletableFuture<Void> pages(Function<String, CompletableFuture<T>> ask, Function<? super T, String> take) {
    return pages("", ask, take);
  }

  /** Likewise from a page on. */
  public static <T> CompletableFuture<Void> pages(
      String from, Function<String, CompletableFuture<T>> ask, Function<? super T, String> take) {
    AtomicReference<String> token = new AtomicReference<>(from);
    return repeat(() -> ask.apply(token.get()), page -> {
      token.set(take.apply(page));
      return !token.get().isEmpty();
    });
  }

  /** Returns the end of a change under a condition: that the condition does not hold is as good as the change. */
  public static CompletableFuture<Void> unlessCompareFails(CompletableFuture<?> change) {
    return unless(map(change, v -> null), ErrorKind.COMPARE_FAILED, null);
  }

  /** Returns a future for which an error of this kind is an answer. */
  public static <T> CompletableFuture<T> unless(CompletableFuture<T> from, ErrorKind kind, T answer) {
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
  public static <T> CompletableFuture<T> withoutSession(CompletableFuture<T> call) {
    CompletableFuture<T> to = new CompletableFuture<>();
    call.whenComplete((value, error) -> {
      if (error == null) {
        to.complete(value);
      } else {
        to.completeExceptionally(error(error) instanceof TenureException e ? Exceptions.withoutSession(e) : error(error));
      }
    });
    cancels(to, call);
    return to;
  }

  /** Ends one future as another does, and cancels the other when the one is cancelled. */
  public static <T> void connect(CompletableFuture<T> from, CompletableFuture<T> to) {
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

  /** Calls that are made one after another. */
  private static final class Repeated<T> {
    private final Supplier<CompletableFuture<T>> call;
    private final Predicate<? super T> more;
    private final CompletableFuture<Void> end = new CompletableFuture<>();
    /** How many calls are to be made. Whoever counts from zero makes them, also those that are asked for meanwhile. */
    private final AtomicInteger due = new AtomicInteger();
    private volatile CompletableFuture<T> now;

    Repeated(Supplier<CompletableFuture<T>> call, Predicate<? super T> more) {
      this.call = call;
      this.more = more;
    }

    CompletableFuture<Void> begin() {
      end.whenComplete((v, error) -> cancel());
      next();
      return end;
    }

    private void cancel() {
      CompletableFuture<T> last = now;
      if (end.isCancelled() && last != null) {
        last.cancel(true);
      }
    }

    private void next() {
      if (due.getAndIncrement() > 0) {
        return;
      }
      do {
        make();
      } while (due.decrementAndGet() > 0);
    }

    private void make() {
      if (end.isDone()) {
        return;
      }
      try {
        now = call.get();
        now.whenComplete(this::ended);
      } catch (RuntimeException | Error e) {
        end.completeExceptionally(e);
      }
      cancel(); // If it was cancelled as the call began.
    }

    private void ended(T value, Throwable error) {
      if (error != null) {
        end.completeExceptionally(error(error));
        return;
      }
      boolean goesOn;
      try {
        goesOn = !end.isDone() && more.test(value);
      } catch (RuntimeException | Error e) {
        end.completeExceptionally(e);
        return;
      }
      if (goesOn) {
        next();
      } else {
        end.complete(null);
      }
    }
  }
}
