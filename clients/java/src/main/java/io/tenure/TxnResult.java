package io.tenure;

import java.util.List;
import java.util.Optional;

/**
 * What a transaction did.
 *
 * @param succeeded whether the conditions held, so that the first list ran
 * @param gets one for each get that ran, in order; empty for a key that does not exist
 * @param revision the revision it shows, or made
 */
public record TxnResult(boolean succeeded, List<Optional<KeyValue>> gets, long revision) {}
