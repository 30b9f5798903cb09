package io.tenure.conformance;

import com.google.gson.JsonObject;

/** One request: an operation, the name of what it acts on, the name of what it makes, and its arguments. */
record Request(String op, String on, String as, Args args) {
  static Request of(JsonObject line) {
    return new Request(line.get("op").getAsString(), text(line, "on"), text(line, "as"),
        new Args(line.getAsJsonObject("args")));
  }

  private static String text(JsonObject o, String name) {
    return o.has(name) && !o.get(name).isJsonNull() ? o.get(name).getAsString() : "";
  }

  /** Returns what says that there is no such operation. */
  IllegalArgumentException unknown() {
    return new IllegalArgumentException("unknown op " + op);
  }
}
