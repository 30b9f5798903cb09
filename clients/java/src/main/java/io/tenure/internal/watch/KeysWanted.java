package io.tenure.internal.watch;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.KeyValue;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.WatchEvent;
import io.tenure.WatchEventType;
import io.tenure.WatchMessage;
import io.tenure.internal.Backoff;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.session.SessionCore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Predicate;

/** A wait until keys are as wanted. Only the loop touches it. */
public final class KeysWanted {
  private final ClientCore core;
  private final WatchPlan what;
  private final Predicate<Map<String, KeyValue>> wanted;
  private final CompletableFuture<Map<String, KeyValue>> done;
  private Map<String, KeyValue> keys = new TreeMap<>();
  private WatchCore watch;
  /** How often in a row the history was lost with nothing told but the present state. */
  private int losses;

  private KeysWanted(ClientCore core, WatchPlan what, Predicate<Map<String, KeyValue>> wanted,
      CompletableFuture<Map<String, KeyValue>> done) {
    this.core = core;
    this.what = what;
    this.wanted = wanted;
    this.done = done;
  }

  /** Says which keys are looked at, for whom and for how long at most. Without a session it ends with the client only. */
  public record Wait(ClientCore core, SessionCore session, WatchPlan what, Optional<Duration> atMost) {
    /** Ends the future with the keys once the predicate, which the loop asks, holds of them. Who cancels the future ends the wait. */
    public void until(Predicate<Map<String, KeyValue>> wanted, CompletableFuture<Map<String, KeyValue>> done) {
      core.onLoop(done, () -> new KeysWanted(core, what, wanted, done).begin(session, atMost));
    }
  }

  private void begin(SessionCore session, Optional<Duration> atMost) {
    if (session != null && session.state() == SessionState.CLOSED) {
      done.completeExceptionally(session.calls.overError(Applied.NO));
    }
    if (done.isDone()) {
      return;
    }
    Runnable over = () -> done.completeExceptionally(session.calls.overError(Applied.NO));
    if (session != null) {
      session.atEnd.add(over);
    }
    Optional<ScheduledFuture<?>> late = atMost.map(w -> core.loop.after(Wire.nanos(w), () -> done.completeExceptionally(
        Exceptions.of(ErrorKind.TIMEOUT, Applied.NO, "what was waited for did not come within " + w))));
    watchAnew();
    done.whenComplete((v, e) -> core.loop.run(() -> {
      late.ifPresent(t -> t.cancel(false));
      if (session != null) {
        session.atEnd.remove(over);
      }
      watch.close();
    }));
  }

  private void watchAnew() {
    if (done.isDone()) {
      return;
    }
    keys = new TreeMap<>();
    watch = new WatchCore(core, what);
    next(watch);
  }

  private void next(WatchCore from) {
    from.pull().whenComplete((m, error) -> core.loop.run(() -> take(from, m, error)));
  }

  private void take(WatchCore from, Optional<WatchMessage> m, Throwable error) {
    if (done.isDone()) {
      return;
    }
    if (error != null && Futures.error(error) instanceof TenureException.HistoryLost) {
      core.loop.after(Backoff.pauseNanos(losses++, core.random), this::watchAnew);
    } else if (error != null) {
      done.completeExceptionally(Futures.error(error));
    } else if (m.isEmpty()) {
      done.completeExceptionally(ClientCore.closedError());
    } else if (holds(m.get())) {
      done.complete(keys);
    } else {
      next(from);
    }
  }

  private boolean holds(WatchMessage m) {
    if (!(m instanceof WatchMessage.Initial)) {
      losses = 0;
    }
    try {
      if (m instanceof WatchMessage.Events events) {
        return holds(events.events());
      }
      apply(keys, m);
      return m instanceof WatchMessage.Initial && wanted.test(keys);
    } catch (RuntimeException e) {
      done.completeExceptionally(e);
      return false;
    }
  }

  /** Looks at the keys after each revision: what one change made whole and the next one broke is not missed. */
  private boolean holds(List<WatchEvent> events) {
    for (int i = 0; i < events.size(); i++) {
      apply(keys, events.get(i));
      boolean whole = i + 1 == events.size() || events.get(i + 1).revision() != events.get(i).revision();
      if (whole && wanted.test(keys)) {
        return true;
      }
    }
    return false;
  }

  /** Brings a picture of the keys up to date. */
  public static void apply(Map<String, KeyValue> keys, WatchMessage m) {
    if (m instanceof WatchMessage.Initial initial) {
      keys.clear();
      initial.keys().forEach(kv -> keys.put(kv.key(), kv));
    } else if (m instanceof WatchMessage.Events events) {
      events.events().forEach(e -> apply(keys, e));
    }
  }

  private static void apply(Map<String, KeyValue> keys, WatchEvent e) {
    if (e.type() == WatchEventType.DELETED) {
      keys.remove(e.key());
    } else {
      e.keyValue().ifPresent(kv -> keys.put(kv.key(), kv));
    }
  }
}
