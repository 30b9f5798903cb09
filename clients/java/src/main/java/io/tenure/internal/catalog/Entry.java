package io.tenure.internal.catalog;

import com.google.protobuf.ByteString;
import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.Health;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.line.Calls;
import io.tenure.internal.session.ClientCore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A registration that begins: until its caller has it, or until it is known that it is not in the catalog. One whose caller gives up, or whose
 * answer is lost, is taken back. Only the loop touches it.
 */
final class Entry {
  /** How long it tries to learn that a request whose answer is lost is not applied any more. */
  private static final Duration SETTLE = Duration.ofSeconds(4);

  private final ClientCore core;
  private final Registrar at;
  private final ServicePlan service;
  private final Health health;
  private final ByteString key = ClientCore.randomBytes(ClientCore.ID_BYTES);
  private final Calls.Patience caller;
  private final CompletableFuture<RegistrationCore> entered = new CompletableFuture<>();
  private final CompletableFuture<Void> settled = new CompletableFuture<>();

  private Entry(ClientCore core, Registrar at, ServicePlan service, Health health) {
    this.core = core;
    this.at = at;
    this.service = service;
    this.health = health;
    this.caller = core.patience(core.callTimeout);
  }

  /** Registers an instance, and keeps it registered. It waits until an earlier entry of the same instance has ended. */
  static CompletableFuture<RegistrationCore> begin(ClientCore core, Registrar at, ServicePlan service, Health health) {
    return core.onLoop(() -> {
      Entry e = new Entry(core, at, service, health);
      e.queue();
      return e.entered;
    });
  }

  /** Waits for the entry before: what that one takes back must not be ours. */
  private void queue() {
    String name = service.node() + '\0' + service.id();
    CompletableFuture<Void> before = core.entries.put(name, settled);
    settled.whenComplete((v, e) -> core.entries.remove(name, settled));
    core.ends(settled);
    if (before == null) {
      write();
    } else {
      before.whenComplete((v, e) -> write());
    }
  }

  private void write() {
    TenureException why = over(false); // It may have waited.
    if (why != null) {
      failed(why);
      return;
    }
    at.register(service, health, key, this::over).whenComplete((v, error) -> {
      if (error == null) {
        written();
      } else {
        failed(Futures.error(error));
      }
    });
  }

  /** The patience of the calls: what was not sent when the caller gave up is not sent any more, and what was sent is followed to its end. */
  private TenureException over(boolean sent) {
    if (!sent && core.closing) {
      return ClientCore.closedError();
    }
    return !sent && entered.isDone()
        ? Exceptions.of(ErrorKind.CANCELLED, Applied.NO, "the caller no longer waits for the registration") : caller.over(sent);
  }

  private void written() {
    RegistrationCore r = new RegistrationCore(core, at, service, health);
    core.registrations.add(r);
    if (core.closing) {
      entered.completeExceptionally(ClientCore.closedError());
    }
    if (entered.complete(r)) {
      r.begin();
      settled.complete(null);
    } else {
      r.ending().whenComplete((v, e) -> settled.complete(null));
    }
  }

  private void failed(Throwable error) {
    boolean doubted = error instanceof TenureException t && t.applied() != Applied.NO;
    if (!doubted || core.closed || core.registrations.stream().anyMatch(r -> r.isOf(service.node(), service.id()))) {
      entered.completeExceptionally(error);
      settled.complete(null);
      return;
    }
    // The caller is told after that, so that another attempt of its own comes later.
    at.settle(service, health, key, SETTLE).whenComplete((done, unsettled) ->
        new RegistrationCore(core, at, service, health).ending().whenComplete((v, e) -> {
          entered.completeExceptionally(error);
          settled.complete(null);
        }));
  }
}
