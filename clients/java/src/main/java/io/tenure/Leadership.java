package io.tenure;

import com.google.protobuf.ByteString;
import io.tenure.internal.Await;
import io.tenure.internal.Wire;
import io.tenure.internal.session.SessionCore;
import io.tenure.v1.ElectionServiceGrpc;
import io.tenure.v1.ProclaimRequest;
import io.tenure.v1.ResignRequest;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** A held leadership. Close it to resign. Any thread can use it. */
public final class Leadership implements AutoCloseable {
  private final Held held;

  Leadership(Held held) {
    this.held = held;
  }

  /** {@return the underlying hold: its token, how long it is safe, and callbacks for its end} */
  public Held held() {
    return held;
  }

  /** {@return whether this session certainly leads at this moment; see {@link Held#isSafe}} */
  public boolean isSafe() {
    return held.isSafe();
  }

  /**
   * Changes the leader's value. If this session no longer leads, it fails as {@link TenureException.StaleToken}.
   *
   * @param value the new value
   */
  public void proclaim(String value) {
    proclaim(value.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Changes the leader's value. If this session no longer leads, it fails as {@link TenureException.StaleToken}.
   *
   * @param value the new value
   */
  public void proclaim(byte[] value) {
    Await.of(proclaimInner(value));
  }

  /**
   * Changes the leader's value; see {@link #proclaim(byte[])}.
   *
   * @param value the new value
   * @return a future that completes when that is done
   */
  public CompletableFuture<Void> proclaimAsync(byte[] value) {
    return held.core().session().client.loop.shown(proclaimInner(value));
  }

  /**
   * Resigns in favor of the next in the queue.
   *
   * @return whether it led until now
   */
  public boolean resign() {
    return held.release();
  }

  /**
   * Resigns in favor of the next in the queue; see {@link #resign}.
   *
   * @return a future of whether it led until now
   */
  public CompletableFuture<Boolean> resignAsync() {
    return held.releaseAsync();
  }

  /**
   * Resigns in favor of a named candidate that waits. Until the response has arrived, {@link #isSafe} is false, because the candidate
   * may lead already. If the thread is interrupted, this returns, and the resignation continues.
   *
   * @param sessionId the session of the candidate
   * @param owner the name of the candidate within its session
   * @return whether it resigned; false if leadership had ended before
   * @throws TenureException of kind CANDIDATE_NOT_FOUND if the candidate does not wait; then this session still leads
   */
  public boolean resignTo(String sessionId, String owner) {
    return Await.of(resignInner(sessionId, owner));
  }

  /**
   * Resigns in favor of a named candidate; see {@link #resignTo}. Cancelling the future does not undo it.
   *
   * @param sessionId the session of the candidate
   * @param owner the name of the candidate within its session
   * @return a future of whether it resigned
   */
  public CompletableFuture<Boolean> resignToAsync(String sessionId, String owner) {
    return held.core().session().client.loop.shown(resignInner(sessionId, owner));
  }

  /**
   * Resigns; fails if leadership was lost before. If {@link #resignTo} passed it on, or may have, that is not a loss. See
   * {@link Held#close}.
   *
   * @throws TenureException.StaleToken of kind NOT_HELD if leadership was lost before
   */
  @Override
  public void close() {
    held.close();
  }

  private CompletableFuture<Void> proclaimInner(byte[] value) {
    SessionCore s = held.core().session();
    return s.client.onLoop(() -> s.calls.change(ElectionServiceGrpc.getProclaimMethod(), o -> ProclaimRequest.newBuilder()
        .setKey(held.core().fullKey()).setSequencer(Wire.sequencer(held.sequencer())).setValue(ByteString.copyFrom(value))
        .setOptions(o).build()).thenApply(r -> null));
  }

  private CompletableFuture<Boolean> resignInner(String sessionId, String owner) {
    Objects.requireNonNull(sessionId, "sessionId");
    Objects.requireNonNull(owner, "owner");
    // At once, and until it is known: the candidate may lead before the answer is here.
    held.core().doubt();
    CompletableFuture<Boolean> result = new CompletableFuture<>();
    held.core().session().client.onLoop(result, () -> resign(sessionId, owner, result));
    return result;
  }

  /** Asks the cluster. What comes of that is noted whether or not the caller still waits for it. */
  private void resign(String sessionId, String owner, CompletableFuture<Boolean> result) {
    SessionCore s = held.core().session();
    s.look(s.client.clock.nanos());
    if (held.core().hasEnded()) {
      held.core().undoubt();
      held.core().acknowledge();
      result.complete(false);
      return;
    }
    s.calls.change(ElectionServiceGrpc.getResignMethod(), o -> ResignRequest.newBuilder()
        .setKey(held.core().fullKey()).setSessionId(s.id()).setLockIndex(held.lockIndex()).setToSessionId(sessionId)
        .setToOwner(owner).setOptions(o.setOwner(held.owner())).build()).whenComplete((r, error) -> {
          s.look(s.client.clock.nanos()); // What ended before this is told so.
          if (error == null) {
            if (r.getResigned()) {
              held.core().mayBePassedOn();
            }
            held.core().end(r.getResigned() ? EndCause.RELEASED : EndCause.TAKEN_AWAY);
          } else if (!(error instanceof TenureException e && e.applied() == Applied.NO)) {
            held.core().mayBePassedOn();
            held.core().end(EndCause.RELEASED);
            s.returns.abandon(held.core());
          }
          held.core().undoubt();
          if (error == null) {
            held.core().acknowledge();
            result.complete(r.getResigned());
          } else {
            result.completeExceptionally(error);
          }
        });
  }
}
