package io.tenure;

import java.util.Optional;

/**
 * The result of {@link Lock#tryAcquire}. The numbers are 0 if the lock was acquired.
 *
 * @param held the hold; empty if the lock was not acquired
 * @param holders the number of its holders
 * @param waiters the number of clients that wait for it
 * @param delayed the number of lost holds whose lock-delay has not elapsed
 */
public record TryResult(Optional<Held> held, int holders, int waiters, int delayed) {}
