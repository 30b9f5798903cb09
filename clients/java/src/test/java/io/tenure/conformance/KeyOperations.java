package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import io.tenure.Client;
import io.tenure.KV;
import io.tenure.KeyValue;
import io.tenure.PutOptions;
import io.tenure.Session;
import io.tenure.TenureException;
import io.tenure.Txn;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What an agent can be told to do with keys. */
final class KeyOperations {
  private final Things things;

  KeyOperations(Things things) {
    this.things = things;
  }

  private KV kvOf(Request r) {
    return things.get(r.on()) instanceof Session s ? s.kv() : things.on(r, Client.class).kv();
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    KV kv = kvOf(r);
    switch (r.op()) {
      case "kv.get": {
        String key = a.text("key");
        a.finish(r.op());
        return Things.reply(kv.getAsync(key), Json::kv);
      }
      case "kv.put": {
        PutOptions o = putOptions(a);
        String key = a.text("key");
        byte[] value = a.bytes("value");
        a.finish(r.op());
        return Things.reply(kv.putAsync(key, value, o), p -> Json.of("key", p.key(), "revision", p.revision()));
      }
      case "kv.delete": {
        String key = a.text("key");
        Optional<Long> revision = a.number("if_revision");
        Optional<String> guard = a.maybe("guard");
        a.finish(r.op());
        return things.block(() -> Json.of("deleted", revision.isPresent() ? kv.deleteIf(key, revision.get())
            : guard.isPresent() ? kv.delete(key, things.held(guard.get())) : kv.delete(key)));
      }
      case "kv.list": {
        String prefix = a.maybe("prefix").orElse("");
        a.finish(r.op());
        return Things.reply(kv.listAsync(prefix), all -> {
          JsonArray kvs = new JsonArray();
          all.forEach(k -> kvs.add(Json.kv(k)));
          return Json.of("kvs", kvs);
        });
      }
      case "kv.delete_prefix": {
        String prefix = a.maybe("prefix").orElse("");
        a.finish(r.op());
        return Things.reply(kv.deletePrefixAsync(prefix), n -> Json.of("deleted", n));
      }
      case "kv.txn":
        return txn(kv, r);
      case "kv.loop": {
        String key = a.text("key");
        long count = a.number("count").orElse(1L);
        a.finish(r.op());
        return things.block(() -> {
          for (long i = 0; i < count; i++) {
            addOne(kv, key);
          }
          return Json.of("done", count);
        });
      }
      default:
        throw r.unknown();
    }
  }

  private static void addOne(KV kv, String key) {
    while (true) {
      Optional<KeyValue> now = kv.find(key);
      long number = now.map(k -> Long.parseLong(k.text())).orElse(0L) + 1;
      try {
        kv.put(key, Long.toString(number).getBytes(StandardCharsets.UTF_8),
            PutOptions.defaults().ifRevision(now.map(KeyValue::modRevision).orElse(0L)));
        return;
      } catch (TenureException.CompareFailed e) {
        // Another one added meanwhile.
        continue;
      }
    }
  }

  private PutOptions putOptions(Args a) {
    PutOptions o = PutOptions.defaults().withFlags(a.number("flags").orElse(0L));
    Optional<Long> revision = a.number("if_revision");
    if (revision.isPresent()) {
      o = o.ifRevision(revision.get());
    }
    if (a.flag("bind")) {
      o = o.ephemeral();
    }
    if (a.flag("sequential")) {
      o = o.sequential();
    }
    Optional<String> guard = a.maybe("guard");
    return guard.isPresent() ? o.guardedBy(things.held(guard.get())) : o;
  }

  private CompletableFuture<JsonObject> txn(KV kv, Request r) {
    Txn t = kv.txn();
    for (JsonObject c : r.args().objects("compares")) {
      String key = c.get("key").getAsString();
      if (c.has("revision")) {
        t.ifRevision(key, c.get("revision").getAsLong());
      }
      if (c.has("version")) {
        t.ifVersion(key, c.get("version").getAsLong());
      }
      if (c.has("value")) {
        t.ifValue(key, c.get("value").getAsString().getBytes(StandardCharsets.UTF_8));
      }
    }
    r.args().objects("then").forEach(o -> operation(t, o));
    t.otherwise();
    r.args().objects("otherwise").forEach(o -> operation(t, o));
    r.args().maybe("guard").ifPresent(g -> t.guardedBy(things.held(g)));
    r.args().finish(r.op());
    return Things.reply(kv.commitAsync(t), result -> {
      JsonArray gets = new JsonArray();
      for (Optional<KeyValue> g : result.gets()) {
        gets.add(g.isPresent() ? Json.of("key", g.get().key(), "value", g.get().text()) : JsonNull.INSTANCE);
      }
      return Json.of("succeeded", result.succeeded(), "gets", gets);
    });
  }

  private static void operation(Txn t, JsonObject o) {
    if (o.has("put")) {
      JsonObject p = o.getAsJsonObject("put");
      t.put(p.get("key").getAsString(), p.get("value").getAsString().getBytes(StandardCharsets.UTF_8));
    } else if (o.has("delete")) {
      t.delete(o.getAsJsonObject("delete").get("key").getAsString());
    } else {
      t.get(o.getAsJsonObject("get").get("key").getAsString());
    }
  }
}
