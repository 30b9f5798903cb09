package io.tenure.internal.session;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.tenure.Applied;
import io.tenure.CloseCause;
import io.tenure.EndCause;
import io.tenure.ErrorKind;
import io.tenure.SessionChange;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Loop;
import io.tenure.internal.RequestIds;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Calls;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Errors;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.CallOptions;
import io.tenure.v1.RequestID;
import io.tenure.v1.SessionHint;
import io.tenure.v1.SessionServiceGrpc;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;

/** The state of one session. Only the loop changes it; the volatile parts may be read by anybody. */
public final class SessionCore {
  /** When a process before may believe in what the session holds for as long as it runs. */
  static final long NEVER = Long.MAX_VALUE;

  private static final long WINDOW_FULL_NANOS = 50_000_000L;
  private static final long ATTACH_NANOS = 2_000_000_000L;

  public final ClientCore client;
  public final Holds holds = new Holds(this);
  public final Returns returns = new Returns(this);
  public final Inheritance inheritance = new Inheritance(this);
  public final SessionEnd end = new SessionEnd(this);
  /** What the loop does when the session is over; who adds to it takes it back. */
  public final List<Runnable> atEnd = new ArrayList<>();
  private final String id;
  private final Identity who;
  private final SessionLife life;
  private final RequestIds ids = new RequestIds();
  private final List<Waiting> waiting = new ArrayList<>();
  private final List<Consumer<SessionChange>> listeners = new ArrayList<>();
  private final Executor events;
  private long attempts;
  private long lapses;
  private volatile TenureException refusal;

  /** What makes a session what it is. */
  record Identity(
      String id, ByteString secret, ByteString instance, long epoch, Duration ttl, Duration renewEvery) {}

  /** What waits for the lease. */
  private record Waiting(long notBefore, Runnable task, Runnable over) {}

  SessionCore(ClientCore client, Identity who, Executor events) {
    this.client = client;
    this.who = who;
    this.id = who.id();
    this.life = new SessionLife(who.ttl());
    this.events = events;
  }

  public String id() {
    return id;
  }

  ByteString secret() {
    return who.secret();
  }

  public long epoch() {
    return who.epoch();
  }

  public Duration ttl() {
    return who.ttl();
  }

  Duration renewEvery() {
    return who.renewEvery();
  }

  public SessionState state() {
    return life.state();
  }

  /** The state as the clock has it, which the loop may not have looked at yet. */
  public SessionState stateNow() {
    return life.state(client.clock.nanos());
  }

  public Optional<CloseCause> cause() {
    return Optional.ofNullable(life.cause());
  }

  Executor events() {
    return events;
  }

  public boolean isSafe() {
    return life.isSafe(client.clock.nanos());
  }

  public Duration safeFor() {
    return life.safeFor(client.clock.nanos());
  }

  boolean needsAttach() {
    return life.needsAttach();
  }

  /** Why the cluster refuses to renew it; empty if the last attempt was not refused for want of a right or of a credential. */
  public Optional<TenureException> refusal() {
    return Optional.ofNullable(refusal);
  }

  // What happens to the session.

  /** An attempt to renew it failed. */
  void notRenewed(TenureException why) {
    refusal = why.kind() == ErrorKind.AUTH_FAILED ? Exceptions.withoutSession(why) : null;
  }

  /** The cluster made the session, on a request that was sent at that time. */
  void created(long sentAt) {
    client.sessions.add(this);
    client.keeper.add(this);
    follow(life.created(sentAt, client.clock.nanos()));
  }

  /** The session was taken over from another process; the next renewal begins its lease here. */
  void takenOver(Truth had, boolean mayRun) {
    inheritance.begin(had, !mayRun ? Long.MIN_VALUE : ttl().isZero() ? NEVER : client.clock.nanos() + ttl().toNanos());
    attempts = 1;
    client.sessions.add(this);
    client.keeper.add(this);
    client.keeper.hurry(this);
  }

  void linkDown() {
    follow(life.linkDown(client.clock.nanos()));
  }

  /** The cluster has refused to renew it for so long that its life is doubtful; the connection stands. */
  void denied() {
    follow(life.denied(client.clock.nanos()));
  }

  void renewed(long sentAt) {
    refusal = null;
    long now = client.clock.nanos();
    follow(life.renewed(sentAt, now));
    runWaiting(now);
    holds.look(now);
  }

  /** Looks at the clock. */
  public void look(long now) {
    follow(life.look(now));
    runWaiting(now);
    holds.look(now);
  }

  /** The session is over. */
  void over(CloseCause why) {
    if (life.state() == SessionState.CLOSED) {
      return;
    }
    long now = client.clock.nanos();
    look(now); // What ended before this is told so.
    SessionLife.Effects effects = life.close(why, now);
    client.keeper.remove(this);
    client.sessions.remove(this);
    holds.over(Causes.ofHolds(why));
    follow(effects);
    holds.fail(overError(Applied.UNKNOWN));
    List<Waiting> left = List.copyOf(waiting);
    waiting.clear();
    left.forEach(w -> w.over().run());
    List.copyOf(atEnd).forEach(Loop::guarded);
  }

  /** Carries out what follows from an event. */
  private void follow(SessionLife.Effects effects) {
    if (effects.ranOut()) {
      lapses++;
      holds.ranOut();
    }
    for (SessionChange change : effects.changes()) {
      for (Consumer<SessionChange> l : listeners) {
        events.execute(() -> l.accept(change));
      }
    }
    if (effects.hurry()) {
      client.keeper.hurry(this);
    }
  }

  /** Returns how often its lease has run out. */
  long lapses() {
    return lapses;
  }

  /** Returns why nothing is held any more at this moment, by what is known and by the clock; null while something may be. */
  EndCause whyOver() {
    boolean safe = isSafe(); // Before the cause: a session that is over has one first, and no lease then.
    CloseCause why = life.cause();
    if (why != null) {
      return Causes.ofHolds(why);
    }
    return safe ? null : EndCause.LEASE_RAN_OUT;
  }

  void hint(SessionHint hint) {
    if (hint.hasLost()) {
      look(client.clock.nanos());
      holds.lost(hint.getLost());
    }
  }

  /** Tells the listener the state now, and every change from now on. Any thread may call it. */
  public void listen(Consumer<SessionChange> l) {
    client.onLoop(() -> {
      listeners.add(l);
      tellNow(l);
      return CompletableFuture.completedFuture(null);
    }).exceptionally(closed -> {
      tellNow(l); // There will be no other.
      return null;
    });
  }

  private void tellNow(Consumer<SessionChange> l) {
    SessionChange now = new SessionChange(life.state(), life.state(), cause());
    events.execute(() -> l.accept(now));
  }

  /** Likewise for one that knows the state now. The loop calls it. */
  void listenLater(Consumer<SessionChange> l) {
    listeners.add(l);
  }

  public void forget(Consumer<SessionChange> l) {
    listeners.remove(l);
  }

  // Attaching.

  /** Brings what is held here in line with what the cluster says, over this connection; {@code told} runs between pages. */
  CompletableFuture<Void> attach(Connection c, Runnable told) {
    return ask(c, ++attempts, told).handle((truth, error) -> {
      if (error != null) {
        Errors.Failure failure = Errors.read(Futures.error(error));
        refused(failure);
        notRenewed(failure.error());
        throw failure.error();
      }
      life.attached();
      holds.reconcile(truth);
      return null;
    });
  }

  /** Asks over this connection what the session still holds, and ends what was taken away. If that fails, nothing changes. */
  void reconcile(Connection c) {
    ask(c, 0, () -> { }).thenAccept(truth -> {
      look(client.clock.nanos()); // What ended before this is told so.
      holds.endLost(truth);
    });
  }

  private CompletableFuture<Truth> ask(Connection c, long attempt, Runnable told) {
    return Truth.ask(attachRequest(attempt), request -> {
      if (!request.getPageToken().isEmpty()) {
        told.run();
      }
      return client.calls.once(c, SessionServiceGrpc.getAttachSessionMethod(), request, ATTACH_NANOS);
    });
  }

  /** Returns the request for the truth about the session; attempt 0 stands outside of the order of attempts. */
  AttachSessionRequest attachRequest(long attempt) {
    return AttachSessionRequest.newBuilder()
        .setSessionId(id).setInstanceId(who.instance()).setAttempt(attempt).setOptions(identity()).build();
  }

  /** Has the truth about the session asked for as soon as possible. */
  void attachAgain() {
    life.mustAttach();
    client.keeper.hurry(this);
  }

  private void refused(Errors.Failure f) {
    switch (f.error().kind()) {
      case SESSION_EXPIRED, SESSION_NOT_FOUND -> over(CloseCause.EXPIRED);
      case SESSION_SUPERSEDED -> over(CloseCause.SUPERSEDED);
      default -> {
        if (f.reason().equals("SESSION_SECRET_WRONG")) {
          over(CloseCause.AUTH_FAILED);
        }
        // Tried again, and not behind what another process of the same name did.
        if (f.reason().equals("ATTEMPT_OUTDATED")) {
          attempts = Math.max(attempts, Errors.number(f.error().details().get("attempt")));
        }
      }
    }
  }

  // Calls under the session.

  /** Returns the options that every call as this session carries. */
  CallOptions.Builder identity() {
    return CallOptions.newBuilder().setSessionSecret(who.secret()).setEpoch(who.epoch());
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
    if (life.state() == SessionState.CLOSED) {
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
    CompletableFuture<R> call = client.calls.change(method, q, patience, doubted);
    call.whenComplete((value, error) -> {
      ids.done(sequence);
      if (error == null) {
        result.complete(value);
      } else if (Errors.isWindowFull(error)) {
        client.loop.after(WINDOW_FULL_NANOS, () -> change(method, request, doubted, patience, result));
      } else {
        result.completeExceptionally(underSession(error));
      }
    });
    result.whenComplete((v, e) -> client.loop.run(() -> call.cancel(true)));
  }

  RequestID requestId(long sequence) {
    return RequestID.newBuilder().setSessionId(id).setSequence(sequence).setDoneBelow(ids.doneBelow()).build();
  }

  RequestIds ids() {
    return ids;
  }

  /** A call that only reads, as the session. */
  <Q, R> CompletableFuture<R> read(MethodDescriptor<Q, R> method, Q request) {
    if (life.state() == SessionState.CLOSED) {
      return CompletableFuture.failedFuture(overError(Applied.NO));
    }
    return client.calls.read(method, request, patience());
  }

  /** Returns how long a call under the session that begins now may go on. */
  Calls.Patience patience() {
    long begun = client.clock.nanos();
    return sent -> endOfPatience(begun, sent);
  }

  /** Returns why a call or a wait that began then must end now; null while it may go on. */
  public TenureException endOfPatience(long begun, boolean sent) {
    Applied applied = sent ? Applied.UNKNOWN : Applied.NO;
    ErrorKind kind = sent ? ErrorKind.OUTCOME_UNKNOWN : ErrorKind.UNAVAILABLE;
    String tried = "; tried " + client.link.tried();
    return switch (life.waiting(begun, client.clock.nanos())) {
      case ON -> null;
      case CLOSED -> overError(applied);
      case LEASE_OVER -> Exceptions.of(kind, applied, "no member answers, and the lease of session " + id + " has ended" + tried);
      case NO_MEMBER -> Exceptions.of(
          kind, applied, "no member answered for session " + id + " within " + Wire.text(SessionLife.OUTAGE_CALLS_MAX) + tried);
    };
  }

  /** Names an error as the user of a session should see it, and has the session looked after if it may be over. */
  Throwable underSession(Throwable error) {
    TenureException e = error instanceof TenureException t ? t : null;
    if (e == null) {
      return error;
    }
    switch (e.kind()) {
      case SESSION_EXPIRED, SESSION_SUPERSEDED, AUTH_FAILED -> client.keeper.hurry(this);
      case SESSION_NOT_FOUND -> {
        client.keeper.hurry(this);
        return Exceptions.of(ErrorKind.SESSION_EXPIRED, e.applied(), e.getMessage(), e.details(), e);
      }
      default -> {
        // Of the call alone.
      }
    }
    return e;
  }

  public TenureException overError(Applied applied) {
    return Causes.ofCalls(cause().orElse(CloseCause.CLOSED), id, applied);
  }

  // Waiting for the lease.

  /** Whether what is granted now can be believed at once. */
  boolean isBelieved() {
    return life.isBelieved(client.clock.nanos());
  }

  /** Runs the task once the lease is good, not before that time; {@code over} instead if the session ends before. */
  void whenSafe(long notBefore, Runnable task, Runnable over) {
    if (life.state() == SessionState.CLOSED) {
      over.run();
      return;
    }
    boolean believed = isBelieved();
    if (believed && client.clock.nanos() >= notBefore) {
      task.run();
      return;
    }
    waiting.add(new Waiting(notBefore, task, over));
    if (!believed) {
      client.keeper.hurry(this);
    }
  }

  private void runWaiting(long now) {
    if (waiting.isEmpty() || !isBelieved()) {
      return;
    }
    List<Waiting> due = waiting.stream().filter(w -> w.notBefore() <= now).toList();
    waiting.removeAll(due);
    due.forEach(w -> w.task().run());
  }

  /** Stops using the session without ending it: whoever has its token may go on with it. */
  public void detach() {
    over(CloseCause.EXPORTED);
  }
}
