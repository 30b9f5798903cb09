package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tenure.Agent;
import io.tenure.CheckStatus;
import io.tenure.Client;
import io.tenure.Health;
import io.tenure.Instance;
import io.tenure.Registration;
import io.tenure.ServiceList;
import io.tenure.ServiceOptions;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What an agent can be told to do with services and checks. */
final class CatalogOperations {
  private final Things things;

  CatalogOperations(Things things) {
    this.things = things;
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    switch (r.op()) {
      case "machine.open": {
        Agent machine = Agent.open(a.text("address"));
        a.finish(r.op());
        things.put(r.as(), machine);
        return Things.done(new JsonObject());
      }
      case "machine.close": {
        Agent machine = things.on(r, Agent.class);
        return things.block(() -> {
          machine.close();
          return new JsonObject();
        });
      }
      case "service.register": {
        ServiceOptions o = options(a);
        a.duration("wait_ms");
        a.finish(r.op());
        CompletableFuture<Registration> registered = things.get(r.on()) instanceof Agent machine
            ? machine.registerAsync(o) : things.on(r, Client.class).registerAsync(o);
        return Things.reply(registered, s -> {
          things.put(r.as(), s);
          return Json.of("id", s.id(), "node", s.node(), "check", s.checkId());
        });
      }
      case "service.set": {
        CheckStatus status = CheckStatus.valueOf(a.text("status").toUpperCase(Locale.ROOT));
        Health h = new Health(status, a.maybe("output").orElse(""));
        a.finish(r.op());
        return Things.reply(things.on(r, Registration.class).setAsync(h), v -> new JsonObject());
      }
      case "service.close":
        return Things.reply(things.on(r, Registration.class).closeAsync(), v -> new JsonObject());
      case "services.open": {
        ServiceList l = things.on(r, Client.class).serviceList(a.list("services").toArray(String[]::new));
        a.duration("wait_ms");
        a.finish(r.op());
        l.onChange(all -> changed(r.as(), all)); // The first is told when it is filled.
        return Things.reply(l.beginAsync(), v -> {
          things.put(r.as(), l);
          return new JsonObject();
        });
      }
      case "services.get": {
        JsonArray instances = new JsonArray();
        for (Instance i : things.on(r, ServiceList.class).instances(a.text("name"))) {
          instances.add(Json.of("id", i.id(), "node", i.node(), "address", i.address(), "port", i.port()));
        }
        return Things.done(Json.of("instances", instances));
      }
      default:
        throw r.unknown();
    }
  }

  private static ServiceOptions options(Args a) {
    ServiceOptions o = ServiceOptions.named(a.text("name")).withPort(a.number("port").orElse(0L).intValue());
    Optional<String> id = a.maybe("id");
    if (id.isPresent()) {
      o = o.withId(id.get());
    }
    Optional<String> node = a.maybe("node");
    if (node.isPresent()) {
      o = o.withNode(node.get());
    }
    var ttl = a.duration("ttl_ms");
    return ttl.isPresent() ? o.withTtl(ttl.get()) : o;
  }

  private void changed(String as, Map<String, List<Instance>> all) {
    JsonObject shown = new JsonObject();
    all.forEach((name, instances) -> {
      JsonArray ids = new JsonArray();
      instances.forEach(i -> ids.add(i.node() + "/" + i.id()));
      shown.add(name, ids);
    });
    things.event("services.changed", as, shown);
  }
}
