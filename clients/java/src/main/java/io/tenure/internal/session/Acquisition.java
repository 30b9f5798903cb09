package io.tenure.internal.session;

import com.google.protobuf.ByteString;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.internal.Backoff;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Errors;
import io.tenure.v1.AcquireLockRequest;
import io.tenure.v1.AcquireLockResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.LockRejectedStep;
import io.tenure.v1.LockServiceGrpc;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * One wait for a lock. The stream may break and be opened again, on any member: session and owner find the place. It ends
 * with the hold, with the caller's deadline or cancellation (the place is given up, and a hold that came first is released),
 * or with the session. Only the loop touches it.
 */
public final class Acquisition {
  private static final long LEAVE_NANOS = 2_000_000_000L;
  private static final long LOOK_AGAIN_NANOS = 25_000_000L;

  private final SessionCore session;
  private final String fullKey;
  private final String owner;
  private final Terms options;
  private final long begun;
  private final long deadline;
  private final CompletableFuture<HeldCore> future = new CompletableFuture<>();
  private final Runnable next = this::open;
  private long sequence;
  /** The number of the last request that was given up unanswered, and may come to the cluster still. */
  private long unanswered;
  private Stream stream;
  private boolean sent;
  /** Whether a stream under this number broke, and its request may be applied still. */
  private boolean maybe;
  private boolean queuedOnce;
  /** The lock when the wait began, or began again. */
  private io.tenure.v1.Lock lock = io.tenure.v1.Lock.getDefaultInstance();
  private int failures;
  private boolean refused;
  private boolean leaving;
  /** What the caller is told when no member says in time what became of the place that was given up, and when. */
  private TenureException unheard;
  private long unheardAt;

  /** Begins to wait; without a time, for as long as the session lives. */
  public Acquisition(SessionCore session, String fullKey, String owner, Terms options, Optional<Duration> wait) {
    this.session = session;
    this.fullKey = fullKey;
    this.owner = owner;
    this.options = options;
    this.begun = session.client.clock.nanos();
    this.deadline = wait.map(w -> begun + Wire.nanos(w)).orElse(Long.MAX_VALUE);
  }

  public CompletableFuture<HeldCore> start() {
    TenureException none = session.end.noLocks();
    if (none != null) {
      future.completeExceptionally(none);
      return future;
    }
    session.holds.add(this);
    arm(deadline);
    future.whenComplete((h, e) -> session.client.loop.run(() -> ended(h)));
    open();
    return future;
  }

  private void arm(long until) {
    if (until != Long.MAX_VALUE) {
      long left = Math.max(0, until - session.client.clock.nanos());
      var timer = session.client.loop.after(left, () -> look(session.client.clock.nanos()));
      future.whenComplete((h, e) -> timer.cancel(false));
    }
  }

  /** Looks at the clock. */
  void look(long now) {
    if (future.isDone()) {
      return;
    }
    if (unheard != null && now >= unheardAt) {
      future.completeExceptionally(unheard);
      return;
    }
    if (now >= deadline) {
      giveUp(Exceptions.of(ErrorKind.TIMEOUT, Applied.NO,
          "lock " + key() + " was not granted in time" + heldBy(lock)));
      return;
    }
    // The end of the session is told by itself.
    TenureException over = session.state() == SessionState.CLOSED ? null : session.calls.endOfPatience(begun, queuedOnce);
    if (over != null) {
      giveUp(over);
    }
  }

  /** Ends the wait because its session did, or because it cannot be granted. */
  void fail(Throwable why) {
    future.completeExceptionally(why);
  }

  /** Gives the place up, tells the cluster so, and then the caller; the latter without it when no member answers. */
  void giveUp(TenureException why) {
    if (leaving) {
      return;
    }
    stopWaiting();
    // A grant wrote the value, whatever becomes of the hold.
    Applied doubt = sent && options.value().isPresent() ? Applied.UNKNOWN : Applied.NO;
    unheard = Exceptions.with(why, doubt);
    unheardAt = session.client.clock.nanos() + LEAVE_NANOS;
    arm(unheardAt);
    leave().whenComplete((hold, error) -> {
      boolean granted = error == null && options.value().isPresent() && hold.isPresent();
      Applied applied = granted ? Applied.YES : error == null ? Applied.NO : doubt;
      future.completeExceptionally(Exceptions.with(why, applied));
    });
  }

  private void stopWaiting() {
    unanswered = Math.max(unanswered, sequence);
    doneWithId();
    session.client.link.forget(next);
    Stream s = stream;
    stream = null;
    if (s != null) {
      s.end();
    }
  }

  /** Cleans up after the end, whoever brought it about: a grant, a refusal, the deadline, or the user's cancel. */
  private void ended(HeldCore granted) {
    session.holds.remove(this);
    stopWaiting();
    if (granted == null && session.state() != SessionState.CLOSED && !refused && !leaving) {
      leave();
    }
    session.returns.settle(fullKey, owner);
  }

  /** Gives the place up; returns the hold that it became before, which is then given back. */
  private CompletableFuture<Optional<Hold>> leave() {
    leaving = true;
    if (!sent) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    return session.returns.leaveUnlessUsed(fullKey, owner, unanswered, this);
  }

  private void refuse(Throwable why) {
    refused = true;
    future.completeExceptionally(why);
  }

  private void doneWithId() {
    if (sequence != 0) {
      session.calls.ids().done(sequence);
      sequence = 0;
      maybe = false;
    }
  }

  String fullKey() {
    return fullKey;
  }

  String owner() {
    return owner;
  }

  private String key() {
    return session.client.namespace.strip(fullKey);
  }

  boolean isFor(String key, String by) {
    return fullKey.equals(key) && owner.equals(by);
  }

  /** Begins anew: what the owner had of the lock is on its way back. */
  void restart() {
    restart(0);
  }

  private void restart(long after) {
    if (stream != null && !leaving && !future.isDone()) {
      stopWaiting();
      queuedOnce = false;
      session.client.loop.after(after, this::open);
    }
  }

  private void open() {
    if (future.isDone() || leaving) {
      return;
    }
    if (session.returns.isLeaving(fullKey, owner)) {
      session.client.loop.after(LOOK_AGAIN_NANOS, this::open);
      return;
    }
    Connection c = session.client.link.current();
    if (c == null) {
      session.client.link.whenUp(next);
      return;
    }
    // Session and owner name the place. Each stream has a number until its first answer, so that one that may still be on its way
    // can be known to be done; another one for want of an answer has the same.
    if (sequence == 0) {
      sequence = session.calls.ids().draw(this::open);
      if (sequence == 0) {
        return;
      }
    }
    sent = true;
    stream = new Stream(c);
  }

  private AcquireLockRequest request() {
    io.tenure.v1.CallOptions.Builder o = session.calls.identity().setOwner(owner);
    if (sequence != 0) {
      o.setRequestId(session.calls.requestId(sequence));
    }
    AcquireLockRequest.Builder r = AcquireLockRequest.newBuilder()
        .setKey(fullKey).setSessionId(session.id()).setMode(Wire.mode(options.mode()))
        .setPermits(options.permits()).setLimit(options.limit()).setLeaveOnDisconnect(false).setOptions(o);
    options.value().ifPresent(v -> r.setValue(ByteString.copyFrom(v)));
    // No time-out over there: with a request id the same request must be sent again, and this side keeps the time.
    return r.build();
  }

  private void again(Stream s) {
    if (stream == s && !future.isDone() && !leaving) {
      stream = null;
      session.client.loop.after(
          failures++ == 0 ? 0 : Backoff.pauseNanos(failures, session.client.random), this::open);
    }
  }

  private void granted(Stream s, Hold hold) {
    session.holds.believe(hold, () -> stream == s && !future.isDone(), held -> {
      if (!future.complete(held)) {
        held.unclaim();
      }
    }, () -> restart(LOOK_AGAIN_NANOS), why -> {
      if (stream == s) {
        refuse(why);
      }
    });
  }

  private void rejected(LockRejectedStep step) {
    String key = key();
    switch (step.getCause()) {
      case WAIT_END_CAUSE_TIMED_OUT ->
          refuse(Exceptions.of(
              ErrorKind.TIMEOUT, Applied.NO, "lock " + key + " was not granted in time" + heldBy(lock)));
      case WAIT_END_CAUSE_SESSION_ENDED -> {
        session.client.keeper.hurry(session);
        refuse(Exceptions.of(ErrorKind.SESSION_EXPIRED, Applied.NO, "session " + session.id() + " ended"));
      }
      case WAIT_END_CAUSE_CANCELLED ->
          refuse(Exceptions.of(ErrorKind.CANCELLED, Applied.NO, "the wait for lock " + key + " was cancelled"));
      default -> refuse(Exceptions.of(ErrorKind.WAIT_ENDED, Applied.NO,
          "an operator ended the wait for lock " + key + (step.getReason().isEmpty() ? "" : ": " + step.getReason())));
    }
  }

  /** Returns the end of a message that says whose a lock is: its first holder's, or theirs whose lock-delay is left. */
  public static String heldBy(io.tenure.v1.Lock lock) {
    if (lock.getHoldsCount() > 0) {
      return ": held by " + name(lock.getHolds(0));
    }
    return lock.getDelayedCount() > 0 ? ": lock-delay after a hold by " + name(lock.getDelayed(0)) : "";
  }

  private static String name(Hold hold) {
    String session = "session " + hold.getSequencer().getSessionId();
    return hold.getSessionName().isEmpty() ? session : '"' + hold.getSessionName() + "\" (" + session + ")";
  }

  /** One AcquireLock stream. */
  private final class Stream implements ClientResponseObserver<AcquireLockRequest, AcquireLockResponse> {
    private final Connection connection;
    private ClientCallStreamObserver<AcquireLockRequest> out;
    private boolean granted;

    Stream(Connection c) {
      this.connection = c;
      ClientCalls.asyncServerStreamingCall(
          c.stream(LockServiceGrpc.getAcquireLockMethod()), request(), this);
    }

    void end() {
      out.cancel("no longer needed", null);
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<AcquireLockRequest> requests) {
      out = requests;
    }

    @Override
    public void onNext(AcquireLockResponse r) {
      session.client.link.answered(connection);
      if (stream != this || future.isDone()) {
        return;
      }
      doneWithId();
      switch (r.getStepCase()) {
        case QUEUED -> {
          queuedOnce = true;
          failures = 0;
          lock = r.getQueued().getLock();
          int position = r.getQueued().getPlace().getPosition();
          options.queued().ifPresent(q -> session.events().execute(() -> q.accept(position)));
        }
        case MOVED -> {
          int position = r.getMoved().getPosition();
          options.queued().ifPresent(q -> session.events().execute(() -> q.accept(position)));
        }
        case GRANTED -> {
          granted = true;
          granted(this, r.getGranted());
        }
        case REJECTED -> rejected(r.getRejected());
        default -> {
          // A step of a later version.
        }
      }
    }

    @Override
    public void onError(Throwable t) {
      if (stream != this || future.isDone() || granted) {
        return;
      }
      Errors.Failure f = Errors.read(t);
      if (f.retry()) {
        maybe |= f.error().applied() != Applied.NO;
        again(this);
      } else if (Errors.isWindowFull(f.error())) {
        if (!maybe) {
          doneWithId();
        }
        again(this);
      } else if (queuedOnce || failures > 0 || unanswered > 0 || f.error().applied() != Applied.NO) {
        // This stream or an earlier one may have left a place, or a hold.
        fail(session.calls.underSession(f.error()));
      } else {
        refuse(session.calls.underSession(f.error()));
      }
    }

    @Override
    public void onCompleted() {
      if (!granted) {
        maybe = true;
        again(this);
      }
    }
  }
}
