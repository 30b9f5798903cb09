package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.tenure.Client;
import io.tenure.ExecuteOptions;
import io.tenure.Instance;
import io.tenure.Queries;
import io.tenure.Query;
import io.tenure.QueryFallback;
import io.tenure.QueryResult;
import io.tenure.Session;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What an agent can be told to do with prepared queries. */
final class QueryOperations {
  private final Things things;

  QueryOperations(Things things) {
    this.things = things;
  }

  private Queries queriesOf(Request r) {
    Queries queries = things.get(r.on()) instanceof Session s ? s.queries() : things.on(r, Client.class).queries();
    Optional<String> guard = r.args().maybe("guard");
    return guard.isPresent() ? queries.guardedBy(things.held(guard.get())) : queries;
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    Queries queries = queriesOf(r);
    switch (r.op()) {
      case "query.create": {
        Query q = query(a);
        a.finish(r.op());
        return Things.reply(queries.createAsync(q), id -> Json.of("id", id));
      }
      case "query.update": {
        String id = a.text("id");
        Query q = query(a);
        Optional<Long> revision = a.number("if_revision");
        a.finish(r.op());
        return Things.reply(revision.isPresent() ? queries.updateIfAsync(id, q, revision.get()) : queries.updateAsync(id, q),
            n -> Json.of("revision", n));
      }
      case "query.get":
        return Things.reply(queries.getAsync(a.text("name")), QueryOperations::value);
      case "query.list":
        return Things.reply(queries.listAsync(a.text("prefix")), all -> {
          JsonArray list = new JsonArray();
          all.forEach(q -> list.add(value(q)));
          return Json.of("queries", list);
        });
      case "query.delete":
        return Things.reply(queries.deleteAsync(a.text("id")), deleted -> Json.of("deleted", deleted));
      case "query.execute": {
        String name = a.text("name");
        ExecuteOptions o = ExecuteOptions.defaults().withNear(a.maybe("near").orElse(""))
            .withCallerNode(a.maybe("caller_node").orElse("")).withLimit(a.number("limit").orElse(0L).intValue());
        o = o.minRevision(a.number("min_revision").orElse(0L));
        o = a.flag("passing") ? o.onlyPassing() : o;
        o = a.flag("stale") ? o.stale() : o;
        a.finish(r.op());
        return Things.reply(queries.executeAsync(name, o), QueryOperations::value);
      }
      case "query.explain":
        return Things.reply(queries.explainAsync(a.text("name")), QueryOperations::value);
      default:
        throw r.unknown();
    }
  }

  private static Query query(Args a) {
    Query q = Query.named(a.maybe("name").orElse(""), a.maybe("service").orElse(""))
        .withTags(a.list("tags").toArray(String[]::new)).withOnlyPassing(a.flag("passing")).withNear(a.maybe("near").orElse(""))
        .withRegexp(a.maybe("regexp").orElse("")).withMeta(map(a.raw("metadata")));
    List<QueryFallback> fallbacks = new ArrayList<>();
    for (JsonObject f : a.objects("fallbacks")) {
      List<String> tags = new ArrayList<>();
      if (f.has("tags")) {
        f.getAsJsonArray("tags").forEach(t -> tags.add(t.getAsString()));
      }
      fallbacks.add(new QueryFallback(text(f, "service"), tags, text(f, "zone")));
    }
    q = q.withFallbacks(fallbacks.toArray(QueryFallback[]::new));
    return a.flag("by_prefix") ? q.byPrefix() : q;
  }

  private static String text(JsonObject o, String name) {
    return o.has(name) ? o.get(name).getAsString() : "";
  }

  private static Map<String, String> map(Optional<JsonElement> o) {
    Map<String, String> all = new HashMap<>();
    o.ifPresent(e -> e.getAsJsonObject().entrySet().forEach(x -> all.put(x.getKey(), x.getValue().getAsString())));
    return all;
  }

  private static JsonArray texts(List<String> all) {
    JsonArray list = new JsonArray();
    all.forEach(list::add);
    return list;
  }

  private static JsonObject texts(Map<String, String> all) {
    JsonObject o = new JsonObject();
    all.forEach(o::addProperty);
    return o;
  }

  private static JsonObject value(Query q) {
    JsonArray fallbacks = new JsonArray();
    q.fallbacks().forEach(f -> fallbacks.add(Json.of("service", f.service(), "tags", texts(f.tags()), "zone", f.zone())));
    return Json.of("id", q.id(), "name", q.name(), "session", q.sessionId(), "by_prefix", q.isByPrefix(), "regexp", q.regexp(),
        "service", q.service(), "tags", texts(q.tags()), "passing", q.onlyPassing(), "near", q.near(), "metadata", texts(q.meta()),
        "fallbacks", fallbacks, "revision", q.modRevision());
  }

  private static JsonObject value(QueryResult found) {
    JsonArray instances = new JsonArray();
    for (Instance i : found.instances()) {
      instances.add(Json.of("id", i.id(), "node", i.node(), "status", i.status().name().toLowerCase(Locale.ROOT)));
    }
    return Json.of("id", found.queryId(), "service", found.service(), "fallback", found.fallback(), "metadata", texts(found.meta()),
        "instances", instances);
  }
}
