package io.tenure.internal.catalog;

import io.tenure.Health;
import io.tenure.ServiceOptions;
import io.tenure.internal.Wire;
import io.tenure.v1.Check;
import io.tenure.v1.CheckDefinition;
import io.tenure.v1.Service;
import io.tenure.v1.TtlCheck;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** What is to be registered; see {@link ServiceOptions}. */
public record ServicePlan(String name, Place place, List<String> tags, Map<String, String> meta, Checked checked) {
  /** Where it is. */
  public record Place(String id, String node, String address, int port) {}

  /** How its check is kept. An empty id stands for the default, and a null function for what the program sets. */
  public record Checked(Duration ttl, String id, Supplier<Health> health) {}

  String id() {
    return place.id;
  }

  String node() {
    return place.node;
  }

  Duration ttl() {
    return checked.ttl;
  }

  String checkId() {
    return checked.id.isEmpty() ? "service:" + place.id : checked.id;
  }

  Supplier<Health> health() {
    return checked.health;
  }

  /** Returns the instance as the API has it. */
  Service service() {
    return Service.newBuilder().setServiceId(place.id).setName(name).setAddress(place.address).setPort(place.port)
        .addAllTags(tags).putAllMeta(meta).build();
  }

  /** Returns its check as the API has it. */
  Check check(Health h) {
    return Check.newBuilder().setCheckId(checkId()).setName("Service " + name).setServiceId(place.id)
        .setStatus(Wire.status(h.status())).setOutput(h.output()).setKind("ttl").setDefinition(CheckDefinition.newBuilder()
            .setTtl(TtlCheck.newBuilder().setTtl(Wire.duration(checked.ttl)))).build();
  }
}
