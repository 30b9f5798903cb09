package io.tenure;

import io.tenure.v1.Event;
import io.tenure.v1.WatchInitial;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads from messages what they tell of the catalog. */
final class CatalogItems {
  private CatalogItems() {}

  /** Returns what an event is about, if that is a part of the catalog. */
  static Optional<CatalogItem> of(Event e) {
    if (e.hasNode()) {
      return Optional.of(NodeInfo.of(e.getNode()));
    }
    if (e.hasService()) {
      return Optional.of(ServiceInfo.of(e.getService()));
    }
    if (e.hasCheck()) {
      return Optional.of(CheckInfo.of(e.getCheck()));
    }
    return e.hasQuery() ? Optional.of(Query.of(e.getQuery())) : Optional.empty();
  }

  /** Returns what a part of the current state has of the catalog. */
  static List<CatalogItem> of(WatchInitial part) {
    List<CatalogItem> all = new ArrayList<>();
    part.getNodesList().forEach(n -> all.add(NodeInfo.of(n)));
    part.getServicesList().forEach(s -> all.add(ServiceInfo.of(s)));
    part.getChecksList().forEach(c -> all.add(CheckInfo.of(c)));
    part.getQueriesList().forEach(q -> all.add(Query.of(q)));
    return all;
  }
}
