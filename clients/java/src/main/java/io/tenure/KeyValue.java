package io.tenure;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * A key with its value and metadata.
 *
 * @param key without the namespace
 * @param value its value; do not change it
 * @param flags a number that its writer chose
 * @param createRevision revision that created the key
 * @param modRevision revision that last changed it
 * @param version number of puts since the creation, from 1
 * @param lockIndex number of the last hold of the key's lock; 0 if it was never held
 * @param session the id of the session that holds the key's EXCLUSIVE lock
 * @param boundSession the id of the session whose end deletes the key
 */
public record KeyValue(
    String key,
    byte[] value,
    long flags,
    long createRevision,
    long modRevision,
    long version,
    long lockIndex,
    Optional<String> session,
    Optional<String> boundSession) {
  /** {@return the value as UTF-8 text} */
  public String text() {
    return new String(value, StandardCharsets.UTF_8);
  }

  @Override
  public String toString() {
    return "KeyValue[" + key + ", " + value.length + " bytes, modRevision " + modRevision + "]";
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof KeyValue k && key.equals(k.key) && Arrays.equals(value, k.value) && flags == k.flags
        && createRevision == k.createRevision && modRevision == k.modRevision && version == k.version
        && lockIndex == k.lockIndex && session.equals(k.session) && boundSession.equals(k.boundSession);
  }

  @Override
  public int hashCode() {
    return key.hashCode() * 31 + Long.hashCode(modRevision);
  }
}
