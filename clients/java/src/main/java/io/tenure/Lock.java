package io.tenure;

import com.google.protobuf.ByteString;
import io.tenure.internal.Await;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.session.Acquisition;
import io.tenure.internal.session.HeldCore;
import io.tenure.internal.session.SessionCore;
import io.tenure.internal.session.Terms;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.TryAcquireLockRequest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A lock, or permits of a semaphore. Waiters get it strictly in the order of the cluster's queue. Threads can share a Lock: each
 * acquisition has its own owner, so they exclude each other, and closing one hold does not end another. Only the acquisitions of a
 * {@link #reentrant} Lock, or of one with a named owner, share one hold.
 */
public final class Lock {
  private static final SecureRandom OWNERS = new SecureRandom();
  private static final int OWNER_BYTES = 12;
  private static final long LOOK_AGAIN_NANOS = 25_000_000L;

  private final SessionCore session;
  private final String key;
  private final LockOptions options;

  Lock(SessionCore session, String key, LockOptions options) {
    this.session = session;
    this.key = Objects.requireNonNull(key, "key");
    this.options = Objects.requireNonNull(options, "options");
  }

  private static String randomOwner() {
    byte[] b = new byte[OWNER_BYTES];
    OWNERS.nextBytes(b);
    return HexFormat.of().formatHex(b);
  }

  /**
   * {@return a lock whose acquisitions all have the same owner} While it is held or waited for, acquiring it again, in any thread,
   * returns the existing hold or waits with the existing place. Threads that share it do not exclude each other, and the first close
   * ends the hold for all of them: there is no count.
   */
  public Lock reentrant() {
    return new Lock(session, key, options.withOwner(owner()));
  }

  /** Returns the owner of one acquisition: the named one, or a random one. */
  private String owner() {
    return options.owner().orElseGet(Lock::randomOwner);
  }

  /** {@return the lock's key, without the namespace} */
  public String key() {
    return key;
  }

  /**
   * Waits in the queue until the lock is held, as long as the session lives. However the wait ends, no place and no hold remains for it.
   *
   * @return the hold
   * @throws TenureException.SessionOver if the session ends first
   * @throws TenureException.Unavailable if no member answers, the lease has ended, and up to twice the TTL (at most 45 s) has elapsed
   * @throws TenureException of kind WAIT_ENDED if an operator ended the wait, MODE_MISMATCH if the lock is in use in another mode or
   *     with another limit, CANCELLED if the thread was interrupted
   */
  public Held acquire() {
    return Held.of(Await.of(begin(Optional.empty())));
  }

  /**
   * Waits in the queue until the lock is held, at most for the given time; see {@link #acquire()}.
   *
   * @param wait how long to wait; with zero or less it acquires the lock only if it is free and no client waits, like {@link #tryAcquire}
   * @return the hold
   * @throws TenureException.TimedOut if it was not granted in time; the library gives up the place as soon as a member answers
   */
  public Held acquire(Duration wait) {
    return Held.of(Await.of(begin(Optional.of(Objects.requireNonNull(wait, "wait")))));
  }

  /**
   * Waits for the lock. Cancelling the future gives up the place, and releases a hold that was granted first.
   *
   * @return a future of the hold
   */
  public CompletableFuture<Held> acquireAsync() {
    return session.client.loop.shown(begin(Optional.empty()), Held::of, HeldCore::unclaim);
  }

  /**
   * Waits for the lock at most for the given time; see {@link #acquireAsync()}.
   *
   * @param wait how long to wait
   * @return a future of the hold
   */
  public CompletableFuture<Held> acquireAsync(Duration wait) {
    return session.client.loop.shown(begin(Optional.of(Objects.requireNonNull(wait, "wait"))), Held::of, HeldCore::unclaim);
  }

  /**
   * Acquires the lock if it is free and no client waits. That another client holds it is not an error.
   *
   * @return the hold, or the numbers of holders and waiters
   */
  public TryResult tryAcquire() {
    return Await.of(tryInner(lock -> { }));
  }

  /**
   * Acquires the lock if it is free and no client waits; see {@link #tryAcquire}.
   *
   * @return a future of the result
   */
  public CompletableFuture<TryResult> tryAcquireAsync() {
    return session.client.loop.shown(tryInner(lock -> { }), t -> t.held().ifPresent(h -> h.core().unclaim()));
  }

  /**
   * Acquires the lock, runs the task, and releases the lock. A task that must check whether the lock is still held gets the hold from
   * {@link #withLock(Function)}.
   *
   * @param task what to do while the lock is held
   * @throws TenureException.StaleToken of kind NOT_HELD if the lock was lost before the task ended
   */
  public void withLock(Runnable task) {
    Objects.requireNonNull(task, "task");
    withLock(held -> {
      task.run();
      return null;
    });
  }

  /**
   * Acquires the lock, runs the task, and releases the lock. The task gets the hold, with {@link Held#isSafe} and {@link Held#token}.
   *
   * @param <T> what the task returns
   * @param task what to do while the lock is held
   * @return what the task returned
   * @throws TenureException.StaleToken of kind NOT_HELD if the lock was lost before the task ended. If the task threw an exception, that one is
   *     thrown, with this one suppressed
   * @throws TenureException.Unavailable if no member answered the release; the library keeps trying to release it
   */
  public <T> T withLock(Function<Held, T> task) {
    Objects.requireNonNull(task, "task");
    try (Held held = acquire()) {
      return task.apply(held);
    }
  }

  @Override
  public String toString() {
    return "Lock[" + key + "]";
  }

  CompletableFuture<HeldCore> begin(Optional<Duration> wait) {
    if (wait.isPresent() && (wait.get().isZero() || wait.get().isNegative())) {
      return once();
    }
    CompletableFuture<HeldCore> result = new CompletableFuture<>();
    return session.client.onLoop(result, () -> {
      CompletableFuture<HeldCore> inner =
          new Acquisition(session, session.client.namespace.key(key), owner(), options.terms(), wait).start();
      inner.whenComplete((held, error) -> {
        if (error != null) {
          result.completeExceptionally(error);
        } else if (!result.complete(held)) {
          held.unclaim();
        }
      });
      result.whenComplete((h, e) -> session.client.loop.run(() -> inner.cancel(true)));
    });
  }

  /** Does not wait: acquires the lock if it is free and no client waits. */
  private CompletableFuture<HeldCore> once() {
    CompletableFuture<HeldCore> result = new CompletableFuture<>();
    AtomicReference<io.tenure.v1.Lock> seen = new AtomicReference<>(io.tenure.v1.Lock.getDefaultInstance());
    CompletableFuture<TryResult> attempt = tryInner(seen::set);
    attempt.whenComplete((r, error) -> {
      if (error != null) {
        result.completeExceptionally(Futures.error(error));
      } else if (r.held().isEmpty()) {
        result.completeExceptionally(Exceptions.of(
            ErrorKind.TIMEOUT, Applied.NO, "lock " + key + " is not free" + Acquisition.heldBy(seen.get())));
      } else if (!result.complete(r.held().get().core())) {
        r.held().get().core().unclaim();
      }
    });
    result.whenComplete((h, e) -> attempt.cancel(true));
    return result;
  }

  /** Tries once; {@code seen} is told of the lock if it was not acquired. */
  private CompletableFuture<TryResult> tryInner(Consumer<io.tenure.v1.Lock> seen) {
    CompletableFuture<TryResult> result = new CompletableFuture<>();
    return session.client.onLoop(result, () -> {
      String fullKey = session.client.namespace.key(key);
      String owner = owner();
      session.holds.late.ask(fullKey, owner);
      result.whenComplete((r, e) -> session.client.loop.run(() -> session.holds.late.asked(fullKey, owner)));
      tryWhenFree(fullKey, owner, session.client.clock.nanos(), seen, result);
    });
  }

  private void tryWhenFree(String fullKey, String owner, long begun, Consumer<io.tenure.v1.Lock> seen,
      CompletableFuture<TryResult> result) {
    if (result.isDone()) {
      return;
    }
    TenureException none = session.end.noLocks();
    if (none != null) {
      result.completeExceptionally(none);
      return;
    }
    if (session.returns.isLeaving(fullKey, owner)) {
      TenureException over = session.calls.endOfPatience(begun, false);
      if (over == null) {
        session.client.loop.after(LOOK_AGAIN_NANOS, () -> tryWhenFree(fullKey, owner, begun, seen, result));
      } else {
        result.completeExceptionally(over);
      }
      return;
    }
    session.inheritance.takeUp(fullKey, owner);
    session.holds.late.ask(fullKey, owner); // The call goes on when nobody waits for it any more.
    long[] sequence = {0};
    session.calls.change(LockServiceGrpc.getTryAcquireLockMethod(), o -> {
      sequence[0] = o.getRequestId().getSequence();
      Terms terms = options.terms();
      TryAcquireLockRequest.Builder r = TryAcquireLockRequest.newBuilder()
          .setKey(fullKey).setSessionId(session.id()).setMode(Wire.mode(terms.mode()))
          .setPermits(terms.permits()).setLimit(terms.limit()).setOptions(o.setOwner(owner));
      terms.value().ifPresent(v -> r.setValue(ByteString.copyFrom(v)));
      return r.build();
    }).whenComplete((r, error) -> {
      if (error != null) {
        result.completeExceptionally(error);
        if (!(Futures.error(error) instanceof TenureException e && e.applied() == Applied.NO)) {
          session.returns.leaveUnlessUsed(fullKey, owner, sequence[0], null);
        }
      } else if (!r.getAcquired()
          || session.inheritance.isDoubted(r.getHold()) && !session.inheritance.isNeverBelieved(r.getHold())) {
        // What the process before this one may still believe in is not had here yet.
        seen.accept(r.getLock());
        result.complete(new TryResult(
            Optional.empty(), Math.max(r.getAcquired() ? 1 : 0, r.getLock().getHolders()), r.getLock().getWaiters(), r.getLock().getDelayedHolds()));
      } else {
        session.holds.believe(r.getHold(), () -> true, held -> {
          if (!result.complete(new TryResult(Optional.of(Held.of(held)), 0, 0, 0))) {
            held.unclaim();
          }
        }, () -> session.client.loop.after(LOOK_AGAIN_NANOS, () -> tryWhenFree(fullKey, owner, begun, seen, result)),
            result::completeExceptionally);
      }
      session.holds.late.asked(fullKey, owner);
    });
  }
}
