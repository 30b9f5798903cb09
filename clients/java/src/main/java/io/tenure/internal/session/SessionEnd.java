package io.tenure.internal.session;

import io.tenure.Applied;
import io.tenure.CloseCause;
import io.tenure.ErrorKind;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.line.Calls;
import io.tenure.v1.DestroySessionRequest;
import io.tenure.v1.RenewSessionRequest;
import io.tenure.v1.SessionServiceGrpc;
import java.util.concurrent.CompletableFuture;

/** How one session ends by its user's will: destroyed, or handed over to another process. Only the loop touches it. */
public final class SessionEnd {
  private static final long CLOSE_NANOS = 10_000_000_000L;
  /** How long a handover may take, up to the end of the last renewal. The TTL runs on meanwhile. */
  private static final long EXPORT_NANOS = 3_000_000_000L;
  /** How much of that what is given back before may take. */
  private static final long LEAVE_NANOS = 2_000_000_000L;
  private static final long LOOK_AGAIN_NANOS = 25_000_000L;

  private final SessionCore session;
  private CompletableFuture<Void> ending;
  /** Whether it is being handed over: nobody may ask for a lock any more. */
  private boolean leaving;

  SessionEnd(SessionCore session) {
    this.session = session;
  }

  /** Ends the session, and has it destroyed: clean, unless a process before may still believe in what it holds. */
  public CompletableFuture<Void> close() {
    if (session.state() == SessionState.CLOSED) {
      return ending == null ? CompletableFuture.completedFuture(null) : ending.copy();
    }
    boolean clean = !session.inheritance.isDoubted();
    session.over(CloseCause.CLOSED);
    DestroySessionRequest request = DestroySessionRequest.newBuilder()
        .setSessionId(session.id()).setClean(clean).setOptions(session.calls.identity()).build();
    long until = session.client.clock.nanos() + CLOSE_NANOS;
    ending = session.client.calls
        .call(SessionServiceGrpc.getDestroySessionMethod(), request, patience(until, "session left to its TTL"))
        // When nobody can be told, the TTL ends it; the user asked for an end and has it.
        .handle((r, e) -> null);
    session.client.ends(ending);
    return ending.copy();
  }

  /**
   * Leaves the queues, stops using the session, and returns the token with which another process goes on. A last renewal gives that a
   * whole TTL; without it the session lives for what is left of one. Only the cluster's word that it is over makes it fail.
   */
  public CompletableFuture<String> export() {
    if (session.state() == SessionState.CLOSED) {
      return CompletableFuture.failedFuture(session.calls.overError(Applied.NO));
    }
    long begun = session.client.clock.nanos();
    leaving = true;
    session.holds.leaveQueues(Causes.ofCalls(CloseCause.EXPORTED, session.id(), Applied.NO));
    CompletableFuture<Void> left = new CompletableFuture<>();
    awaitLeft(begun + LEAVE_NANOS, left);
    return left.thenCompose(v -> handOver(begun + EXPORT_NANOS));
  }

  /**
   * Waits until no call may be told of a hold, and nothing is on its way back: of what one leaves behind, nobody would know. What takes
   * longer is the next process's.
   */
  private void awaitLeft(long until, CompletableFuture<Void> left) {
    boolean open = session.holds.isAsking() || session.returns.isLeaving();
    if (open && session.state() != SessionState.CLOSED && session.client.clock.nanos() < until) {
      session.client.loop.after(LOOK_AGAIN_NANOS, () -> awaitLeft(until, left));
    } else {
      left.complete(null);
    }
  }

  private CompletableFuture<String> handOver(long until) {
    if (session.state() == SessionState.CLOSED) { // It ended meanwhile.
      return CompletableFuture.failedFuture(session.calls.overError(Applied.NO));
    }
    session.over(CloseCause.EXPORTED);
    RenewSessionRequest request =
        RenewSessionRequest.newBuilder().setSessionId(session.id()).setOptions(session.calls.identity()).build();
    return session.client.calls
        .call(SessionServiceGrpc.getRenewSessionMethod(), request, patience(until, "the session was not renewed"))
        .handle((r, e) -> {
          if (e != null && session.calls.underSession(e) instanceof TenureException.SessionOver over) {
            throw over;
          }
          // While the previous process may still rely on the session, so may the one that follows this one.
          return token(!session.inheritance.isDoubted());
        });
  }

  /** Returns why nobody may ask for a lock any more; null while it may be asked for. */
  public TenureException noLocks() {
    if (session.state() == SessionState.CLOSED) {
      return session.calls.overError(Applied.NO);
    }
    return leaving ? Causes.ofCalls(CloseCause.EXPORTED, session.id(), Applied.NO) : null;
  }

  public String token(boolean handedOver) {
    return new SessionToken(
        session.id(), session.secret().toByteArray(), session.epoch(), session.ttl(), handedOver).text();
  }

  /** Returns the patience of a call that is made for a session that is over here. */
  private Calls.Patience patience(long until, String otherwise) {
    return sent -> session.client.clock.nanos() > until
        ? Exceptions.of(ErrorKind.UNAVAILABLE, Applied.UNKNOWN, otherwise) : null;
  }
}
