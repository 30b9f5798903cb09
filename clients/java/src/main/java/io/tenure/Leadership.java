package io.tenure;

import com.google.protobuf.ByteString;
import io.tenure.v1.ElectionServiceGrpc;
import io.tenure.v1.ProclaimRequest;
import io.tenure.v1.ResignRequest;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** Leadership that was won, until it ends. Close it to resign. */
public final class Leadership implements AutoCloseable {
  private final Held held;

  Leadership(Held held) {
    this.held = held;
  }

  /** {@return the hold that leadership is: ask it whether it is safe, and have it tell its end} */
  public Held held() {
    return held;
  }

  /** {@return whether nobody else can lead by an expiry, by the clock, at this moment} */
  public boolean isSafe() {
    return held.isSafe();
  }

  /**
   * Changes what the leader proclaims, while it leads; else STALE_TOKEN.
   *
   * @param value what others see of the leader
   */
  public void proclaim(String value) {
    proclaim(value.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Changes what the leader proclaims, while it leads; else STALE_TOKEN.
   *
   * @param value what others see of the leader
   */
  public void proclaim(byte[] value) {
    Await.of(proclaimInner(value));
  }

  /**
   * Changes what the leader proclaims.
   *
   * @param value what others see of the leader
   * @return a future that ends when that is done
   */
  public CompletableFuture<Void> proclaimAsync(byte[] value) {
    return held.session().client.loop.shown(proclaimInner(value));
  }

  /**
   * Resigns in favour of the next in the queue.
   *
   * @return whether it led until now
   */
  public boolean resign() {
    return held.release();
  }

  /**
   * Resigns in favour of the next in the queue; see {@link #resign}.
   *
   * @return a future that tells whether it led until now
   */
  public CompletableFuture<Boolean> resignAsync() {
    return held.releaseAsync();
  }

  /**
   * Resigns in favour of a named candidate who waits; nothing happens when that one does not. Until the answer is here
   * {@link #isSafe} tells false, for the candidate may lead already. An interrupt ends the waiting for the answer, not the
   * resignation.
   *
   * @param sessionId the session of the candidate
   * @param owner the name of the candidate within its session
   * @return whether it resigned; false for leadership that ended before
   * @throws TenureException of kind CANDIDATE_NOT_FOUND when that one does not wait; then this one goes on to lead
   */
  public boolean resignTo(String sessionId, String owner) {
    return Await.of(resignInner(sessionId, owner));
  }

  /**
   * Resigns in favour of a named candidate; see {@link #resignTo}. To cancel the future does not take that back.
   *
   * @param sessionId the session of the candidate
   * @param owner the name of the candidate within its session
   * @return a future that tells whether it is so
   */
  public CompletableFuture<Boolean> resignToAsync(String sessionId, String owner) {
    return held.session().client.loop.shown(resignInner(sessionId, owner));
  }

  /**
   * Resigns; fails if leadership was lost before. See {@link Held#close}.
   *
   * @throws TenureException.StaleToken of kind NOT_HELD when leadership was lost while it was had
   */
  @Override
  public void close() {
    held.close();
  }

  private CompletableFuture<Void> proclaimInner(byte[] value) {
    SessionCore s = held.session();
    return s.client.onLoop(() -> s.change(ElectionServiceGrpc.getProclaimMethod(), o -> ProclaimRequest.newBuilder()
        .setKey(held.fullKey()).setSequencer(held.sequencer().wire()).setValue(ByteString.copyFrom(value))
        .setOptions(o).build()).thenApply(r -> null));
  }

  private CompletableFuture<Boolean> resignInner(String sessionId, String owner) {
    Objects.requireNonNull(sessionId);
    Objects.requireNonNull(owner);
    // At once, and until it is known: the candidate may lead before the answer is here.
    held.doubt();
    CompletableFuture<Boolean> result = new CompletableFuture<>();
    held.session().client.onLoop(result, () -> resign(sessionId, owner, result));
    return result;
  }

  /** Asks the cluster. What comes of that is noted whether or not the caller still waits for it. */
  private void resign(String sessionId, String owner, CompletableFuture<Boolean> result) {
    SessionCore s = held.session();
    s.look(s.client.clock.nanos());
    if (held.hasEnded()) {
      held.undoubt();
      held.acknowledge();
      result.complete(false);
      return;
    }
    s.change(ElectionServiceGrpc.getResignMethod(), o -> ResignRequest.newBuilder()
        .setKey(held.fullKey()).setSessionId(s.id()).setLockIndex(held.lockIndex()).setToSessionId(sessionId)
        .setToOwner(owner).setOptions(o.setOwner(held.owner())).build()).whenComplete((r, error) -> {
          s.look(s.client.clock.nanos()); // What ended before this is told so.
          if (error == null) {
            held.end(r.getResigned() ? EndCause.RELEASED : EndCause.TAKEN_AWAY);
          } else if (!(error instanceof TenureException e && e.applied() == Applied.NO)) {
            // It may have been passed on.
            held.end(EndCause.RELEASED);
            s.returns.abandon(held);
          }
          held.undoubt();
          if (error == null) {
            held.acknowledge();
            result.complete(r.getResigned());
          } else {
            result.completeExceptionally(error);
          }
        });
  }
}
