package io.tenure;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** What a session should be like. Unset parts are the connection string's, then the cluster's. Immutable. */
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
   * Asks for a TTL. Zero: the session lives until it is closed. The cluster clamps others to 2 s (or more) and 24 h.
   *
   * @param ttl the TTL
   * @return new options
   */
  public SessionOptions withTtl(Duration ttl) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata);
  }

  /**
   * Asks for a lock-delay of 0 to 60 s: how long a lock lost by force still counts against everyone.
   *
   * @param lockDelay 0 to 60 s
   * @return new options
   */
  public SessionOptions withLockDelay(Duration lockDelay) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata);
  }

  /**
   * Has the keys of the session's locks deleted when it ends; they stay otherwise.
   *
   * @return new options
   */
  public SessionOptions deletingKeys() {
    return new SessionOptions(ttl, lockDelay, true, name, metadata);
  }

  /**
   * Names the session for people, at most 256 bytes. Otherwise it is the program's name.
   *
   * @param name the name
   * @return new options
   */
  public SessionOptions withName(String name) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata);
  }

  /**
   * Adds a fact for people. Host, process, program, user and language are added by themselves.
   *
   * @param key what the fact is called
   * @param value the fact
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
