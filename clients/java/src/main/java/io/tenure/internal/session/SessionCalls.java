package io.tenure.internal.session;

import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.tenure.Applied;
import io.tenure.CloseCause;
import io.tenure.ErrorKind;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.RequestIds;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Calls;
import io.tenure.internal.line.Errors;
import io.tenure.v1.CallOptions;
import io.tenure.v1.RequestID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** The calls that are made as one session, changes under its request ids. Only the loop makes them. */
public final class SessionCalls {
  private static final long WINDOW_FULL_NANOS = 50_000_000L;

  private final SessionCore session;
  private final RequestIds ids = new RequestIds();

  SessionCalls(SessionCore session) {
    this.session = session;
  }

  /** Returns the options that every call as this session carries. */
  CallOptions.Builder identity() {
    return CallOptions.newBuilder().setSessionSecret(session.secret()).setEpoch(session.epoch());
  }

  /** Makes a change exactly once. The builder function gets the options with identity and request id. */
  public <Q extends MessageLite, R> CompletableFuture<R> change(
      MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request) {
    return change(method, request, () -> { });
  }

  /** Likewise; {@code doubted} runs when an attempt failed that may have been applied, and another one is to be made. */
  public <Q extends MessageLite, R> CompletableFuture<R> change(
      MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request, Runnable doubted) {
    CompletableFuture<R> result = new CompletableFuture<>();
    change(method, request, doubted, patience(), result);
    return result;
  }

  private <Q extends MessageLite, R> void change(MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request,
      Runnable doubted, Calls.Patience patience, CompletableFuture<R> result) {
    if (result.isDone()) {
      return;
    }
    if (session.state() == SessionState.CLOSED) {
      result.completeExceptionally(overError(Applied.NO));
      return;
    }
    long sequence = ids.draw(() -> change(method, request, doubted, patience, result));
    if (sequence == 0) {
      return;
    }
    Q q;
    try {
      q = request.apply(identity().setRequestId(requestId(sequence)));
    } catch (RuntimeException e) {
      ids.done(sequence);
      result.completeExceptionally(e);
      return;
    }
    CompletableFuture<R> call = session.client.calls.change(method, q, patience, doubted);
    call.whenComplete((value, error) -> {
      ids.done(sequence);
      if (error == null) {
        result.complete(value);
      } else if (Errors.isWindowFull(error)) {
        session.client.loop.after(WINDOW_FULL_NANOS, () -> change(method, request, doubted, patience, result));
      } else {
        result.completeExceptionally(underSession(error));
      }
    });
    result.whenComplete((v, e) -> session.client.loop.run(() -> call.cancel(true)));
  }

  RequestID requestId(long sequence) {
    return RequestID.newBuilder().setSessionId(session.id()).setSequence(sequence).setDoneBelow(ids.doneBelow()).build();
  }

  RequestIds ids() {
    return ids;
  }

  /** A call that only reads, as the session. */
  <Q, R> CompletableFuture<R> read(MethodDescriptor<Q, R> method, Q request) {
    if (session.state() == SessionState.CLOSED) {
      return CompletableFuture.failedFuture(overError(Applied.NO));
    }
    return session.client.calls.read(method, request, patience());
  }

  /** Returns how long a call under the session that begins now may go on. */
  Calls.Patience patience() {
    long begun = session.client.clock.nanos();
    return sent -> endOfPatience(begun, sent);
  }

  /** Returns why a call or a wait that began then must end now; null while it may go on. */
  public TenureException endOfPatience(long begun, boolean sent) {
    Applied applied = sent ? Applied.UNKNOWN : Applied.NO;
    ErrorKind kind = sent ? ErrorKind.OUTCOME_UNKNOWN : ErrorKind.UNAVAILABLE;
    String tried = "; tried " + session.client.link.tried();
    return switch (session.life.waiting(begun, session.client.clock.nanos())) {
      case ON -> null;
      case CLOSED -> overError(applied);
      case LEASE_OVER -> Exceptions.of(kind, applied, "no member answers, and the lease of session " + session.id() + " has ended" + tried);
      case NO_MEMBER -> Exceptions.of(
          kind, applied, "no member answered for session " + session.id() + " within " + Wire.text(SessionLife.OUTAGE_CALLS_MAX) + tried);
    };
  }

  /** Names an error as the user of a session should see it, and has the session looked after if it may be over. */
  Throwable underSession(Throwable error) {
    TenureException e = error instanceof TenureException t ? t : null;
    if (e == null) {
      return error;
    }
    switch (e.kind()) {
      case SESSION_EXPIRED, SESSION_SUPERSEDED, AUTH_FAILED -> session.client.keeper.hurry(session);
      case SESSION_NOT_FOUND -> {
        session.client.keeper.hurry(session);
        return Exceptions.of(ErrorKind.SESSION_EXPIRED, e.applied(), e.getMessage(), e.details(), e);
      }
      default -> {
        // Of the call alone.
      }
    }
    return e;
  }

  public TenureException overError(Applied applied) {
    return Causes.ofCalls(session.cause().orElse(CloseCause.CLOSED), session.id(), applied);
  }
}
