package io.tenure.internal;

import io.tenure.Applied;
import io.tenure.ErrorKind;

/** The prefix that keeps one user's keys apart from another's. */
public record Namespace(String name, String prefix) {
  public static Namespace of(String name) {
    return new Namespace(name, name.isEmpty() ? "" : name + "/");
  }

  /** Returns a key as the cluster knows it; an empty one is refused, also where a prefix would hide that. */
  public String key(String key) {
    if (key.isEmpty()) {
      throw Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, "the key is empty");
    }
    return full(key);
  }

  /** Returns the prefix of keys as the cluster knows it. */
  public String full(String key) {
    return prefix + key;
  }

  /** Returns the key as the user knows it. */
  public String strip(String key) {
    return key.startsWith(prefix) ? key.substring(prefix.length()) : key;
  }
}
