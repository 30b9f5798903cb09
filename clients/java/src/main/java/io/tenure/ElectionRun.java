package io.tenure;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** A candidate who stands again after every leadership. Close it to resign and stand no more. */
public final class ElectionRun implements AutoCloseable {
  private final ClientCore core;
  private final SessionCore session;
  private final Election election;
  private final String value;
  private final Consumer<Leadership> task;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private CompletableFuture<Leadership> campaign;
  private Leadership leading;
  private boolean closed;

  ElectionRun(ClientCore core, SessionCore session, Election election, String value, Consumer<Leadership> task) {
    this.core = core;
    this.session = session;
    this.election = election;
    this.value = value;
    this.task = task;
  }

  void start() {
    stand();
  }

  private synchronized void stand() {
    if (closed || session.state() == SessionState.CLOSED) {
      ended.complete(null);
      return;
    }
    campaign = election.campaignAsync(value, null, Optional.empty());
    campaign.whenComplete((leadership, error) -> {
      if (error != null) {
        Throwable e = Futures.error(error);
        if (e instanceof TenureException t && t.kind() == ErrorKind.WAIT_ENDED) {
          stand();
        } else if (e instanceof TenureException.SessionOver || e instanceof java.util.concurrent.CancellationException) {
          ended.complete(null);
        } else {
          ended.completeExceptionally(e);
        }
        return;
      }
      core.loop.onPool(() -> lead(leadership));
    });
  }

  private void lead(Leadership leadership) {
    synchronized (this) {
      leading = leadership;
      if (closed) {
        leadership.close();
        ended.complete(null);
        return;
      }
    }
    try {
      task.accept(leadership);
    } catch (RuntimeException e) {
      leadership.close();
      ended.completeExceptionally(e);
      return;
    }
    leadership.close();
    stand();
  }

  /** Returns a future that ends when it stands no more: after close, with the session, or with what the task threw. */
  public CompletableFuture<Void> ended() {
    return ended.copy();
  }

  /** Resigns, and stands no more. A task that runs is not interrupted; it sees its leadership end. */
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
      now.close();
    }
  }
}
