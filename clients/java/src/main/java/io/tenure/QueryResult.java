package io.tenure;

import io.tenure.v1.ExecuteQueryResponse;
import java.util.List;
import java.util.Map;

/**
 * What a prepared query found.
 *
 * @param queryId the id of the query
 * @param service the service in which the instances were found, or else the last one that was looked at
 * @param fallback the number of the fallback that found them, or of the last one that was tried; 0: the query itself
 * @param instances the instances, in random order or, with a near node, in random order within each distance
 * @param meta facts about the query
 */
public record QueryResult(String queryId, String service, int fallback, List<Instance> instances, Map<String, String> meta) {
  static QueryResult of(ExecuteQueryResponse r) {
    return new QueryResult(r.getQueryId(), r.getService(), r.getFallback(),
        r.getInstancesList().stream().map(Instance::of).toList(), Map.copyOf(r.getMetaMap()));
  }
}
