package io.tenure.internal.session;

import io.tenure.SessionOptions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a session is to be; see {@link SessionOptions}. */
public record SessionPlan(Optional<Duration> ttl, Optional<Duration> lockDelay, boolean deleteKeys, Optional<String> name,
    Map<String, String> metadata, Bound bound) {
  /** What of the catalog it is bound to. */
  public record Bound(String node, List<String> checks, boolean defaultCheck) {
    public static final Bound NOTHING = new Bound("", List.of(), false);
  }
}
