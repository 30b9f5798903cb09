package io.tenure;

import io.tenure.internal.Exceptions;
import io.tenure.internal.session.Terms;
import java.util.Optional;
import java.util.function.IntConsumer;

/** How a lock is acquired: its mode, owner and value. Immutable. */
public final class LockOptions {
  private final LockMode mode;
  private final int permits;
  private final int limit;
  private final String owner;
  private final byte[] value;
  private final IntConsumer queued;

  private LockOptions(LockMode mode, int permits, int limit, String owner, byte[] value, IntConsumer queued) {
    this.mode = mode;
    this.permits = permits;
    this.limit = limit;
    this.owner = owner;
    this.value = value;
    this.queued = queued;
  }

  /** {@return the options of a lock with one holder} */
  public static LockOptions exclusive() {
    return new LockOptions(LockMode.EXCLUSIVE, 0, 0, null, null, null);
  }

  /** {@return the options of a lock that any number of readers can hold together} */
  public static LockOptions shared() {
    return new LockOptions(LockMode.SHARED, 0, 0, null, null, null);
  }

  /**
   * {@return the options of a semaphore, of which one permit is acquired}
   *
   * @param limit the number of all permits, at least 1
   * @throws TenureException of kind INVALID_ARGUMENT if the limit is below 1
   */
  public static LockOptions semaphore(int limit) {
    return semaphore(limit, 1);
  }

  /**
   * {@return the options of a semaphore, of which several permits are acquired}
   *
   * @param limit the number of all permits, at least 1
   * @param permits how many of them to acquire, from 1 to the limit
   * @throws TenureException of kind INVALID_ARGUMENT if the limit is below 1, or the permits are not from 1 to the limit
   */
  public static LockOptions semaphore(int limit, int permits) {
    if (limit < 1) {
      throw Exceptions.of(
          ErrorKind.INVALID_ARGUMENT, Applied.NO, "the limit of a semaphore is " + limit + "; it is at least 1");
    }
    if (permits < 1 || permits > limit) {
      throw Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
          "the permits of a semaphore are " + permits + "; they are from 1 to its limit, " + limit);
    }
    return new LockOptions(LockMode.SEMAPHORE, permits, limit, null, null, null);
  }

  /**
   * Names the owner of the hold within the session. All acquisitions with this owner share one hold or place. Without a name, each
   * acquisition has its own, random owner; see {@link Lock#reentrant}.
   *
   * @param owner the name
   * @return new options
   */
  public LockOptions withOwner(String owner) {
    return new LockOptions(mode, permits, limit, owner, value, queued);
  }

  /**
   * Writes a value to the lock's key when the lock is granted. Without it, an existing key keeps its value, and a missing key is
   * created with an empty one.
   *
   * @param value the value, at most 512 KiB
   * @return new options
   */
  public LockOptions withValue(byte[] value) {
    return new LockOptions(mode, permits, limit, owner, value.clone(), queued);
  }

  /**
   * Reports how many waiters are before this one, when it is queued and whenever it moves.
   *
   * @param position gets that number, on a thread of the client's pool
   * @return new options
   */
  public LockOptions onQueued(IntConsumer position) {
    return new LockOptions(mode, permits, limit, owner, value, position);
  }

  Terms terms() {
    return new Terms(mode, permits, limit, Optional.ofNullable(value), Optional.ofNullable(queued));
  }

  Optional<String> owner() {
    return Optional.ofNullable(owner);
  }
}
