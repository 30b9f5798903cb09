package io.tenure;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/** A barrier: while its key exists, everyone waits. */
public final class Barrier {
  private final ClientCore core;
  private final KV kv;
  private final String key;

  Barrier(ClientCore core, KV kv, String key) {
    this.core = core;
    this.kv = kv;
    this.key = Objects.requireNonNull(key);
  }

  /** Closes the barrier; one that is closed stays so. */
  public void set() {
    try {
      kv.put(key, new byte[0], PutOptions.defaults().ifRevision(0));
    } catch (TenureException.CompareFailed e) {
      // Somebody else closed it.
      return;
    }
  }

  /** Opens the barrier. */
  public void remove() {
    kv.delete(key);
  }

  /** Waits until the barrier is open. */
  public void await() {
    KeyWait.until(core, WatchOptions.key(key), Optional.empty(), keys -> keys.isEmpty());
  }

  /**
   * Waits until the barrier is open, at most so long.
   *
   * @param wait how long to wait at most
   * @throws TenureException.TimedOut when it stayed closed
   */
  public void await(Duration wait) {
    KeyWait.until(core, WatchOptions.key(key), Optional.of(wait), keys -> keys.isEmpty());
  }
}
