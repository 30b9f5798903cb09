package io.tenure.conformance;

import com.google.gson.JsonObject;
import java.util.concurrent.CompletableFuture;

/** What an agent can be told to do, by subject. */
final class Operations {
  private final ClientOperations clients;
  private final SessionOperations sessions;
  private final LockOperations locks;
  private final KeyOperations keys;
  private final WatchOperations watches;
  private final ElectionOperations elections;
  private final RecipeOperations recipes;
  private final CatalogOperations catalog;
  private final QueryOperations queries;

  Operations(Things.Events events) {
    Things things = new Things(events);
    clients = new ClientOperations(things);
    sessions = new SessionOperations(things);
    locks = new LockOperations(things);
    keys = new KeyOperations(things);
    watches = new WatchOperations(things);
    elections = new ElectionOperations(things);
    recipes = new RecipeOperations(things);
    catalog = new CatalogOperations(things);
    queries = new QueryOperations(things);
  }

  CompletableFuture<JsonObject> run(JsonObject line) {
    Request r = Request.of(line);
    String group = r.op().substring(0, Math.max(0, r.op().indexOf('.')));
    return switch (group) {
      case "agent", "client", "sequencer", "fence" -> clients.run(r);
      case "session" -> sessions.run(r);
      case "lock", "held", "rwlock", "semaphore" -> locks.run(r);
      case "kv" -> keys.run(r);
      case "watch", "cache", "x" -> watches.run(r);
      case "machine", "service", "services" -> catalog.run(r);
      case "query" -> queries.run(r);
      case "election" -> elections.run(r);
      case "barrier", "double_barrier", "presence" -> recipes.run(r);
      default -> throw r.unknown();
    };
  }
}
