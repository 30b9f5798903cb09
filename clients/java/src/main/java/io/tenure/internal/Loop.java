package io.tenure.internal;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The threads of one client. One thread does all the work on the client's state, so that state needs no locks. Of what may block it does
 * only what gRPC asks of whoever makes a channel or a call: it reads the files of TLS, and runs the user's interceptors, credentials and
 * change of a channel. All other code of the user runs on a pool that has a limit and shrinks to nothing.
 */
public final class Loop implements Executor {
  /** After how long a thread is tried again that the machine did not have. */
  private static final long AGAIN_NANOS = 100_000_000L;

  private final ScheduledThreadPoolExecutor work;
  private final Callbacks pool;
  private volatile Thread thread;

  public Loop() {
    this(r -> {
      Thread t = new Thread(r, "tenure-callback");
      t.setDaemon(true);
      return t;
    });
  }

  /** A loop whose user's code runs on threads of this factory. */
  public Loop(ThreadFactory callbacks) {
    work = new ScheduledThreadPoolExecutor(1, r -> {
      Thread t = new Thread(r, "tenure");
      t.setDaemon(true);
      thread = t;
      return t;
    }, new ThreadPoolExecutor.DiscardPolicy());
    work.setRemoveOnCancelPolicy(true);
    work.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    work.setContinueExistingPeriodicTasksAfterShutdownPolicy(false);
    pool = new Callbacks(callbacks, task -> after(AGAIN_NANOS, task));
  }

  @Override
  public void execute(Runnable task) {
    work.execute(() -> guarded(task));
  }

  /** Runs the task on the loop: now when the caller is the loop, else later. */
  public void run(Runnable task) {
    if (Thread.currentThread() == thread) {
      task.run();
    } else {
      execute(task);
    }
  }

  public ScheduledFuture<?> after(long nanos, Runnable task) {
    return work.schedule(() -> guarded(task), nanos, TimeUnit.NANOSECONDS);
  }

  public ScheduledFuture<?> every(long nanos, Runnable task) {
    return work.scheduleWithFixedDelay(() -> guarded(task), nanos, nanos, TimeUnit.NANOSECONDS);
  }

  /** Returns a future for the user: it ends as the given one does, on the user's pool. */
  public <T> CompletableFuture<T> shown(CompletableFuture<T> inner) {
    return shown(inner, value -> value, value -> { });
  }

  /** Returns a future for the user; see {@link #shown(CompletableFuture, Function, Consumer)}. */
  public <T> CompletableFuture<T> shown(CompletableFuture<T> inner, Consumer<T> unclaimed) {
    return shown(inner, value -> value, unclaimed);
  }

  /**
   * Returns a future for the user: it ends as the given one does, on the user's pool. When the user ended it before, by
   * cancel, a time-out or otherwise, the work behind it is cancelled; a value that comes nevertheless goes to {@code unclaimed}.
   */
  public <T, U> CompletableFuture<U> shown(CompletableFuture<T> inner, Function<T, U> as, Consumer<T> unclaimed) {
    UserFuture<U> shown = new UserFuture<>();
    inner.whenComplete((value, error) -> onPool(() -> {
      if (error != null) {
        shown.completeExceptionally(Futures.error(error));
      } else if (!shown.complete(as.apply(value))) {
        unclaimed.accept(value);
      }
    }));
    shown.whenComplete((value, error) -> inner.cancel(true));
    return shown;
  }

  /** Runs the user's code, also after the end of the client. */
  public void onPool(Runnable task) {
    pool.execute(task);
  }

  /** Runs code of the user that may go on for long, on a thread of its own. */
  public void alone(Runnable task) {
    pool.alone(task);
  }

  /** Returns an executor that runs tasks on the pool one after another. */
  public Executor serial() {
    return new Serial(this::onPool);
  }

  /** Ends the threads; what is queued for the loop is dropped, what is queued for the pool is done. The loop may call it. */
  public void shutdown() {
    work.shutdown();
    pool.end();
  }

  /** Runs the task; what it throws goes to the thread's handler of uncaught exceptions, and the thread goes on. */
  public static void guarded(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      // A fault, in our own code or in a callback: shown, never swallowed, and the thread goes on for the others.
      Thread.UncaughtExceptionHandler handler = Thread.currentThread().getUncaughtExceptionHandler();
      handler.uncaughtException(Thread.currentThread(), e);
    }
  }

  private static final class Serial implements Executor {
    private final Executor on;
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private boolean running;

    Serial(Executor on) {
      this.on = on;
    }

    @Override
    public void execute(Runnable task) {
      synchronized (this) {
        tasks.add(task);
        if (running) {
          return;
        }
        running = true;
      }
      on.execute(this::drain);
    }

    private void drain() {
      while (true) {
        Runnable task;
        synchronized (this) {
          task = tasks.poll();
          if (task == null) {
            running = false;
            return;
          }
        }
        guarded(task);
      }
    }
  }

  /** A future whose stages are plain ones: what the user makes of it is the user's. */
  private static final class UserFuture<T> extends CompletableFuture<T> {
    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
      return new CompletableFuture<>();
    }
  }
}
