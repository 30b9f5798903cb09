package io.tenure.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.tenure.CatalogItem;
import io.tenure.CheckInfo;
import io.tenure.Held;
import io.tenure.KeyValue;
import io.tenure.Leader;
import io.tenure.NodeInfo;
import io.tenure.Query;
import io.tenure.ServiceInfo;
import io.tenure.Session;
import io.tenure.WatchEvent;
import java.time.Duration;
import java.util.Locale;

/** Writes the client's things as the protocol wants them. */
final class Json {
  private Json() {}

  static JsonObject of(Object... pairs) {
    JsonObject o = new JsonObject();
    for (int i = 0; i < pairs.length; i += 2) {
      o.add((String) pairs[i], element(pairs[i + 1]));
    }
    return o;
  }

  private static JsonElement element(Object v) {
    if (v == null) {
      return JsonNull.INSTANCE;
    }
    if (v instanceof JsonElement e) {
      return e;
    }
    if (v instanceof Number n) {
      return new JsonPrimitive(n);
    }
    return v instanceof Boolean b ? new JsonPrimitive(b) : new JsonPrimitive(v.toString());
  }

  static String lower(Enum<?> e) {
    return e.name().toLowerCase(Locale.ROOT);
  }

  static long millis(Duration d) {
    return d.compareTo(Duration.ofDays(365)) > 0 ? Long.MAX_VALUE / 2 : d.toMillis();
  }

  static JsonObject session(Session s) {
    return of("id", s.id(), "ttl_ms", s.ttl().toMillis(), "epoch", s.epoch());
  }

  static JsonObject held(Held h) {
    return of("key", h.key(), "token", h.token(), "lock_index", h.lockIndex(), "sequencer", h.sequencer().text());
  }

  static JsonObject kv(KeyValue kv) {
    return of("key", kv.key(), "value", kv.text(), "revision", kv.modRevision(), "create_revision",
        kv.createRevision(), "version", kv.version(), "lock_index", kv.lockIndex(), "flags", kv.flags(),
        "session", kv.session().orElse(""), "bound_session", kv.boundSession().orElse(""));
  }

  static JsonElement leader(Leader l) {
    return l == null ? JsonNull.INSTANCE
        : of("value", l.text(), "session", l.sequencer().sessionId(), "token", l.sequencer().fencingToken());
  }

  static JsonObject item(CatalogItem item) {
    if (item instanceof NodeInfo n) {
      return of("node", n.name(), "address", n.address());
    }
    if (item instanceof ServiceInfo s) {
      return of("service", s.name(), "id", s.id(), "node", s.node(), "port", s.port());
    }
    if (item instanceof CheckInfo c) {
      return of("check", c.id(), "node", c.node(), "status", lower(c.status()));
    }
    Query q = (Query) item;
    return of("query", q.name(), "id", q.id(), "session", q.sessionId());
  }

  static JsonObject event(WatchEvent e) {
    JsonObject o = of("type", lower(e.type()), "revision", e.revision(), "index", e.index());
    if (!e.key().isEmpty()) {
      o.addProperty("key", e.key());
    }
    e.keyValue().ifPresent(kv -> o.addProperty("value", kv.text()));
    e.session().ifPresent(s -> o.addProperty("session", s));
    e.item().ifPresent(item -> o.add("item", item(item)));
    e.previousStatus().ifPresent(s -> o.addProperty("previous_status", lower(s)));
    if (!e.cause().isEmpty()) {
      o.addProperty("cause", e.cause().toLowerCase(Locale.ROOT));
    }
    return o;
  }
}
