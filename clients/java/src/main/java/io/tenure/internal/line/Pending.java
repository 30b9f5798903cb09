package io.tenure.internal.line;

import io.tenure.TenureException;
import io.tenure.internal.Loop;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** What waits for a connection. Only the loop touches it. */
final class Pending {
  private Map<Runnable, Waiting> tasks = new LinkedHashMap<>();

  /** Since which attempt to connect a task waits, and what is told when it waits in vain. */
  private record Waiting(long attempts, Consumer<TenureException> failed) {}

  void add(Runnable task, long attempts, Consumer<TenureException> failed) {
    tasks.putIfAbsent(task, new Waiting(attempts, failed));
  }

  void remove(Runnable task) {
    tasks.remove(task);
  }

  int size() {
    return tasks.size();
  }

  /** Runs all tasks. One that fails keeps no other from what it does. */
  void run() {
    Set<Runnable> all = tasks.keySet();
    clear();
    all.forEach(Loop::guarded);
  }

  void clear() {
    tasks = new LinkedHashMap<>();
  }

  /** Tells those that have waited since before an attempt to connect why they wait in vain. */
  void fail(long attempt, TenureException why) {
    for (Map.Entry<Runnable, Waiting> w : List.copyOf(tasks.entrySet())) {
      if (attempt > w.getValue().attempts()) {
        tasks.remove(w.getKey());
        w.getValue().failed().accept(why);
      }
    }
  }
}
