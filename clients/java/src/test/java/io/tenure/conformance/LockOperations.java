package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tenure.Client;
import io.tenure.Held;
import io.tenure.Lock;
import io.tenure.LockOptions;
import io.tenure.Session;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What an agent can be told to do with locks and what is held of them. */
final class LockOperations {
  private final Things things;

  LockOperations(Things things) {
    this.things = things;
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    switch (r.op()) {
      case "lock.acquire", "rwlock.read", "rwlock.write", "semaphore.acquire": {
        Optional<Duration> wait = a.duration("wait_ms");
        Lock lock = lockOf(r);
        a.finish(r.op());
        return Things.reply(wait.map(lock::acquireAsync).orElseGet(lock::acquireAsync), h -> things.hold(r.as(), h));
      }
      case "lock.try": {
        Lock lock = lockOf(r);
        a.finish(r.op());
        return Things.reply(lock.tryAcquireAsync(), t -> {
          if (t.held().isEmpty()) {
            return Json.of("acquired", false, "holders", t.holders(), "waiters", t.waiters(), "delayed", t.delayed());
          }
          JsonObject o = things.hold(r.as(), t.held().get());
          o.addProperty("acquired", true);
          return o;
        });
      }
      case "lock.info": {
        String key = a.text("key");
        a.finish(r.op());
        return Things.reply(things.on(r, Client.class).lockInfoAsync(key), l -> {
          JsonArray holders = new JsonArray();
          l.holders().forEach(h -> holders.add(Json.of("session", h.sessionId(), "owner", h.owner(), "token",
              h.fencingToken())));
          return Json.of("holders", holders, "waiters", l.waiters(), "delayed", l.delayed());
        });
      }
      case "lock.break": {
        String key = a.text("key");
        String reason = a.text("reason");
        a.finish(r.op());
        Client c = things.on(r, Client.class);
        return things.block(() -> Json.of("holds", c.breakLock(key, reason)));
      }
      case "held.info": {
        Held h = things.held(r.on());
        JsonObject o = Json.held(h);
        o.addProperty("safe", h.isSafe());
        o.addProperty("safe_for_ms", Json.millis(h.safeFor()));
        o.addProperty("ended", h.cause().isPresent());
        o.addProperty("cause", h.cause().map(Json::lower).orElse(""));
        return Things.done(o);
      }
      case "held.release":
        return Things.reply(things.held(r.on()).releaseAsync(), b -> Json.of("released", b));
      default:
        throw r.unknown();
    }
  }

  private Lock lockOf(Request r) {
    Args a = r.args();
    Session s = things.on(r, Session.class);
    String key = a.text("key");
    int permits = a.number("permits").orElse(1L).intValue();
    int limit = a.number("limit").orElse(0L).intValue();
    String mode = switch (r.op()) {
      case "rwlock.read" -> "shared";
      case "rwlock.write" -> "exclusive";
      case "semaphore.acquire" -> "semaphore";
      default -> a.maybe("mode").orElse("exclusive");
    };
    LockOptions o = switch (mode) {
      case "exclusive" -> LockOptions.exclusive();
      case "shared" -> LockOptions.shared();
      case "semaphore" -> LockOptions.semaphore(limit, permits);
      default -> throw new IllegalArgumentException("unknown mode " + mode);
    };
    Optional<String> owner = a.maybe("owner");
    if (owner.isPresent()) {
      o = o.withOwner(owner.get());
    }
    Optional<String> value = a.maybe("value");
    if (value.isPresent()) {
      o = o.withValue(value.get().getBytes(StandardCharsets.UTF_8));
    }
    return s.lock(key, o.onQueued(p -> things.event("held.queued", r.as(), Json.of("position", p))));
  }
}
