package io.tenure;

import io.tenure.internal.Exceptions;
import io.tenure.internal.Wire;
import io.tenure.internal.catalog.ServicePlan;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;

/** An instance of a service that a program registers: see {@link Agent#register} and {@link Client#register}. Immutable. */
public final class ServiceOptions {
  private static final Duration TTL = Duration.ofSeconds(15);
  private static final Duration TTL_MIN = Duration.ofSeconds(1);
  private static final int PORT_MAX = 65_535;

  private final String name;
  private final ServicePlan.Place place;
  private final List<String> tags;
  private final Map<String, String> meta;
  private final ServicePlan.Checked checked;

  private ServiceOptions(String name, ServicePlan.Place place, List<String> tags, Map<String, String> meta, ServicePlan.Checked checked) {
    this.name = name;
    this.place = place;
    this.tags = tags;
    this.meta = meta;
    this.checked = checked;
  }

  /**
   * {@return an instance of a service, with nothing else set}
   *
   * @param name the name of the service, the same for all its instances
   * @throws TenureException of kind INVALID_ARGUMENT if the name is empty
   */
  public static ServiceOptions named(String name) {
    if (name.isEmpty()) {
      throw invalid("the service has no name");
    }
    return new ServiceOptions(name, new ServicePlan.Place(name, "", "", 0), List.of(), Map.of(), new ServicePlan.Checked(TTL, "", null));
  }

  private static TenureException invalid(String text) {
    return Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, text);
  }

  private ServiceOptions at(ServicePlan.Place p) {
    return new ServiceOptions(name, p, tags, meta, checked);
  }

  private ServiceOptions checked(ServicePlan.Checked c) {
    return new ServiceOptions(name, place, tags, meta, c);
  }

  /**
   * Sets its id, unique on the node. The default is the name.
   *
   * @param id the id
   * @return new options
   */
  public ServiceOptions withId(String id) {
    return at(new ServicePlan.Place(Objects.requireNonNull(id, "id"), place.node(), place.address(), place.port()));
  }

  /**
   * Sets the name of the node on which {@link Client#register} registers it. At an agent it is the agent's node.
   *
   * @param node the name of the node
   * @return new options
   */
  public ServiceOptions withNode(String node) {
    return at(new ServicePlan.Place(place.id(), Objects.requireNonNull(node, "node"), place.address(), place.port()));
  }

  /**
   * Sets the address at which it is reached. The default is that of the node.
   *
   * @param address a host name or an IP address
   * @return new options
   */
  public ServiceOptions withAddress(String address) {
    return at(new ServicePlan.Place(place.id(), place.node(), Objects.requireNonNull(address, "address"), place.port()));
  }

  /**
   * Sets its port.
   *
   * @param port 0 to 65 535; 0: none
   * @return new options
   * @throws TenureException of kind INVALID_ARGUMENT if there is no such port
   */
  public ServiceOptions withPort(int port) {
    if (port < 0 || port > PORT_MAX) {
      throw invalid("the port " + port + " is not one of 0 to " + PORT_MAX);
    }
    return at(new ServicePlan.Place(place.id(), place.node(), place.address(), port));
  }

  /**
   * Sets its tags.
   *
   * @param all at most 64 tags, each once
   * @return new options
   */
  public ServiceOptions withTags(String... all) {
    return new ServiceOptions(name, place, List.of(all), meta, checked);
  }

  /**
   * Adds a fact about it, at most 64.
   *
   * @param key the name of the fact
   * @param value its text
   * @return new options
   */
  public ServiceOptions withMeta(String key, String value) {
    Map<String, String> more = new LinkedHashMap<>(meta);
    more.put(key, value);
    return new ServiceOptions(name, place, tags, Map.copyOf(more), checked);
  }

  /**
   * Sets how long its check stays as it is without a report. The library reports three times as often. The default is 15 s.
   *
   * @param ttl at least 1 s
   * @return new options
   * @throws TenureException of kind INVALID_ARGUMENT if it is shorter
   */
  public ServiceOptions withTtl(Duration ttl) {
    if (ttl.compareTo(TTL_MIN) < 0) {
      throw invalid("the TTL of a check is " + Wire.text(ttl) + "; at least " + Wire.text(TTL_MIN) + " is needed");
    }
    return checked(new ServicePlan.Checked(ttl, checked.id(), checked.health()));
  }

  /**
   * Sets the id of its check. The default is {@code service:} and the id.
   *
   * @param id the id of the check
   * @return new options
   */
  public ServiceOptions withCheckId(String id) {
    return checked(new ServicePlan.Checked(checked.ttl(), Objects.requireNonNull(id, "id"), checked.health()));
  }

  /**
   * Sets a function that says how the instance is. It is called before each report, on a thread of the library's pool, and not twice at
   * the same time. If it takes longer than the TTL, the check is critical until it returns, and if it throws an exception, until it
   * does not.
   *
   * @param health says how the instance is
   * @return new options
   */
  public ServiceOptions withHealth(Supplier<Health> health) {
    return checked(new ServicePlan.Checked(checked.ttl(), checked.id(), Objects.requireNonNull(health, "health")));
  }

  ServicePlan plan() {
    return new ServicePlan(name, place, tags, meta, checked);
  }
}
