package io.tenure;

/**
 * A lock that many may read under and one may write under, served in order: nobody starves. Upgrading from read to write is
 * not possible; it would deadlock two readers.
 *
 * @param readLock held SHARED
 * @param writeLock held EXCLUSIVE
 */
public record ReadWriteLock(Lock readLock, Lock writeLock) {}
