package io.tenure;

import java.util.List;
import java.util.Optional;

/**
 * The result of a transaction.
 *
 * @param succeeded whether all conditions held, so that the first list ran
 * @param gets the result of each get that ran, in order; empty for a key that does not exist
 * @param revision the revision that it read, or that its changes got
 */
public record TxnResult(boolean succeeded, List<Optional<KeyValue>> gets, long revision) {}
