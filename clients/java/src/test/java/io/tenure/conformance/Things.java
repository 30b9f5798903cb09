package io.tenure.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.tenure.Held;
import io.tenure.Leadership;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;

/** What an agent made under which names, where it tells events, and how it answers. */
final class Things {
  /** Where events go. */
  interface Events {
    void event(String name, String of, JsonElement value);
  }

  private final Events events;
  private final Map<String, Object> named = new ConcurrentHashMap<>();
  private final ExecutorService blocking = Executors.newCachedThreadPool(r -> {
    Thread t = new Thread(r, "agent");
    t.setDaemon(true);
    return t;
  });

  Things(Events events) {
    this.events = events;
  }

  void event(String name, String of, JsonElement value) {
    events.event(name, of, value);
  }

  void put(String name, Object thing) {
    named.put(name, thing);
  }

  /** Returns what has a name, or null. */
  Object get(String name) {
    return named.get(name);
  }

  /** Returns what a request is on, which must be of a type. */
  <T> T on(Request r, Class<T> type) {
    Object o = named.get(r.on());
    if (!type.isInstance(o)) {
      throw new IllegalArgumentException(r.op() + ": " + r.on() + " is no " + type.getSimpleName());
    }
    return type.cast(o);
  }

  /** Returns the hold of a name, or that by which the leadership of that name leads. */
  Held held(String name) {
    Object o = named.get(name);
    if (o instanceof Leadership l) {
      return l.held();
    }
    if (o instanceof Held h) {
      return h;
    }
    throw new IllegalArgumentException(name + " is no hold");
  }

  /** Names a hold, tells of its end, and returns what a reply says of it. */
  JsonObject hold(String as, Held h) {
    named.put(as, h);
    h.onEnded(cause -> event("held.ended", as, Json.of("cause", Json.lower(cause))));
    return Json.held(h);
  }

  /** Runs what blocks on a thread of its own; cancelling the future interrupts it. */
  CompletableFuture<JsonObject> block(Callable<JsonObject> work) {
    CompletableFuture<JsonObject> result = new CompletableFuture<>();
    var task = blocking.submit(() -> {
      try {
        result.complete(work.call());
      } catch (Exception e) {
        result.completeExceptionally(e);
      }
    });
    result.whenComplete((v, e) -> {
      if (result.isCancelled()) {
        task.cancel(true);
      }
    });
    return result;
  }

  /** Turns a future's value into a reply; cancelling the reply cancels the future. */
  static <T> CompletableFuture<JsonObject> reply(CompletableFuture<T> from, Function<T, JsonObject> as) {
    CompletableFuture<JsonObject> result = new CompletableFuture<>();
    from.whenComplete((v, e) -> {
      if (e != null) {
        result.completeExceptionally(e);
      } else {
        try {
          result.complete(as.apply(v));
        } catch (RuntimeException x) {
          result.completeExceptionally(x);
        }
      }
    });
    result.whenComplete((v, e) -> {
      if (result.isCancelled()) {
        from.cancel(true);
      }
    });
    return result;
  }

  static CompletableFuture<JsonObject> done(JsonObject o) {
    return CompletableFuture.completedFuture(o);
  }
}
