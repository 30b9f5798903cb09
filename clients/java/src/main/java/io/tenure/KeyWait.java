package io.tenure;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Waits until keys are as wanted. */
final class KeyWait {
  private KeyWait() {}

  /** Waits until the predicate holds of the keys that the options select; returns them. */
  static Map<String, KeyValue> until(
      ClientCore core, WatchOptions what, Optional<Duration> wait, Predicate<Map<String, KeyValue>> wanted) {
    long deadline = wait.map(w -> System.nanoTime() + Wire.nanos(w)).orElse(0L);
    while (true) {
      try (Watch watch = new Watch(core, what.withInitial())) {
        Map<String, KeyValue> keys = new TreeMap<>();
        while (true) {
          WatchMessage m = next(watch, wait, deadline);
          apply(keys, m);
          if (!(m instanceof WatchMessage.Progress) && wanted.test(keys)) {
            return keys;
          }
        }
      } catch (TenureException.HistoryLost e) {
        // Begins again with the present state.
        continue;
      }
    }
  }

  private static WatchMessage next(Watch watch, Optional<Duration> wait, long deadline) {
    Optional<WatchMessage> m = wait.isEmpty()
        ? watch.next() : watch.next(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
    return m.orElseThrow(ClientCore::closedError);
  }

  /** Brings a picture of the keys up to date. */
  static void apply(Map<String, KeyValue> keys, WatchMessage m) {
    if (m instanceof WatchMessage.Initial initial) {
      keys.clear();
      initial.keys().forEach(kv -> keys.put(kv.key(), kv));
    } else if (m instanceof WatchMessage.Events events) {
      for (WatchEvent e : events.events()) {
        if (e.type() == WatchEventType.DELETED) {
          keys.remove(e.key());
        } else {
          e.keyValue().ifPresent(kv -> keys.put(kv.key(), kv));
        }
      }
    }
  }
}
