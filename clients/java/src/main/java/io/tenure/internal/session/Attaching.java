package io.tenure.internal.session;

import io.tenure.CloseCause;
import io.tenure.internal.Futures;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Errors;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.SessionServiceGrpc;
import java.util.concurrent.CompletableFuture;

/** How a session attaches to members and asks them for the truth about itself. Only the loop touches it. */
final class Attaching {
  private static final long ATTACH_NANOS = 2_000_000_000L;

  private final SessionCore session;
  private long attempts;

  Attaching(SessionCore session) {
    this.session = session;
  }

  /** The session was taken over, which is the first attempt. */
  void takenOver() {
    attempts = 1;
  }

  /** Brings what is held here in line with what the cluster says, over this connection; {@code told} runs between pages. */
  CompletableFuture<Void> attach(Connection c, Runnable told) {
    return ask(c, ++attempts, told).handle((truth, error) -> {
      if (error != null) {
        Errors.Failure failure = Errors.read(Futures.error(error));
        refused(failure);
        session.notRenewed(failure.error());
        throw failure.error();
      }
      session.life.attached();
      session.holds.reconcile(truth);
      return null;
    });
  }

  /** Asks over this connection what the session still holds, and ends what was taken away. If that fails, nothing changes. */
  void reconcile(Connection c) {
    ask(c, 0, () -> { }).thenAccept(truth -> {
      session.look(session.client.clock.nanos()); // What ended before this is told so.
      session.holds.endLost(truth);
    });
  }

  private CompletableFuture<Truth> ask(Connection c, long attempt, Runnable told) {
    return Truth.ask(request(attempt), page -> {
      if (!page.getPageToken().isEmpty()) {
        told.run();
      }
      return session.client.calls.once(c, SessionServiceGrpc.getAttachSessionMethod(), page, ATTACH_NANOS);
    });
  }

  /** Returns the request for the truth about the session; attempt 0 stands outside of the order of attempts. */
  AttachSessionRequest request(long attempt) {
    return AttachSessionRequest.newBuilder()
        .setSessionId(session.id()).setInstanceId(session.instance()).setAttempt(attempt).setOptions(session.calls.identity()).build();
  }

  /** Has the truth about the session asked for as soon as possible. */
  void again() {
    session.life.mustAttach();
    session.client.keeper.hurry(session);
  }

  private void refused(Errors.Failure f) {
    switch (f.error().kind()) {
      case SESSION_EXPIRED, SESSION_NOT_FOUND -> session.over(CloseCause.EXPIRED);
      case SESSION_SUPERSEDED -> session.over(CloseCause.SUPERSEDED);
      default -> {
        if (f.reason().equals("SESSION_SECRET_WRONG")) {
          session.over(CloseCause.AUTH_FAILED);
        }
        // Tried again, and not behind what another process of the same name did.
        if (f.reason().equals("ATTEMPT_OUTDATED")) {
          attempts = Math.max(attempts, Errors.number(f.error().details().get("attempt")));
        }
      }
    }
  }
}
