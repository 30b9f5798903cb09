package io.tenure;

/**
 * A lock with many readers or one writer. Waiters are served in order, so neither starve. A read lock cannot be upgraded to a write
 * lock: that would deadlock two readers.
 *
 * @param readLock held SHARED
 * @param writeLock held EXCLUSIVE
 */
public record ReadWriteLock(Lock readLock, Lock writeLock) {}
