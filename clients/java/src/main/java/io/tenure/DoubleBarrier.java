package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Futures;
import io.tenure.internal.session.SessionCore;
import io.tenure.internal.watch.KeysWanted;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A double barrier: its participants start together, when all have entered, and end together, when all have left. A participant whose
 * session ends counts as having left.
 */
public final class DoubleBarrier {
  private static final byte[] NOTHING = new byte[0];

  private final SessionCore session;
  private final KV kv;
  private final String ready;
  private final String members;
  private final String own;
  private final int count;
  private volatile long readyRevision;
  /** Ends when all that takes this party out is done. Who enters again waits for it, or it would be thrown out by that. */
  private final AtomicReference<CompletableFuture<Void>> leaving =
      new AtomicReference<>(CompletableFuture.completedFuture(null));

  DoubleBarrier(SessionCore session, String key, int count, String name) {
    this.session = session;
    this.kv = new KV(session.client, session);
    this.ready = Objects.requireNonNull(key, "key") + "/ready";
    this.members = key + "/members/";
    this.own = members + Objects.requireNonNull(name, "name");
    this.count = count;
  }

  /**
   * Enters, and waits until all participants have entered. If this fails, this participant has left, or leaves as soon as a member
   * answers, and with its session at the latest. With a session without TTL, the attempts to leave stop after 45 s without a member:
   * then enter again or {@linkplain #leave(Duration) leave}.
   *
   * @throws TenureException.SessionOver if the session ends first
   */
  public void enter() {
    Await.of(enterInner(Optional.empty()));
  }

  /**
   * Enters, and waits at most for the given time until all participants have entered; see {@link #enter()}.
   *
   * @param wait how long to wait
   * @throws TenureException.TimedOut if they have not
   */
  public void enter(Duration wait) {
    Await.of(enterInner(Optional.of(wait)));
  }

  /**
   * Enters, and waits until all participants have entered; see {@link #enter()}.
   *
   * @return a future that completes when they have; if it is cancelled before that, this participant leaves
   */
  public CompletableFuture<Void> enterAsync() {
    return entering(Optional.empty());
  }

  /**
   * Enters, and waits at most for the given time until all participants have entered; see {@link #enter(Duration)}.
   *
   * @param wait how long to wait
   * @return a future that completes when they have; if it is cancelled before that, this participant leaves
   */
  public CompletableFuture<Void> enterAsync(Duration wait) {
    return entering(Optional.of(wait));
  }

  /**
   * Leaves, and waits until all participants have left.
   *
   * @throws TenureException.SessionOver if the session ends first
   */
  public void leave() {
    Await.of(leaveInner(Optional.empty()));
  }

  /**
   * Leaves, and waits at most for the given time until all participants have left; see {@link #leave()}.
   *
   * @param wait how long to wait
   * @throws TenureException.TimedOut if they have not
   */
  public void leave(Duration wait) {
    Await.of(leaveInner(Optional.of(wait)));
  }

  /**
   * Leaves, and waits until all participants have left; see {@link #leave()}.
   *
   * @return a future that completes when they have; cancelling it ends the wait
   */
  public CompletableFuture<Void> leaveAsync() {
    return session.client.loop.shown(leaveInner(Optional.empty()));
  }

  /**
   * Leaves, and waits at most for the given time until all participants have left; see {@link #leave(Duration)}.
   *
   * @param wait how long to wait
   * @return a future that completes when they have; cancelling it ends the wait
   */
  public CompletableFuture<Void> leaveAsync(Duration wait) {
    return session.client.loop.shown(leaveInner(Optional.of(wait)));
  }

  private CompletableFuture<Void> entering(Optional<Duration> wait) {
    return session.client.loop.shown(
        enterInner(wait), put -> null, put -> withdraw(CompletableFuture.completedFuture(put)));
  }

  /** Enters; returns how this party was put there, which takes it out again if nobody is told. */
  private CompletableFuture<PutResult> enterInner(Optional<Duration> wait) {
    CompletableFuture<PutResult> entered = new CompletableFuture<>();
    CompletableFuture<Map<String, KeyValue>> all = new CompletableFuture<>();
    AtomicBoolean opening = new AtomicBoolean();
    // Who gives up before the put goes out is not put there.
    CompletableFuture<PutResult> put = leaving.get().thenCompose(v -> all.isDone()
        ? CompletableFuture.completedFuture(null) : kv.putInner(own, NOTHING, PutOptions.defaults().ephemeral()));
    put.whenComplete((come, error) -> {
      if (error != null) {
        all.completeExceptionally(Futures.error(error));
      } else {
        waitFor(WatchOptions.key(ready).andPrefix(members), wait).until(keys -> seen(keys, opening, all), all);
      }
    });
    all.whenComplete((seen, error) -> {
      if (error == null) {
        readyRevision = seen.get(ready).modRevision();
        if (!entered.complete(put.getNow(null))) {
          withdraw(put);
        }
      } else {
        // Whatever kept it from entering; else the others would count one who does not come.
        withdraw(put).whenComplete((gone, e) -> {
          if (e != null) {
            error.addSuppressed(Futures.error(e));
          }
          entered.completeExceptionally(error);
        });
      }
    });
    entered.whenComplete((v, e) -> {
      if (entered.isCancelled()) {
        all.cancel(true); // Not the put: what is not known to be there cannot be taken out.
      }
    });
    return entered;
  }

  /** Takes this party out again, once it is in or cannot be any more, unless it was put there by another enter since. */
  private CompletableFuture<Void> withdraw(CompletableFuture<PutResult> put) {
    return leaves(put.handle((come, error) -> {
      if (error == null && come == null) {
        return CompletableFuture.<Void>completedFuture(null);
      }
      return Futures.unlessCompareFails(kv.deleteInner(own, come == null ? null : come.revision(), null));
    }).thenCompose(gone -> gone));
  }

  /** Has who enters later wait for the end of this. */
  private <T> CompletableFuture<T> leaves(CompletableFuture<T> gone) {
    leaving.accumulateAndGet(gone.handle((v, error) -> null), (a, b) -> CompletableFuture.allOf(a, b));
    return gone;
  }

  /** Looks whether all have come, and says so to all when this party is the first to see it. */
  private boolean seen(Map<String, KeyValue> keys, AtomicBoolean opening, CompletableFuture<?> all) {
    if (keys.containsKey(ready)) {
      return true;
    }
    if (keys.size() >= count && opening.compareAndSet(false, true)) {
      // That it exists already: another party saw it first.
      Futures.unlessCompareFails(kv.putInner(ready, NOTHING, PutOptions.defaults().ifRevision(0)))
          .whenComplete((v, error) -> {
            opening.set(false);
            if (error != null) {
              all.completeExceptionally(Futures.error(error));
            }
          });
    }
    return false;
  }

  private CompletableFuture<Void> leaveInner(Optional<Duration> wait) {
    CompletableFuture<Void> begun = new CompletableFuture<>();
    CompletableFuture<Map<String, KeyValue>> none = new CompletableFuture<>();
    waitFor(WatchOptions.prefix(members), wait).until(keys -> {
      begun.complete(null);
      return keys.isEmpty();
    }, none);
    none.whenComplete((v, error) -> begun.complete(null));
    // Who is the last to leave, and looks only then, might see nothing but the next round. Whatever comes of the wait, it leaves.
    CompletableFuture<Boolean> gone = leaves(begun.thenCompose(v -> kv.deleteInner(own, null, null)));
    CompletableFuture<Void> left = new CompletableFuture<>();
    gone.whenComplete((v, error) -> {
      if (error != null) {
        none.completeExceptionally(Futures.error(error));
      }
      // That it is another one: another party cleaned up, or the next round has begun.
      Futures.connect(Futures.compose(none,
          empty -> Futures.unlessCompareFails(kv.deleteInner(ready, readyRevision, null))), left);
    });
    left.whenComplete((v, error) -> {
      if (left.isCancelled()) {
        none.cancel(true);
      }
    });
    return left;
  }

  private KeysWanted.Wait waitFor(WatchOptions what, Optional<Duration> wait) {
    return new KeysWanted.Wait(session.client, session, what.withInitial().plan(), wait);
  }
}
