package io.tenure;

import io.tenure.internal.session.SessionPlan;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Options of a session. Defaults come from the connection string, and then from the cluster. Immutable. */
public final class SessionOptions {
  private final Duration ttl;
  private final Duration lockDelay;
  private final boolean deleteKeys;
  private final String name;
  private final Map<String, String> metadata;
  private final SessionPlan.Bound bound;

  private SessionOptions(
      Duration ttl, Duration lockDelay, boolean deleteKeys, String name, Map<String, String> metadata, SessionPlan.Bound bound) {
    this.ttl = ttl;
    this.lockDelay = lockDelay;
    this.deleteKeys = deleteKeys;
    this.name = name;
    this.metadata = metadata;
    this.bound = bound;
  }

  /** {@return options with nothing set} */
  public static SessionOptions defaults() {
    return new SessionOptions(null, null, false, null, Map.of(), SessionPlan.Bound.NOTHING);
  }

  /**
   * Sets the TTL: how long the session survives without a renewal. The default is 15 s, and the cluster grants 2 s to 24 h. With zero
   * the session lives until it is closed or destroyed.
   *
   * @param ttl the TTL; null for the default
   * @return new options
   */
  public SessionOptions withTtl(Duration ttl) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata, bound);
  }

  /**
   * Sets the lock-delay: how long the session's locks stay locked for other sessions after it lost them by force, such as an expiry.
   * The default is 15 s.
   *
   * @param lockDelay 0 to 60 s; null for the default
   * @return new options
   */
  public SessionOptions withLockDelay(Duration lockDelay) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata, bound);
  }

  /**
   * Deletes the keys of the session's locks when it ends. By default they remain.
   *
   * @return new options
   */
  public SessionOptions deletingKeys() {
    return new SessionOptions(ttl, lockDelay, true, name, metadata, bound);
  }

  /**
   * Sets the name by which operators find the session. The default is the name of the program.
   *
   * @param name the name, at most 256 bytes; null for the default
   * @return new options
   */
  public SessionOptions withName(String name) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata, bound);
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
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, Map.copyOf(more), bound);
  }

  /**
   * Binds the session to a node of the catalog: it ends when the node is deregistered. By default it is bound to none.
   *
   * @param node the name of the node
   * @return new options
   */
  public SessionOptions withNode(String node) {
    return bound(new SessionPlan.Bound(Objects.requireNonNull(node, "node"), bound.checks(), bound.defaultCheck()));
  }

  /**
   * Binds the session to checks of its node, at most 16: it ends when one of them turns critical or is deregistered. Needs {@link
   * #withNode}. Each check must exist, or opening fails as CHECK_NOT_FOUND or NODE_NOT_FOUND, and not be critical, or it fails as
   * CHECK_CRITICAL. By default no check ends the session.
   *
   * @param ids the ids of the checks
   * @return new options
   */
  public SessionOptions withChecks(String... ids) {
    return bound(new SessionPlan.Bound(bound.node(), List.of(ids), false));
  }

  /**
   * Binds the session to the check {@code liveness} of its node, which turns critical when the machine dies. Without such a check it is
   * bound to the node alone. This replaces {@link #withChecks}.
   *
   * @return new options
   */
  public SessionOptions withDefaultCheck() {
    return bound(new SessionPlan.Bound(bound.node(), List.of(), true));
  }

  private SessionOptions bound(SessionPlan.Bound to) {
    return new SessionOptions(ttl, lockDelay, deleteKeys, name, metadata, to);
  }

  SessionPlan plan() {
    return new SessionPlan(
        Optional.ofNullable(ttl), Optional.ofNullable(lockDelay), deleteKeys, Optional.ofNullable(name), metadata, bound);
  }
}
