package io.tenure.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeSet;

/**
 * Numbers the requests of a session under one epoch. The cluster remembers the results of all from the lowest open one on,
 * so a number is open until its caller has the answer. More than a bound wait for their number.
 */
public final class RequestIds {
  /** Half of what the cluster keeps open, so that a retry never finds the window full. */
  public static final int OPEN_MAX = 512;

  private final TreeSet<Long> open = new TreeSet<>();
  private final Deque<Runnable> waiting = new ArrayDeque<>();
  private final List<Past> past = new ArrayList<>();
  private long next = 1;

  /** What waits until no request up to a number is open. */
  private record Past(long sequence, Runnable task) {}

  /** Draws the next number, or 0 when too many are open; then {@code later} runs once one is free, and draws again. */
  public long draw(Runnable later) {
    // The cluster counts from the oldest open one on, whatever was answered since.
    if (next - doneBelow() >= OPEN_MAX) {
      waiting.add(later);
      return 0;
    }
    long sequence = next++;
    open.add(sequence);
    return sequence;
  }

  /** Returns the mark below which every request has been answered. */
  public long doneBelow() {
    return open.isEmpty() ? next : open.first();
  }

  /** Says that a request has been answered, or is given up and never sent again. */
  public void done(long sequence) {
    if (!open.remove(sequence)) {
      return;
    }
    while (!waiting.isEmpty() && next - doneBelow() < OPEN_MAX) {
      waiting.poll().run();
    }
    List<Past> due = past.stream().filter(p -> p.sequence() < doneBelow()).toList();
    past.removeAll(due);
    due.forEach(p -> p.task().run());
  }

  /** Runs the task once every request up to that number has been answered, or is never sent again. */
  public void whenPast(long sequence, Runnable task) {
    if (sequence < doneBelow()) {
      task.run();
    } else {
      past.add(new Past(sequence, task));
    }
  }
}
