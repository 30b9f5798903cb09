package io.tenure;

import java.util.List;

/**
 * Where a prepared query looks if it has found nothing so far.
 *
 * @param service the name of the service; empty: that of the query
 * @param tags tags that replace those of the query, at most 64
 * @param zone the zone of the nodes; empty: any zone
 */
public record QueryFallback(String service, List<String> tags, String zone) {
  /**
   * Makes a fallback.
   *
   * @param service the name of the service; empty: that of the query
   * @param tags tags that replace those of the query, at most 64
   * @param zone the zone of the nodes; empty: any zone
   */
  public QueryFallback {
    tags = List.copyOf(tags);
  }

  /**
   * {@return a fallback to another service}
   *
   * @param service the name of the service
   */
  public static QueryFallback toService(String service) {
    return new QueryFallback(service, List.of(), "");
  }

  /**
   * {@return a fallback to the nodes of a zone}
   *
   * @param zone the zone
   */
  public static QueryFallback toZone(String zone) {
    return new QueryFallback("", List.of(), zone);
  }

  /**
   * {@return the same with tags that instances must have or, with "!" before them, must not have}
   *
   * @param all the tags, at most 64
   */
  public QueryFallback withTags(String... all) {
    return new QueryFallback(service, List.of(all), zone);
  }

  static QueryFallback of(io.tenure.v1.QueryFallback f) {
    return new QueryFallback(f.getService(), f.getTagsList(), f.getZone());
  }

  io.tenure.v1.QueryFallback message() {
    return io.tenure.v1.QueryFallback.newBuilder().setService(service).addAllTags(tags).setZone(zone).build();
  }
}
