package io.tenure.internal.session;

import io.tenure.SessionState;
import java.util.ArrayList;
import java.util.List;

/** What waits until the lease of one session is good. Only the loop touches it. */
final class LeaseWaits {
  /** What waits for the lease. */
  private record Waiting(long notBefore, Runnable task, Runnable over) {}

  private final SessionCore session;
  private final List<Waiting> waiting = new ArrayList<>();

  LeaseWaits(SessionCore session) {
    this.session = session;
  }

  /** Whether what is granted now can be believed at once. */
  boolean isBelieved() {
    return session.life.isBelieved(session.client.clock.nanos());
  }

  /** Runs the task once the lease is good, not before that time; {@code over} instead if the session ends before. */
  void whenSafe(long notBefore, Runnable task, Runnable over) {
    if (session.life.state() == SessionState.CLOSED) {
      over.run();
      return;
    }
    boolean believed = isBelieved();
    if (believed && session.client.clock.nanos() >= notBefore) {
      task.run();
      return;
    }
    waiting.add(new Waiting(notBefore, task, over));
    if (!believed) {
      session.client.keeper.hurry(session);
    }
  }

  /** Runs what is due. */
  void run(long now) {
    if (waiting.isEmpty() || !isBelieved()) {
      return;
    }
    List<Waiting> due = waiting.stream().filter(w -> w.notBefore() <= now).toList();
    waiting.removeAll(due);
    due.forEach(w -> w.task().run());
  }

  /** The session is over. */
  void over() {
    List<Waiting> left = List.copyOf(waiting);
    waiting.clear();
    left.forEach(w -> w.over().run());
  }
}
