package io.tenure;

import io.tenure.internal.Backoff;
import io.tenure.internal.Futures;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.session.SessionCore;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** A candidate that campaigns again after each leadership: {@link Election#run}. Close it to resign and to end the campaign. */
public final class ElectionRun implements AutoCloseable {
  private final ClientCore core;
  private final SessionCore session;
  private final Election election;
  private final String value;
  private final Consumer<Leadership> task;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  // Guarded by this.
  // Nobody waits for anything under it.
  private CompletableFuture<Leadership> campaign;
  private Leadership leading;
  private boolean closed;
  private int failures;

  ElectionRun(ClientCore core, SessionCore session, Election election, String value, Consumer<Leadership> task) {
    this.core = core;
    this.session = session;
    this.election = election;
    this.value = value;
    this.task = task;
  }

  void start() {
    AutoCloseable part = this::clientCloses;
    core.loop.run(() -> core.parts.add(part));
    ended.whenComplete((v, e) -> core.loop.run(() -> core.parts.remove(part)));
    stand();
  }

  synchronized void clientCloses() {
    closed = true;
    ended.complete(null);
  }

  private synchronized void stand() {
    if (closed || session.state() == SessionState.CLOSED) {
      ended.complete(null);
      return;
    }
    campaign = election.campaignAsync(value);
    campaign.whenComplete((leadership, error) -> {
      if (error == null) {
        core.loop.alone(() -> lead(leadership));
      } else {
        failed(Futures.error(error));
      }
    });
  }

  private synchronized void failed(Throwable error) {
    if (closed || error instanceof TenureException.SessionOver
        || error instanceof TenureException t && t.kind() == ErrorKind.CLIENT_CLOSED) {
      ended.complete(null);
    } else if (error instanceof TenureException t && mayPass(t.kind())) {
      core.loop.after(Backoff.pauseNanos(failures++, core.random), this::stand);
    } else {
      ended.completeExceptionally(error);
    }
  }

  /** Whether a campaign that failed so may be won another time. */
  private static boolean mayPass(ErrorKind kind) {
    return switch (kind) {
      case UNAVAILABLE, OUTCOME_UNKNOWN, WAIT_ENDED, NOT_HELD, LIMIT, TIMEOUT, INTERNAL -> true;
      default -> false;
    };
  }

  void lead(Leadership leadership) {
    boolean wanted;
    synchronized (this) {
      leading = leadership;
      failures = 0;
      wanted = !closed;
    }
    if (!wanted) {
      // Not under the monitor: this waits for the loop, which takes it.
      resign(leadership);
      ended.complete(null);
      return;
    }
    Throwable thrown = null;
    try {
      task.accept(leadership);
    } catch (RuntimeException | Error e) {
      thrown = e;
    }
    resign(leadership);
    if (thrown == null) {
      stand();
    } else {
      ended.completeExceptionally(thrown);
    }
  }

  /** Gives leadership up. That nobody could be told is no reason to stop: the library tells it later, or the session ends. */
  private static void resign(Leadership leadership) {
    try {
      leadership.close();
    } catch (TenureException e) {
      return;
    }
  }

  /**
   * {@return a future that completes when the run has ended: after close, with the session, or with the exception that ended it}
   */
  public CompletableFuture<Void> ended() {
    return core.loop.shown(ended.copy());
  }

  /** Resigns, and ends the campaign. A running task is not interrupted: it sees its leadership end. */
  @Override
  public void close() {
    CompletableFuture<Leadership> waiting;
    Leadership now;
    synchronized (this) {
      closed = true;
      waiting = campaign;
      now = leading;
    }
    if (waiting != null) {
      waiting.cancel(true);
    }
    if (now != null) {
      resign(now);
    }
  }
}
