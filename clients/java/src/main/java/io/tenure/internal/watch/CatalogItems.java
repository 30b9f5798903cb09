package io.tenure.internal.watch;

import io.tenure.CatalogItem;
import io.tenure.CheckInfo;
import io.tenure.NodeInfo;
import io.tenure.Query;
import io.tenure.ServiceInfo;
import io.tenure.internal.Hidden;
import io.tenure.internal.Wire;
import io.tenure.v1.Check;
import io.tenure.v1.Event;
import io.tenure.v1.Node;
import io.tenure.v1.Service;
import io.tenure.v1.WatchInitial;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads from messages what they tell of the catalog. */
public final class CatalogItems {
  /** The constructor of queries. */
  public static final Hidden<io.tenure.v1.Query, Query> QUERY = new Hidden<>(Query.class);

  private CatalogItems() {}

  /** Returns what an event is about, if that is a part of the catalog. */
  static Optional<CatalogItem> of(Event e) {
    if (e.hasNode()) {
      return Optional.of(node(e.getNode()));
    }
    if (e.hasService()) {
      return Optional.of(service(e.getService()));
    }
    if (e.hasCheck()) {
      return Optional.of(check(e.getCheck()));
    }
    return e.hasQuery() ? Optional.of(QUERY.make(e.getQuery())) : Optional.empty();
  }

  /** Returns what a part of the current state has of the catalog. */
  static List<CatalogItem> of(WatchInitial part) {
    List<CatalogItem> all = new ArrayList<>();
    part.getNodesList().forEach(n -> all.add(node(n)));
    part.getServicesList().forEach(s -> all.add(service(s)));
    part.getChecksList().forEach(c -> all.add(check(c)));
    part.getQueriesList().forEach(q -> all.add(QUERY.make(q)));
    return all;
  }

  private static NodeInfo node(Node n) {
    return new NodeInfo(n.getName(), n.getNodeId(), n.getAddress(), n.getZone(), Map.copyOf(n.getMetaMap()),
        n.getCreateRevision(), n.getModRevision());
  }

  private static ServiceInfo service(Service s) {
    return new ServiceInfo(s.getName(), s.getServiceId(), s.getNode(), s.getAddress(), s.getPort(), List.copyOf(s.getTagsList()),
        Map.copyOf(s.getMetaMap()), s.getCreateRevision(), s.getModRevision());
  }

  private static CheckInfo check(Check c) {
    return new CheckInfo(c.getCheckId(), c.getName(), c.getNode(), c.getServiceId(), c.getServiceName(),
        Wire.status(c.getStatus()), c.getOutput(), c.getCreateRevision(), c.getModRevision());
  }
}
