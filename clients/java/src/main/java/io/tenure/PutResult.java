package io.tenure;

/**
 * The result of a put.
 *
 * @param key the key, with the digits of a sequential one, without the namespace
 * @param revision the revision of the write, for a later {@link PutOptions#ifRevision}
 */
public record PutResult(String key, long revision) {}
