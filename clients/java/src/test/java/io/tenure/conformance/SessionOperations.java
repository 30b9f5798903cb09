package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.tenure.Client;
import io.tenure.Held;
import io.tenure.Session;
import io.tenure.SessionChange;
import io.tenure.SessionOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** What an agent can be told to do with sessions. */
final class SessionOperations {
  private static final Duration OPEN_WAIT = Duration.ofMinutes(2);

  private final Things things;

  SessionOperations(Things things) {
    this.things = things;
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    switch (r.op()) {
      case "session.open": {
        SessionOptions o = options(a);
        Duration wait = a.duration("wait_ms").orElse(OPEN_WAIT);
        boolean blocks = a.maybe("listener").orElse("").equals("blocks");
        a.finish(r.op());
        Consumer<SessionChange> listener = blocks ? forEver(states(r.as())) : states(r.as());
        return Things.reply(things.on(r, Client.class).openSessionAsync(o, wait, listener), s -> remember(r, s));
      }
      case "session.resume": {
        String token = a.text("token");
        Duration wait = a.duration("wait_ms").orElse(OPEN_WAIT);
        a.finish(r.op());
        return Things.reply(things.on(r, Client.class).resumeAsync(token, wait, states(r.as())), s -> remember(r, s));
      }
      case "session.export":
        return Things.reply(things.on(r, Session.class).exportAsync(), t -> Json.of("token", t));
      case "session.token":
        return Things.done(Json.of("token", things.on(r, Session.class).token()));
      case "session.holds": {
        a.duration("wait_ms");
        a.finish(r.op());
        return Things.reply(things.on(r, Session.class).inheritedAsync(), all -> {
          JsonArray holds = new JsonArray();
          for (Held h : all) {
            things.hold(r.as() + "." + h.key(), h);
            holds.add(Json.of("key", h.key(), "owner", h.owner(), "token", h.token()));
          }
          return Json.of("holds", holds);
        });
      }
      case "session.info": {
        Session s = things.on(r, Session.class);
        return Things.done(Json.of("id", s.id(), "state", s.state().name(), "cause",
            s.cause().map(Json::lower).orElse(""), "safe", s.isSafe(), "safe_for_ms", Json.millis(s.safeFor()),
            "ttl_ms", s.ttl().toMillis(), "epoch", s.epoch()));
      }
      case "session.close":
        return Things.reply(things.on(r, Session.class).closeAsync(), v -> new JsonObject());
      case "session.lookup": {
        String id = a.text("id");
        a.finish(r.op());
        return Things.reply(things.on(r, Client.class).lookupAsync(id), s -> Json.of("id", s.id(), "live", s.live(),
            "name", s.name(), "epoch", s.epoch(), "holds", s.holds(), "end_cause", s.endCause()));
      }
      default:
        throw r.unknown();
    }
  }

  private static SessionOptions options(Args a) {
    SessionOptions o = SessionOptions.defaults();
    Optional<Duration> ttl = a.duration("ttl_ms");
    if (ttl.isPresent()) {
      o = o.withTtl(ttl.get());
    }
    Optional<Duration> delay = a.duration("lock_delay_ms");
    if (delay.isPresent()) {
      o = o.withLockDelay(delay.get());
    }
    if (a.maybe("behavior").orElse("release").equals("delete")) {
      o = o.deletingKeys();
    }
    Optional<String> node = a.maybe("node");
    if (node.isPresent()) {
      o = o.withNode(node.get());
    }
    if (a.raw("checks").isPresent()) {
      o = o.withChecks(a.list("checks").toArray(String[]::new));
    }
    if (a.flag("default_check")) {
      o = o.withDefaultCheck();
    }
    Optional<String> name = a.maybe("name");
    if (name.isPresent()) {
      o = o.withName(name.get());
    }
    Optional<JsonElement> metadata = a.raw("metadata");
    if (metadata.isPresent()) {
      for (var e : metadata.get().getAsJsonObject().entrySet()) {
        o = o.withMetadata(e.getKey(), e.getValue().getAsString());
      }
    }
    return o;
  }

  private Consumer<SessionChange> states(String as) {
    return c -> things.event("session.state", as,
        Json.of("state", c.to().name(), "cause", c.cause().map(Json::lower).orElse("")));
  }

  /** Returns a listener that never comes back from what it is told first. */
  private static Consumer<SessionChange> forEver(Consumer<SessionChange> told) {
    return c -> {
      told.accept(c);
      new CompletableFuture<Void>().join();
    };
  }

  private JsonObject remember(Request r, Session s) {
    things.put(r.as(), s);
    return Json.session(s);
  }
}
