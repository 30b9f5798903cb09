package io.tenure.internal;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The threads that run the user's code: at most {@link #THREADS_MAX}, and none after a while without work. A task for which there is no thread
 * waits for one, and so does every task while the machine has no thread to give. Any thread may use it.
 */
public final class Callbacks {
  /** How many tasks run at the same time. */
  public static final int THREADS_MAX = 256;

  private static final long IDLE_NANOS = 2_000_000_000L;

  private final ThreadFactory factory;
  private final Consumer<Runnable> later;
  // Guarded by this, as what follows: the tasks that no thread has taken, the threads, and those of them that wait for a task.
  private final Deque<Runnable> tasks = new ArrayDeque<>();
  private int threads;
  private int idle;
  /** Whether another try to start a thread is due, because one failed. */
  private boolean looking;
  private boolean ending;

  /** Makes threads with a factory; {@code later} runs something after a short while, unless the client has ended by then. */
  Callbacks(ThreadFactory factory, Consumer<Runnable> later) {
    this.factory = factory;
    this.later = later;
  }

  /** Runs the task on one of the threads, now or when one is free. */
  void execute(Runnable task) {
    synchronized (this) {
      tasks.add(task);
      notify();
    }
    staff();
  }

  /** Runs a task that may go on for long on a thread that counts for nothing else. */
  void alone(Runnable task) {
    if (!starts(() -> Loop.guarded(task))) {
      later.accept(() -> alone(task));
    }
  }

  /** Has the threads end as soon as nothing waits for them. What comes later is run nevertheless. */
  synchronized void end() {
    ending = true;
    notifyAll();
  }

  /** Starts a thread if there is a task for it. */
  private void staff() {
    synchronized (this) {
      if (tasks.size() <= idle || threads == THREADS_MAX) {
        return;
      }
      threads++;
    }
    if (starts(this::work)) {
      return;
    }
    synchronized (this) {
      threads--;
      if (looking) {
        return;
      }
      looking = true;
    }
    later.accept(() -> {
      synchronized (this) {
        looking = false;
      }
      staff();
    });
  }

  /** Starts a thread; returns whether the machine had one. */
  private boolean starts(Runnable task) {
    try {
      factory.newThread(task).start();
      return true;
    } catch (OutOfMemoryError e) { // This is how Java says that there are too many threads.
      return false;
    }
  }

  private void work() {
    boolean ended = false;
    try {
      for (Runnable task = next(); task != null; task = next()) {
        Loop.guarded(task);
      }
      ended = true;
    } finally {
      if (!ended) { // A handler of uncaught exceptions threw one.
        synchronized (this) {
          threads--;
        }
        staff();
      }
    }
  }

  /** Waits for a task; null when the thread is not needed any more. */
  private synchronized Runnable next() {
    Thread.interrupted(); // What the task before left.
    long until = System.nanoTime() + IDLE_NANOS;
    while (tasks.isEmpty()) {
      long left = until - System.nanoTime();
      if (ending || left <= 0) {
        threads--;
        return null;
      }
      idle++;
      try {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      } catch (InterruptedException e) {
        // Only user's code interrupts these threads, and the task that it meant is over.
      } finally {
        idle--;
      }
    }
    return tasks.poll();
  }
}
