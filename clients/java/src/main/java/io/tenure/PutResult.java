package io.tenure;

/**
 * What was written.
 *
 * @param key the final key, without the namespace
 * @param revision the revision of the write; for a later {@code ifRevision}
 */
public record PutResult(String key, long revision) {}
