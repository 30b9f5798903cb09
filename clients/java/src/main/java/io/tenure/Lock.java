package io.tenure;

import com.google.protobuf.ByteString;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.TryAcquireLockRequest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A handle to a lock, or to permits of a semaphore. Waiters are served strictly in order, by the cluster. Each acquisition is a party
 * of its own: threads that share a handle exclude each other, and closing one hold leaves the others alone. Only a handle that is
 * {@link #reentrant}, or has an owner by name, attaches to the hold that it has.
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
    this.key = Objects.requireNonNull(key);
    this.options = Objects.requireNonNull(options);
  }

  private static String randomOwner() {
    byte[] b = new byte[OWNER_BYTES];
    OWNERS.nextBytes(b);
    return HexFormat.of().formatHex(b);
  }

  /**
   * {@return a handle whose acquisitions are all one} While it holds or waits, acquiring again attaches to that hold or place, from
   * any thread. So it does not exclude the threads that share it, and the first close ends the hold for all of them.
   */
  public Lock reentrant() {
    return new Lock(session, key, options.withOwner(owner()));
  }

  /** Returns the name of one acquisition: the one that was asked for, or one of its own. */
  private String owner() {
    return options.owner().orElseGet(Lock::randomOwner);
  }

  /** {@return the lock's key, without the namespace} */
  public String key() {
    return key;
  }

  /**
   * Waits for the lock as long as the session lives.
   *
   * @return the hold
   * @throws TenureException.SessionOver when the session ends first
   * @throws TenureException.Unavailable when no member answers any more and the lease ran out
   * @throws TenureException of kind WAIT_ENDED when an operator ended the wait, MODE_MISMATCH when the lock is in use in another
   *     mode or with another limit, CANCELLED when the thread was interrupted
   */
  public Held acquire() {
    return Await.of(begin(Optional.empty()));
  }

  /**
   * Waits for the lock at most so long.
   *
   * @param wait how long to wait at most; zero or less takes it only if it is free and nobody waits, as {@link #tryAcquire} does
   * @return the hold
   * @throws TenureException.TimedOut when it was not granted in time; the library gives the place up, as soon as a member answers
   */
  public Held acquire(Duration wait) {
    return Await.of(begin(Optional.of(wait)));
  }

  /**
   * Waits for the lock; cancelling the future gives the place up, and a hold that came first back.
   *
   * @return a future of the hold
   */
  public CompletableFuture<Held> acquireAsync() {
    return session.client.loop.shown(begin(Optional.empty()), Held::unclaim);
  }

  /**
   * Waits for the lock at most so long; see {@link #acquireAsync()}.
   *
   * @param wait how long to wait at most
   * @return a future of the hold
   */
  public CompletableFuture<Held> acquireAsync(Duration wait) {
    return session.client.loop.shown(begin(Optional.of(wait)), Held::unclaim);
  }

  /**
   * Takes the lock if it is free and nobody waits.
   *
   * @return what came of it; that somebody else has it is no error
   */
  public TryResult tryAcquire() {
    return Await.of(tryInner());
  }

  /**
   * Takes the lock if it is free and nobody waits.
   *
   * @return a future of what came of it
   */
  public CompletableFuture<TryResult> tryAcquireAsync() {
    return session.client.loop.shown(tryInner(), t -> t.held().ifPresent(Held::unclaim));
  }

  /**
   * Runs the task with the lock held, and releases it afterwards. A task for which it matters that the lock is held to its end
   * should ask the hold: see {@link #withLock(Function)}.
   *
   * @param task what to do while the lock is held
   * @throws TenureException.StaleToken of kind NOT_HELD when the lock was lost before the task ended
   */
  public void withLock(Runnable task) {
    Objects.requireNonNull(task);
    withLock(held -> {
      task.run();
      return null;
    });
  }

  /**
   * Runs the task with the lock held, and releases it afterwards. The task is given the hold: to ask {@link Held#isSafe}, and for
   * its {@link Held#token}.
   *
   * @param <T> what the task returns
   * @param task what to do while the lock is held
   * @return what the task returned
   * @throws TenureException.StaleToken of kind NOT_HELD when the lock was lost before the task ended; what the task threw comes first
   * @throws TenureException.Unavailable when no member answered the release; the library goes on to release it
   */
  public <T> T withLock(Function<Held, T> task) {
    Objects.requireNonNull(task);
    try (Held held = acquire()) {
      return task.apply(held);
    }
  }

  CompletableFuture<Held> begin(Optional<Duration> wait) {
    if (wait.isPresent() && (wait.get().isZero() || wait.get().isNegative())) {
      return once();
    }
    CompletableFuture<Held> result = new CompletableFuture<>();
    return session.client.onLoop(result, () -> {
      CompletableFuture<Held> inner =
          new Acquisition(session, session.client.namespace.key(key), owner(), options, wait).start();
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

  /** Waits for no time at all: takes the lock if it is free and nobody waits. */
  private CompletableFuture<Held> once() {
    CompletableFuture<Held> result = new CompletableFuture<>();
    CompletableFuture<TryResult> attempt = tryInner();
    attempt.whenComplete((r, error) -> {
      if (error != null) {
        result.completeExceptionally(Futures.error(error));
      } else if (r.held().isEmpty()) {
        result.completeExceptionally(TenureException.of(ErrorKind.TIMEOUT, Applied.NO, "lock " + key + " is not free"));
      } else if (!result.complete(r.held().get())) {
        r.held().get().unclaim();
      }
    });
    result.whenComplete((h, e) -> attempt.cancel(true));
    return result;
  }

  private CompletableFuture<TryResult> tryInner() {
    CompletableFuture<TryResult> result = new CompletableFuture<>();
    return session.client.onLoop(result, () -> {
      String fullKey = session.client.namespace.key(key);
      String owner = owner();
      session.holds.late.ask(fullKey, owner);
      result.whenComplete((r, e) -> session.client.loop.run(() -> session.holds.late.asked(fullKey, owner)));
      tryWhenFree(fullKey, owner, session.client.clock.nanos(), result);
    });
  }

  private void tryWhenFree(String fullKey, String owner, long begun, CompletableFuture<TryResult> result) {
    if (result.isDone()) {
      return;
    }
    if (session.state() != SessionState.CLOSED && session.returns.isLeaving(fullKey, owner)) {
      TenureException over = session.endOfPatience(begun, false);
      if (over == null) {
        session.client.loop.after(LOOK_AGAIN_NANOS, () -> tryWhenFree(fullKey, owner, begun, result));
      } else {
        result.completeExceptionally(over);
      }
      return;
    }
    session.inheritance.takeUp(fullKey, owner);
    long[] sequence = {0};
    session.change(LockServiceGrpc.getTryAcquireLockMethod(), o -> {
      sequence[0] = o.getRequestId().getSequence();
      TryAcquireLockRequest.Builder r = TryAcquireLockRequest.newBuilder()
          .setKey(fullKey).setSessionId(session.id()).setMode(options.mode().wire())
          .setPermits(options.permits()).setLimit(options.limit()).setOptions(o.setOwner(owner));
      options.value().ifPresent(v -> r.setValue(ByteString.copyFrom(v)));
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
        result.complete(new TryResult(
            Optional.empty(), Math.max(r.getAcquired() ? 1 : 0, r.getLock().getHolders()), r.getLock().getWaiters(), r.getLock().getDelayedHolds()));
      } else {
        session.holds.believe(r.getHold(), () -> true, held -> {
          if (!result.complete(new TryResult(Optional.of(held), 0, 0, 0))) {
            held.unclaim();
          }
        }, () -> session.client.loop.after(LOOK_AGAIN_NANOS, () -> tryWhenFree(fullKey, owner, begun, result)),
            result::completeExceptionally);
      }
    });
  }
}
