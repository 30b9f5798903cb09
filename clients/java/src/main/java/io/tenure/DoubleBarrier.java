package io.tenure;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A barrier that so many pass together, in and out. A party that dies counts as having left.
 */
public final class DoubleBarrier {
  private static final byte[] NOTHING = new byte[0];

  private final SessionCore session;
  private final KV kv;
  private final String ready;
  private final String members;
  private final String own;
  private final int count;
  private volatile long readyRevision;

  DoubleBarrier(SessionCore session, String key, int count, String name) {
    this.session = session;
    this.kv = new KV(session.client, session);
    this.ready = Objects.requireNonNull(key) + "/ready";
    this.members = key + "/members/";
    this.own = members + Objects.requireNonNull(name);
    this.count = count;
  }

  /** Waits until all parties have come. */
  public void enter() {
    enter(Optional.empty());
  }

  /**
   * Waits until all parties have come, at most so long.
   *
   * @param wait how long to wait at most
   * @throws TenureException.TimedOut when they did not. Whenever this fails, this party has left
   */
  public void enter(Duration wait) {
    enter(Optional.of(wait));
  }

  /** Waits until all parties have left. */
  public void leave() {
    leave(Optional.empty());
  }

  /**
   * Waits until all parties have left, at most so long.
   *
   * @param wait how long to wait at most
   */
  public void leave(Duration wait) {
    leave(Optional.of(wait));
  }

  void enter(Optional<Duration> wait) {
    try {
      kv.put(own, NOTHING, PutOptions.defaults().ephemeral());
      Map<String, KeyValue> seen = KeyWait.until(session.client,
          WatchOptions.key(ready).andPrefix(members), wait, keys -> {
            if (keys.containsKey(ready)) {
              return true;
            }
            if (keys.size() >= count) {
              begin();
            }
            return false;
          });
      readyRevision = seen.get(ready).modRevision();
    } catch (TenureException e) {
      withdraw(e);
      throw e;
    }
  }

  /** Takes this party out again, whatever kept it from entering; else the others would count one who does not come. */
  private void withdraw(TenureException why) {
    try {
      Await.ending(kv.deleteInner(own, null, null));
    } catch (TenureException e) {
      why.addSuppressed(e);
    }
  }

  private void begin() {
    try {
      kv.put(ready, NOTHING, PutOptions.defaults().ifRevision(0));
    } catch (TenureException.CompareFailed e) {
      // Another party saw it first.
      return;
    }
  }

  void leave(Optional<Duration> wait) {
    kv.delete(own);
    KeyWait.until(session.client, WatchOptions.prefix(members), wait, Map::isEmpty);
    try {
      kv.deleteIf(ready, readyRevision);
    } catch (TenureException.CompareFailed e) {
      // Another party cleaned up, or the next round has begun.
      return;
    }
  }
}
