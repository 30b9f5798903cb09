package io.tenure.internal.watch;

import io.tenure.WatchOptions;
import io.tenure.internal.Namespace;
import io.tenure.v1.WatchRequest;
import java.time.Duration;
import java.util.function.BiFunction;

/**
 * What is watched; see {@link WatchOptions}.
 *
 * @param wantsInitial whether the current state comes first
 * @param silenceMax after how long a member that says nothing is left
 * @param requests returns the request, from the beginning or, by the token of a broken stream, from where that stopped
 */
public record WatchPlan(boolean wantsInitial, Duration silenceMax, BiFunction<Namespace, String, WatchRequest> requests) {
  WatchRequest request(Namespace ns, String token) {
    return requests.apply(ns, token);
  }
}
