package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The arguments of one request. An argument that no operation asked for is an error. */
final class Args {
  private final JsonObject o;
  private final Set<String> left;

  Args(JsonObject o) {
    this.o = o == null ? new JsonObject() : o;
    this.left = new HashSet<>(this.o.keySet());
  }

  void finish(String op) {
    if (!left.isEmpty()) {
      throw new IllegalArgumentException(op + " has no argument " + left);
    }
  }

  Optional<JsonElement> raw(String name) {
    left.remove(name);
    JsonElement e = o.get(name);
    return e == null || e.isJsonNull() ? Optional.empty() : Optional.of(e);
  }

  String text(String name) {
    return maybe(name).orElseThrow(() -> new IllegalArgumentException("argument " + name + " is missing"));
  }

  Optional<String> maybe(String name) {
    return raw(name).map(JsonElement::getAsString);
  }

  byte[] bytes(String name) {
    return maybe(name).orElse("").getBytes(StandardCharsets.UTF_8);
  }

  Optional<Long> number(String name) {
    return raw(name).map(JsonElement::getAsLong);
  }

  boolean flag(String name) {
    return raw(name).map(JsonElement::getAsBoolean).orElse(false);
  }

  Optional<Duration> duration(String name) {
    return number(name).map(Duration::ofMillis);
  }

  List<String> list(String name) {
    List<String> all = new ArrayList<>();
    raw(name).ifPresent(e -> e.getAsJsonArray().forEach(x -> all.add(x.getAsString())));
    return all;
  }

  List<JsonObject> objects(String name) {
    List<JsonObject> all = new ArrayList<>();
    raw(name).map(JsonElement::getAsJsonArray).orElse(new JsonArray()).forEach(x -> all.add(x.getAsJsonObject()));
    return all;
  }
}
