package io.tenure;

import java.util.Optional;

/**
 * What came of a try to take a lock. That somebody else has it is an answer.
 *
 * @param held the hold; absent when it was not had
 * @param holders how many hold it, when it was not had
 * @param waiters how many wait for it, when it was not had
 * @param delayed how many lost holds still count, when it was not had
 */
public record TryResult(Optional<Held> held, int holders, int waiters, int delayed) {}
