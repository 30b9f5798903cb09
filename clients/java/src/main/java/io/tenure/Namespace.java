package io.tenure;

/** The prefix that keeps one user's keys apart from another's. */
record Namespace(String name, String prefix) {
  static Namespace of(String name) {
    return new Namespace(name, name.isEmpty() ? "" : name + "/");
  }

  /** Returns the key as the cluster knows it. */
  String full(String key) {
    return prefix + key;
  }

  /** Returns the key as the user knows it. */
  String strip(String key) {
    return key.startsWith(prefix) ? key.substring(prefix.length()) : key;
  }
}
