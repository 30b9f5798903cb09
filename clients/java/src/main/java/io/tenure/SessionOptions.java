package io.tenure;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Options of a session. Defaults come from the connection string, and then from the cluster. Immutable. */
public final class SessionOptions {
  private final Duration ttl;
  private final Duration lockDelay;
  private final boolean deleteKeys;
  private final String name;
  private final Map<String, String> metadata;

  private SessionOptions(
      Duration ttl, Duration lockDelay, boolean deleteKeys, String name, Map<String, String> metadata) {
    this.ttl = ttl;
    this.lockDelay = lockDelay;
    this.deleteKeys = deleteKeys;
    this.name = name;
    this.metadata = metadata;
  }

  /** {@return options with nothing set} */
  public static SessionOptions defaults() {
    return new SessionOptions(null, null, false, null, Map.of());
  }

  /**
   * Sets the TTL: how long the session survives without a renewal. The default is 15 s, and the cluster grants 2 s to 24 h. With zero
   * the session lives until it is closed or destroyed.
   *
   * @param ttl the TTL; null for the default
   * @return new options
   */
  public SessionOptions withTtl(Duration ttl) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata);
  }

  /**
   * Sets the lock-delay: how long the session's locks stay locked for other sessions after it lost them by force, such as an expiry.
   * The default is 15 s.
   *
   * @param lockDelay 0 to 60 s; null for the default
   * @return new options
   */
  public SessionOptions withLockDelay(Duration lockDelay) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata);
  }

  /**
   * Deletes the keys of the session's locks when it ends. By default they remain.
   *
   * @return new options
   */
  public SessionOptions deletingKeys() {
    return new SessionOptions(ttl, lockDelay, true, name, metadata);
  }

  /**
   * Sets the name by which operators find the session. The default is the name of the program.
   *
   * @param name the name, at most 256 bytes; null for the default
   * @return new options
   */
  public SessionOptions withName(String name) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata);
  }

  /**
   * Adds metadata that operators see. Host, process, program, user and language are added automatically.
   *
   * @param key the name of the entry
   * @param value its text
   * @return new options
   */
  public SessionOptions withMetadata(String key, String value) {
    Map<String, String> more = new LinkedHashMap<>(metadata);
    more.put(key, value);
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, Map.copyOf(more));
  }

  Optional<Duration> ttl() {
    return Optional.ofNullable(ttl);
  }

  Optional<Duration> lockDelay() {
    return Optional.ofNullable(lockDelay);
  }

  boolean deleteKeys() {
    return deleteKeys;
  }

  Optional<String> name() {
    return Optional.ofNullable(name);
  }

  Map<String, String> metadata() {
    return metadata;
  }
}
