package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tenure.Client;
import io.tenure.FenceGate;
import io.tenure.Sequencer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** What an agent can be told of itself, of clients, and of what needs no session. */
final class ClientOperations {
  /** Threads of this agent, and those that the Java runtime begins for itself when it first needs them. */
  private static final Pattern PLATFORM = Pattern.compile(
      "agent|ForkJoinPool\\.commonPool.*|CompletableFutureDelayScheduler|Common-Cleaner|Attach Listener"
          + "|process reaper.*");

  private final Things things;
  private final Map<String, FenceGate> gates = new ConcurrentHashMap<>();
  private final Deque<Client> clients = new ArrayDeque<>();
  private Set<Thread> before;

  ClientOperations(Things things) {
    this.things = things;
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    switch (r.op()) {
      case "agent.close":
        return things.block(() -> {
          while (!clients.isEmpty()) {
            clients.pop().close();
          }
          return new JsonObject();
        });
      case "agent.leaks":
        return things.block(this::leaks);
      case "client.open": {
        if (before == null) {
          before = new HashSet<>(Thread.getAllStackTraces().keySet());
        }
        Client c = Client.connect(a.text("uri"));
        a.finish(r.op());
        clients.push(c);
        things.put(r.as(), c);
        return Things.done(Json.of("namespace", c.namespace()));
      }
      case "client.close": {
        Client c = things.on(r, Client.class);
        return things.block(() -> {
          c.close();
          return new JsonObject();
        });
      }
      case "client.info": {
        Client c = things.on(r, Client.class);
        return things.block(() -> {
          JsonArray members = new JsonArray();
          c.members().forEach(members::add);
          return Json.of("members", members, "count", members.size(), "connected_to", c.connectedTo());
        });
      }
      case "sequencer.check": {
        Sequencer s = Sequencer.parse(a.text("sequencer"));
        a.finish(r.op());
        return Things.reply(things.on(r, Client.class).checkAsync(s), h -> Json.of("holds", h));
      }
      case "fence.check": {
        FenceGate gate = gates.computeIfAbsent(a.text("gate"), k -> new FenceGate());
        Sequencer s = Sequencer.parse(a.text("sequencer"));
        a.finish(r.op());
        gate.check(s);
        return Things.done(new JsonObject());
      }
      default:
        throw r.unknown();
    }
  }

  private JsonObject leaks() throws InterruptedException {
    JsonArray what = new JsonArray();
    for (int i = 0; i < 300; i++) {
      what = new JsonArray();
      for (Thread t : Thread.getAllStackTraces().keySet()) {
        if (!PLATFORM.matcher(t.getName()).matches() && t.isAlive() && (before == null || !before.contains(t))) {
          what.add(t.getName());
        }
      }
      if (what.isEmpty()) {
        break;
      }
      synchronized (this) {
        wait(100);
      }
    }
    return Json.of("left", what.size(), "what", what);
  }
}
