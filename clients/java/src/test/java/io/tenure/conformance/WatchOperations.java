package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tenure.Cache;
import io.tenure.Client;
import io.tenure.KeyValue;
import io.tenure.TenureException;
import io.tenure.Watch;
import io.tenure.WatchEvent;
import io.tenure.WatchMessage;
import io.tenure.WatchOptions;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What an agent can be told to do with watches and caches. */
final class WatchOperations {
  private final Things things;

  WatchOperations(Things things) {
    this.things = things;
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    switch (r.op()) {
      case "watch.open": {
        Watch w = things.on(r, Client.class).watch(watchOptions(a));
        a.finish(r.op());
        things.put(r.as(), w);
        return Things.reply(w.beginAsync(), v -> {
          Thread t = new Thread(() -> follow(r.as(), w), "agent-watch");
          t.setDaemon(true);
          t.start();
          return new JsonObject();
        });
      }
      case "watch.close", "x.close": {
        Object o = things.get(r.on());
        return things.block(() -> {
          ((AutoCloseable) o).close();
          return new JsonObject();
        });
      }
      case "cache.open": {
        Cache c = things.on(r, Client.class).cache(a.maybe("prefix").orElse(""));
        a.duration("wait_ms");
        a.finish(r.op());
        things.put(r.as(), c);
        return Things.reply(c.beginAsync(), v -> new JsonObject());
      }
      case "cache.get": {
        Cache c = things.on(r, Cache.class);
        Optional<KeyValue> kv = c.get(a.text("key"));
        a.finish(r.op());
        JsonObject o = Json.of("found", kv.isPresent(), "stale_ms", Math.max(1, c.staleFor().toMillis()));
        kv.ifPresent(k -> {
          o.addProperty("value", k.text());
          o.addProperty("revision", k.modRevision());
        });
        return Things.done(o);
      }
      case "cache.keys": {
        JsonArray keys = new JsonArray();
        things.on(r, Cache.class).all().keySet().forEach(keys::add);
        return Things.done(Json.of("keys", keys));
      }
      default:
        throw r.unknown();
    }
  }

  private static WatchOptions watchOptions(Args a) {
    WatchOptions o = WatchOptions.all();
    for (String k : a.list("keys")) {
      o = o.andKey(k);
    }
    for (String p : a.list("prefixes")) {
      o = o.andPrefix(p);
    }
    for (String k : a.list("locks")) {
      o = o.andLock(k);
    }
    for (String id : a.list("session_ids")) {
      o = o.andSession(id);
    }
    for (String name : a.list("nodes")) {
      o = o.andNode(name);
    }
    for (String name : a.list("services")) {
      o = o.andService(name);
    }
    o = a.flag("all_queries") ? o.andEveryQuery() : o;
    o = a.flag("all_sessions") ? o.andEverySession() : o;
    if (a.flag("initial")) {
      o = o.withInitial();
    }
    Optional<Long> after = a.number("after_revision");
    if (after.isPresent()) {
      o = o.after(after.get());
    }
    Optional<String> token = a.maybe("resume_token");
    return token.isPresent() ? o.resume(token.get()) : o;
  }

  private void follow(String as, Watch w) {
    String kind = "";
    try {
      for (WatchMessage m : w) {
        if (m instanceof WatchMessage.Initial i) {
          JsonArray kvs = new JsonArray();
          i.keys().forEach(kv -> kvs.add(Json.kv(kv)));
          JsonArray items = new JsonArray();
          i.items().forEach(item -> items.add(Json.item(item)));
          things.event("watch.initial", as, Json.of("kvs", kvs, "items", items, "revision", i.revision()));
        } else if (m instanceof WatchMessage.Events e) {
          for (WatchEvent one : e.events()) {
            things.event("watch.event", as, Json.event(one));
          }
          things.event("watch.token", as, Json.of("resume_token", e.resumeToken()));
        }
      }
    } catch (TenureException e) {
      kind = e.kind().name().equals("CLIENT_CLOSED") ? "" : Json.lower(e.kind());
    }
    things.event("watch.ended", as, Json.of("kind", kind));
  }
}
