package io.tenure.internal.catalog;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.Health;
import io.tenure.Registration;
import io.tenure.TenureException;
import io.tenure.internal.Await;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.session.ClientCore;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;

/** What keeps an instance of a service registered; see {@link Registration}. Any thread can use it. */
public final class RegistrationCore implements ClientCore.Kept {
  /** Bounds one report, and how long closing tries to deregister. */
  private static final Duration REPORT = Duration.ofSeconds(5);
  private static final Duration CLOSE = Duration.ofSeconds(4);

  private final ClientCore core;
  private final Registrar at;
  private final ServicePlan service;
  /** Reports follow each other, so that the last one stays. */
  private final Executor turn;
  private final CompletableFuture<Void> over = new CompletableFuture<>();
  private volatile Health health;
  private volatile TenureException failure;
  private volatile boolean closed;
  /** What the program is being asked; null when it is not. Of the turn only, as what follows. */
  private CompletableFuture<Health> asking;
  private long asked;
  private Health reported;
  private long last;
  private ScheduledFuture<?> next;

  /** One that is in the catalog, or may be there. */
  public RegistrationCore(ClientCore core, Registrar at, ServicePlan service, Health health) {
    this.core = core;
    this.at = at;
    this.service = service;
    this.health = health;
    this.reported = health;
    this.turn = core.loop.serial();
    this.last = core.clock.nanos();
  }

  /** Registers an instance, and keeps it registered. */
  public static CompletableFuture<RegistrationCore> open(ClientCore core, Registrar at, ServicePlan service) {
    if (service.node().isEmpty()) {
      return CompletableFuture.failedFuture(
          Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, "the service has no node: use withNode"));
    }
    CompletableFuture<Health> first = service.health() == null
        ? CompletableFuture.completedFuture(Health.passing()) : ask(core, service);
    return Futures.compose(first, h -> Entry.begin(core, at, service, h));
  }

  /** Begins to keep it registered. */
  public void begin() {
    turn.execute(this::schedule);
  }

  @Override
  public boolean isOf(String node, String id) {
    return service.node().equals(node) && service.id().equals(id);
  }

  /** Asks the program how it is; one that fails is critical. */
  private static CompletableFuture<Health> ask(ClientCore core, ServicePlan service) {
    CompletableFuture<Health> answer = new CompletableFuture<>();
    core.loop.onPool(() -> {
      try {
        answer.complete(Optional.ofNullable(service.health().get())
            .orElse(Health.critical("the health function returned null")));
      } catch (RuntimeException | Error e) {
        answer.complete(Health.critical("the health function failed: " + e));
      }
    });
    return answer;
  }

  public String node() {
    return service.node();
  }

  public String id() {
    return service.id();
  }

  public String checkId() {
    return service.checkId();
  }

  public Optional<TenureException> failure() {
    return Optional.ofNullable(failure);
  }

  public void set(Health now) {
    Await.of(setInner(now));
  }

  public CompletableFuture<Void> setAsync(Health now) {
    return core.loop.shown(setInner(now));
  }

  private CompletableFuture<Void> setInner(Health now) {
    java.util.Objects.requireNonNull(now, "now");
    if (service.health() != null) {
      return CompletableFuture.failedFuture(
          Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, "the health function says how the instance is"));
    }
    health = now;
    CompletableFuture<Void> told = new CompletableFuture<>();
    turn.execute(() -> {
      try {
        tell(core.callTimeout);
        told.complete(null);
      } catch (RuntimeException | Error e) { // Also a fault of ours: nobody waits for ever.
        told.completeExceptionally(e);
      }
    });
    return told;
  }

  /** Looks again after a third of the TTL. */
  private void schedule() {
    if (!closed) {
      next = core.loop.after(service.ttl().toNanos() / 3, () -> turn.execute(this::look));
    }
  }

  /** Reports what is due. Whatever becomes of that, it looks again. */
  private void look() {
    try {
      reportIfDue();
    } finally {
      schedule();
    }
  }

  private void reportIfDue() {
    if (closed) {
      return;
    }
    if (service.health() == null) {
      report();
    } else if (asking == null) {
      asking = ask(core, service);
      asked = core.clock.nanos();
      asking.thenAccept(h -> turn.execute(() -> {
        asking = null;
        health = h;
        report();
      }));
    } else if (core.clock.nanos() - asked >= service.ttl().toNanos()) {
      health = Health.critical("the program did not say for " + Wire.text(service.ttl()) + " how it is");
      report();
    }
  }

  private void report() {
    boolean due = failure != null || !health.equals(reported) || core.clock.nanos() - last >= at.repeat().toNanos();
    if (due && !closed) {
      try {
        tell(REPORT);
      } catch (TenureException e) {
        failure = e; // The next look tries again.
      }
    }
  }

  /** Reports once. */
  private void tell(Duration wait) {
    if (closed) {
      throw Exceptions.of(ErrorKind.CLIENT_CLOSED, Applied.NO, "the registration is closed");
    }
    Health h = health;
    try {
      Await.uninterrupted(at.report(service, h, wait));
    } catch (TenureException e) {
      failure = e;
      throw e;
    }
    failure = null;
    reported = h;
    last = core.clock.nanos();
  }

  public void close() {
    Await.ending(closeInner());
  }

  public CompletableFuture<Void> closeAsync() {
    return core.loop.shown(closeInner());
  }

  private synchronized CompletableFuture<Void> closeInner() {
    if (!closed) {
      closed = true;
      core.registrations.remove(this);
      turn.execute(() -> {
        if (next != null) {
          next.cancel(false);
        }
        try {
          Await.uninterrupted(at.deregister(service, CLOSE));
          over.complete(null);
        } catch (RuntimeException | Error e) {
          over.completeExceptionally(e);
        }
      });
    }
    return over.copy();
  }

  @Override
  public CompletableFuture<Void> ending() {
    CompletableFuture<Void> ended = new CompletableFuture<>();
    closeInner().whenComplete((v, error) -> core.loop.run(() -> ended.complete(null)));
    return ended;
  }
}
