package io.tenure;

import java.util.Optional;
import java.util.function.IntConsumer;

/** How a lock is to be taken. Immutable. */
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

  /** {@return the options of a lock that any number may hold together} */
  public static LockOptions shared() {
    return new LockOptions(LockMode.SHARED, 0, 0, null, null, null);
  }

  /**
   * {@return the options of a semaphore: one permit of a limit on which all must agree}
   *
   * @param limit how many permits there are in all, at least 1
   * @throws TenureException of kind INVALID_ARGUMENT when the limit is below 1
   */
  public static LockOptions semaphore(int limit) {
    return semaphore(limit, 1);
  }

  /**
   * {@return the options of a semaphore: so many permits of a limit on which all must agree}
   *
   * @param limit how many permits there are in all, at least 1
   * @param permits how many of them to take, from 1 to the limit
   * @throws TenureException of kind INVALID_ARGUMENT when the limit is below 1, or the permits are not from 1 to the limit
   */
  public static LockOptions semaphore(int limit, int permits) {
    if (limit < 1) {
      throw TenureException.of(
          ErrorKind.INVALID_ARGUMENT, Applied.NO, "the limit of a semaphore is " + limit + "; it is at least 1");
    }
    if (permits < 1 || permits > limit) {
      throw TenureException.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
          "the permits of a semaphore are " + permits + "; they are from 1 to its limit, " + limit);
    }
    return new LockOptions(LockMode.SEMAPHORE, permits, limit, null, null, null);
  }

  /**
   * Names the hold within the session. The same name attaches to the hold or place that there is. Otherwise each acquisition has a
   * random name of its own; see {@link Lock#reentrant}.
   *
   * @param owner the name
   * @return new options
   */
  public LockOptions withOwner(String owner) {
    return new LockOptions(mode, permits, limit, owner, value, queued);
  }

  /**
   * Writes the key's value when the lock is granted; otherwise a key that exists keeps its value, and one that does not gets an
   * empty one.
   *
   * @param value the value, at most 512 KiB
   * @return new options
   */
  public LockOptions withValue(byte[] value) {
    return new LockOptions(mode, permits, limit, owner, value.clone(), queued);
  }

  /**
   * Tells how many wait before us, while we wait.
   *
   * @param position is told, on a thread of the client's pool
   * @return new options
   */
  public LockOptions onQueued(IntConsumer position) {
    return new LockOptions(mode, permits, limit, owner, value, position);
  }

  LockMode mode() {
    return mode;
  }

  int permits() {
    return permits;
  }

  int limit() {
    return limit;
  }

  Optional<String> owner() {
    return Optional.ofNullable(owner);
  }

  Optional<byte[]> value() {
    return Optional.ofNullable(value);
  }

  Optional<IntConsumer> queued() {
    return Optional.ofNullable(queued);
  }
}
