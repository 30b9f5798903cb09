package io.tenure.conformance;

import com.google.gson.JsonObject;
import io.tenure.Barrier;
import io.tenure.Client;
import io.tenure.DoubleBarrier;
import io.tenure.Presence;
import io.tenure.Session;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What an agent can be told to do with barriers and groups. */
final class RecipeOperations {
  private final Things things;

  RecipeOperations(Things things) {
    this.things = things;
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    Object on = things.get(r.on());
    Optional<Duration> wait = a.duration("wait_ms");
    return things.block(() -> {
      switch (r.op()) {
        case "barrier.set", "barrier.remove", "barrier.wait" -> {
          String key = a.text("key");
          a.finish(r.op());
          Barrier b = on instanceof Session s ? s.barrier(key) : ((Client) on).barrier(key);
          if (r.op().equals("barrier.set")) {
            b.set();
          } else if (r.op().equals("barrier.remove")) {
            b.remove();
          } else if (wait.isPresent()) {
            b.await(wait.get());
          } else {
            b.await();
          }
        }
        case "double_barrier.enter" -> {
          Session s = (Session) on;
          DoubleBarrier b = s.doubleBarrier(
              a.text("key"), a.number("count").orElse(1L).intValue(), a.maybe("name").orElse(s.id()));
          a.finish(r.op());
          if (wait.isPresent()) {
            b.enter(wait.get());
          } else {
            b.enter();
          }
          things.put(r.as(), b);
        }
        case "double_barrier.leave" -> {
          a.finish(r.op());
          if (wait.isPresent()) {
            ((DoubleBarrier) on).leave(wait.get());
          } else {
            ((DoubleBarrier) on).leave();
          }
        }
        case "presence.join" -> {
          Presence p = ((Session) on).presence(a.text("group"));
          things.put(r.as(), p.join(a.text("name"), a.maybe("value").orElse("")));
        }
        case "presence.leave" -> ((Presence.Membership) on).close();
        case "presence.members" -> {
          Presence p = on instanceof Session s
              ? s.presence(a.text("group")) : ((Client) on).presence(a.text("group"));
          JsonObject members = new JsonObject();
          p.members().forEach(members::addProperty);
          return Json.of("members", members);
        }
        default -> throw r.unknown();
      }
      return new JsonObject();
    });
  }
}
