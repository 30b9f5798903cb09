package io.tenure.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.tenure.TenureException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;

/** The agent of the conformance scenarios, over the Java client; clients/conformance/README.md has the protocol. */
public final class Agent {
  private final PrintStream out;
  private final Map<Long, CompletableFuture<JsonObject>> running = new ConcurrentHashMap<>();
  private final Operations operations;

  private Agent(PrintStream out) {
    this.out = out;
    this.operations = new Operations(this::event);
  }

  /** Runs until standard input ends, then exits at once, as a crash would. */
  public static void main(String[] args) throws IOException {
    PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false,
        StandardCharsets.UTF_8);
    // Nothing else may write to the protocol's stream.
    System.setOut(System.err);
    Agent agent = new Agent(out);
    agent.line(JsonParser.parseString(
        "{\"hello\":{\"protocol\":1,\"language\":\"java\",\"variant\":\"\",\"features\":[\"cancel\",\"catalog\",\"queries\"]}}")
        .getAsJsonObject());
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      if (!line.isBlank()) {
        agent.take(line);
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private void take(String line) {
    JsonObject request;
    long id;
    try {
      request = JsonParser.parseString(line).getAsJsonObject();
      id = request.get("id").getAsLong();
    } catch (RuntimeException e) {
      line(failure(0, "protocol", "unknown", "not a request: " + line));
      return;
    }
    CompletableFuture<JsonObject> reply;
    try {
      reply = request.get("op").getAsString().equals("agent.cancel")
          ? cancel(request) : operations.run(request);
    } catch (RuntimeException e) {
      reply = CompletableFuture.failedFuture(e);
    }
    running.put(id, reply);
    reply.whenComplete((value, error) -> {
      running.remove(id);
      if (error == null) {
        JsonObject ok = new JsonObject();
        ok.addProperty("id", id);
        ok.addProperty("ok", true);
        ok.add("value", value);
        line(ok);
      } else {
        line(failure(id, error));
      }
    });
  }

  private CompletableFuture<JsonObject> cancel(JsonObject request) {
    CompletableFuture<JsonObject> other =
        running.get(request.getAsJsonObject("args").get("request").getAsLong());
    if (other != null) {
      other.cancel(true);
    }
    return CompletableFuture.completedFuture(new JsonObject());
  }

  private void event(String name, String of, JsonElement value) {
    JsonObject e = new JsonObject();
    e.addProperty("event", name);
    e.addProperty("of", of);
    e.add("value", value);
    line(e);
  }

  private synchronized void line(JsonObject o) {
    out.println(o);
    out.flush();
  }

  private static JsonObject failure(long id, Throwable t) {
    Throwable e = t instanceof CompletionException c && c.getCause() != null ? c.getCause() : t;
    if (e instanceof TenureException tenure) {
      return failure(id, tenure.kind().name().toLowerCase(Locale.ROOT),
          tenure.applied().name().toLowerCase(Locale.ROOT), tenure.getMessage());
    }
    if (e instanceof CancellationException) {
      return failure(id, "cancelled", "unknown", "cancelled");
    }
    e.printStackTrace();
    return failure(id, "protocol", "unknown", e.toString());
  }

  private static JsonObject failure(long id, String kind, String applied, String message) {
    JsonObject error = new JsonObject();
    error.addProperty("kind", kind);
    error.addProperty("applied", applied);
    error.addProperty("message", message);
    JsonObject reply = new JsonObject();
    reply.addProperty("id", id);
    reply.addProperty("ok", false);
    reply.add("error", error);
    return reply;
  }
}
