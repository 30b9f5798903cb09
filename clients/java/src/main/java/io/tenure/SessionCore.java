package io.tenure;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.CallOptions;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.DestroySessionRequest;
import io.tenure.v1.Hold;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.Place;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.RenewSessionRequest;
import io.tenure.v1.RenewSessionResponse;
import io.tenure.v1.RequestID;
import io.tenure.v1.SessionHint;
import io.tenure.v1.SessionServiceGrpc;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;

/** The state of one session. Only the loop changes it; the volatile parts may be read by anybody. */
final class SessionCore {
  private static final Duration JEOPARDY_CALLS_MAX = Duration.ofSeconds(45);
  private static final long AFTER_CLOSE_NANOS = 3_000_000_000L;
  private static final long CLOSE_NANOS = 10_000_000_000L;
  private static final long GIVE_BACK_AGAIN_NANOS = 1_000_000_000L;
  private static final long ATTACH_NANOS = 2_000_000_000L;

  final ClientCore client;
  private final String id;
  private final ByteString secret;
  private final ByteString instance;
  private final long epoch;
  private final Duration ttl;
  private final Duration renewEvery;
  private final Lease lease = new Lease();
  private final RequestIds ids = new RequestIds();
  private final Set<Held> held = new HashSet<>();
  private final Set<Acquisition> acquisitions = new HashSet<>();
  /** Owners whose holds and places the user gave up, or lost the belief in, while nobody could be told. */
  private final Set<String> abandoned = new HashSet<>();
  /** How many calls give back a hold or a place just now, by key and owner. Until they end, nobody else may take it up. */
  private final Map<String, Integer> leaving = new HashMap<>();
  private final List<Runnable> whenSafe = new ArrayList<>();
  private final List<Consumer<SessionChange>> listeners = new ArrayList<>();
  private final Executor events;
  private final CompletableFuture<CloseCause> over = new CompletableFuture<>();
  private volatile SessionState state = SessionState.CONNECTING;
  private volatile CloseCause cause;
  private long changedAt;
  private long attempts;
  private boolean needsAttach;
  /** From when on inherited holds can be believed; the end of the old process's lease. */
  private long inheritFrom;
  private boolean oldMayRun;

  /** What makes a session what it is. */
  record Identity(
      String id, ByteString secret, ByteString instance, long epoch, Duration ttl, Duration renewEvery) {}

  SessionCore(ClientCore client, Identity who, Executor events) {
    this.client = client;
    this.id = who.id();
    this.secret = who.secret();
    this.instance = who.instance();
    this.epoch = who.epoch();
    this.ttl = who.ttl();
    this.renewEvery = who.renewEvery();
    this.events = events;
  }

  String id() {
    return id;
  }

  ByteString secret() {
    return secret;
  }

  long epoch() {
    return epoch;
  }

  Duration ttl() {
    return ttl;
  }

  Duration renewEvery() {
    return renewEvery;
  }

  SessionState state() {
    return state;
  }

  Optional<CloseCause> cause() {
    return Optional.ofNullable(cause);
  }

  Lease lease() {
    return lease;
  }

  Executor events() {
    return events;
  }

  CompletableFuture<CloseCause> over() {
    return over;
  }

  boolean isSafe() {
    return lease.isSafe(client.clock.nanos());
  }

  boolean needsAttach() {
    return needsAttach;
  }

  // What happens to the session.

  /** The cluster made the session, on a request that was sent at that time. */
  void created(long sentAt) {
    lease.acknowledged(sentAt, ttl);
    client.sessions.add(this);
    client.keeper.add(this);
    become(SessionState.CONNECTED);
  }

  /** The session was taken over from another process; the next renewal begins its lease here. */
  void takenOver(boolean mayRun, long inheritFrom) {
    this.oldMayRun = mayRun;
    this.inheritFrom = inheritFrom;
    this.attempts = 1;
    client.sessions.add(this);
    client.keeper.add(this);
    client.keeper.hurry(this);
  }

  void linkDown() {
    needsAttach = true;
    if (state == SessionState.CONNECTED) {
      become(SessionState.SUSPENDED);
    }
  }

  void renewed(long sentAt) {
    look(client.clock.nanos());
    lease.acknowledged(sentAt, ttl);
    if (state == SessionState.CLOSED || !lease.isSafe(client.clock.nanos())) {
      return;
    }
    if (state == SessionState.JEOPARDY && needsAttach) {
      // First what became of the holds, then the good news.
      client.keeper.hurry(this);
      return;
    }
    become(SessionState.CONNECTED);
    List<Runnable> tasks = List.copyOf(whenSafe);
    whenSafe.clear();
    tasks.forEach(Runnable::run);
  }

  /** Looks at the clock. */
  void look(long now) {
    boolean believed = state == SessionState.CONNECTED || state == SessionState.SUSPENDED;
    if (believed && !lease.isSafe(now)) {
      needsAttach = true;
      for (Held h : List.copyOf(held)) {
        abandoned.add(h.owner());
        h.end(EndCause.LEASE_RAN_OUT);
      }
      become(SessionState.JEOPARDY);
      client.keeper.hurry(this);
    }
    for (Acquisition a : List.copyOf(acquisitions)) {
      a.look(now);
    }
  }

  /** The session is over. */
  void over(CloseCause why) {
    if (state == SessionState.CLOSED) {
      return;
    }
    look(client.clock.nanos()); // What ended before this is told so.
    cause = why;
    lease.end();
    client.keeper.remove(this);
    client.sessions.remove(this);
    for (Held h : List.copyOf(held)) {
      h.end(endOf(why));
    }
    become(SessionState.CLOSED);
    for (Acquisition a : List.copyOf(acquisitions)) {
      a.fail(overError(Applied.UNKNOWN));
    }
    whenSafe.clear();
    over.complete(why);
  }

  private static EndCause endOf(CloseCause why) {
    return switch (why) {
      case CLOSED -> EndCause.SESSION_CLOSED;
      case EXPIRED, AUTH_FAILED -> EndCause.SESSION_ENDED;
      case SUPERSEDED -> EndCause.SUPERSEDED;
      case EXPORTED -> EndCause.EXPORTED;
    };
  }

  /** Returns why nothing is held any more at this moment, by what is known and by the clock; null while something may be. */
  EndCause whyOver() {
    boolean safe = isSafe(); // Before the cause: a session that is over has one first, and no lease then.
    CloseCause why = cause;
    if (why != null) {
      return endOf(why);
    }
    return safe ? null : EndCause.LEASE_RAN_OUT;
  }

  void hint(SessionHint hint) {
    if (hint.hasLost()) {
      lost(hint.getLost().getSequencer().getKey(), hint.getLost().getSequencer().getLockIndex());
    }
  }

  private void lost(String fullKey, long lockIndex) {
    look(client.clock.nanos());
    for (Held h : List.copyOf(held)) {
      if (h.fullKey().equals(fullKey) && h.lockIndex() == lockIndex) {
        h.end(EndCause.TAKEN_AWAY);
      }
    }
  }

  private void become(SessionState to) {
    SessionState from = state;
    if (from == to || from == SessionState.CLOSED) {
      return;
    }
    state = to;
    changedAt = client.clock.nanos();
    SessionChange change = new SessionChange(from, to, cause());
    for (Consumer<SessionChange> l : listeners) {
      events.execute(() -> l.accept(change));
    }
  }

  /** Tells the listener the state now, and every change from now on. */
  void listen(Consumer<SessionChange> l) {
    SessionChange now = new SessionChange(state, state, cause());
    listeners.add(l);
    events.execute(() -> l.accept(now));
  }

  /** Tells the listener every change from now on; it knows the state now. */
  void listenLater(Consumer<SessionChange> l) {
    listeners.add(l);
  }

  void forget(Consumer<SessionChange> l) {
    listeners.remove(l);
  }

  // Attaching.

  /** Asks what the session has, over this connection, and brings what is held here in line with it. */
  CompletableFuture<Void> attach(Connection c) {
    AttachSessionRequest request = AttachSessionRequest.newBuilder()
        .setSessionId(id).setInstanceId(instance).setAttempt(++attempts).setOptions(identity()).build();
    return client.calls.once(c, SessionServiceGrpc.getAttachSessionMethod(), request, ATTACH_NANOS)
        .handle((response, error) -> {
          if (error != null) {
            refused(Errors.read(error));
            throw Errors.read(error).error();
          }
          needsAttach = false;
          reconcile(response);
          return null;
        });
  }

  private void refused(Errors.Failure f) {
    switch (f.error().kind()) {
      case SESSION_EXPIRED, SESSION_NOT_FOUND -> over(CloseCause.EXPIRED);
      case SESSION_SUPERSEDED -> over(CloseCause.SUPERSEDED);
      case AUTH_FAILED -> over(CloseCause.AUTH_FAILED);
      default -> {
        // Tried again.
      }
    }
  }

  private void reconcile(AttachSessionResponse truth) {
    Set<String> alive = new HashSet<>();
    for (Hold h : truth.getHoldsList()) {
      alive.add(name(h.getSequencer().getKey(), h.getSequencer().getLockIndex()));
      if (abandoned.contains(h.getOwner()) && !isHeld(h)) {
        giveBack(h.getSequencer().getKey(), h.getOwner(), h.getSequencer().getLockIndex());
      }
    }
    for (Place p : truth.getPlacesList()) {
      if (abandoned.contains(p.getOwner())) {
        cancelWait(p.getKey(), p.getOwner()).thenAccept(hold -> hold.ifPresent(
            h -> giveBack(p.getKey(), p.getOwner(), h.getSequencer().getLockIndex())));
      }
    }
    abandoned.clear();
    for (Held h : List.copyOf(held)) {
      // What was granted after the answer was made is not in it.
      boolean shown = Long.compareUnsigned(h.token(), truth.getHeader().getRevision()) <= 0;
      if (shown && !alive.contains(name(h.fullKey(), h.lockIndex()))) {
        h.end(EndCause.TAKEN_AWAY);
      }
    }
  }

  private boolean isHeld(Hold h) {
    return held.stream().anyMatch(known -> known.fullKey().equals(h.getSequencer().getKey())
        && known.lockIndex() == h.getSequencer().getLockIndex());
  }

  private static String name(String key, long lockIndex) {
    return lockIndex + ":" + key;
  }

  // Calls under the session.

  /** Returns the options that every call as this session carries. */
  CallOptions.Builder identity() {
    return CallOptions.newBuilder().setSessionSecret(secret).setEpoch(epoch);
  }

  /** Makes a change exactly once. The builder function gets the options with identity and request id. */
  <Q extends MessageLite, R> CompletableFuture<R> change(
      MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request) {
    CompletableFuture<R> result = new CompletableFuture<>();
    change(method, request, result);
    return result;
  }

  private <Q extends MessageLite, R> void change(
      MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request, CompletableFuture<R> result) {
    if (result.isDone()) {
      return;
    }
    if (state == SessionState.CLOSED) {
      result.completeExceptionally(overError(Applied.NO));
      return;
    }
    long sequence = ids.draw(() -> change(method, request, result));
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
    CompletableFuture<R> call = client.calls.call(method, q, this::patience);
    call.whenComplete((value, error) -> {
      ids.done(sequence);
      if (error == null) {
        result.complete(value);
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
    return client.calls.call(method, request, this::patience);
  }

  /** How long a call under the session may go on. */
  TenureException patience(boolean sent) {
    long now = client.clock.nanos();
    Applied applied = sent ? Applied.UNKNOWN : Applied.NO;
    if (state == SessionState.CLOSED && now - changedAt > AFTER_CLOSE_NANOS) {
      return overError(applied);
    }
    if (state == SessionState.JEOPARDY && now - changedAt > jeopardyMax()) {
      return TenureException.of(
          sent ? ErrorKind.OUTCOME_UNKNOWN : ErrorKind.UNAVAILABLE, applied,
          "no member answers, and the lease of session " + id + " ran out");
    }
    return null;
  }

  long jeopardyMax() {
    return Math.min(JEOPARDY_CALLS_MAX.toNanos(), 2 * ttl.toNanos());
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
        return TenureException.of(ErrorKind.SESSION_EXPIRED, e.applied(), e.getMessage(), e.details(), e);
      }
      default -> {
        // Of the call alone.
      }
    }
    return e;
  }

  TenureException overError(Applied applied) {
    return switch (cause == null ? CloseCause.CLOSED : cause) {
      case EXPIRED -> TenureException.of(ErrorKind.SESSION_EXPIRED, applied, "session " + id + " ended");
      case SUPERSEDED ->
          TenureException.of(ErrorKind.SESSION_SUPERSEDED, applied, "another process took over session " + id);
      case AUTH_FAILED ->
          TenureException.of(ErrorKind.AUTH_FAILED, applied, "the secret of session " + id + " was refused");
      case CLOSED -> TenureException.of(ErrorKind.SESSION_CLOSED, applied, "session " + id + " is closed");
      case EXPORTED ->
          TenureException.of(ErrorKind.SESSION_CLOSED, applied, "session " + id + " was handed over");
    };
  }

  // Holds.

  /** Whether what this owner had of the lock is on its way back, so that it must not be taken up again before. */
  boolean isLeaving(String fullKey, String owner) {
    return abandoned.contains(owner) || leaving.containsKey(owner + '\0' + fullKey);
  }

  /** Whether somebody else here has or waits for the lock under this owner. */
  boolean isUsed(String fullKey, String owner, Acquisition except) {
    return held.stream().anyMatch(h -> h.fullKey().equals(fullKey) && h.owner().equals(owner))
        || acquisitions.stream().anyMatch(a -> a != except && a.isFor(fullKey, owner));
  }

  /** Notes that a hold or place is on its way back until the call ends; waits of the same owner begin anew after it. */
  private <T> CompletableFuture<T> leaving(String fullKey, String owner, CompletableFuture<T> call) {
    String name = owner + '\0' + fullKey;
    leaving.merge(name, 1, Integer::sum);
    for (Acquisition a : List.copyOf(acquisitions)) {
      if (a.isFor(fullKey, owner)) {
        a.restart();
      }
    }
    call.whenComplete((r, e) -> leaving.computeIfPresent(name, (k, n) -> n == 1 ? null : n - 1));
    return call;
  }

  void holds(Held h) {
    held.add(h);
  }

  void holdsNoMore(Held h) {
    held.remove(h);
  }

  Set<Held> held() {
    return Set.copyOf(held);
  }

  void acquiring(Acquisition a) {
    acquisitions.add(a);
  }

  void acquiringNoMore(Acquisition a) {
    acquisitions.remove(a);
  }

  /** Runs the task once the lease is good; never if the session ends before. */
  void whenSafe(Runnable task) {
    if (state == SessionState.CONNECTED && isSafe()) {
      task.run();
    } else if (state != SessionState.CLOSED) {
      whenSafe.add(task);
      client.keeper.hurry(this);
    }
  }

  /** Has whatever this owner holds or waits for given back when a member answers again. */
  void abandon(String owner) {
    abandoned.add(owner);
    needsAttach = true;
    client.keeper.hurry(this);
  }

  CompletableFuture<Boolean> giveBack(String fullKey, String owner, long lockIndex) {
    CompletableFuture<Boolean> call = change(LockServiceGrpc.getReleaseLockMethod(), o -> ReleaseLockRequest.newBuilder()
        .setKey(fullKey).setSessionId(id).setLockIndex(lockIndex).setOptions(o.setOwner(owner)).build())
        .thenApply(r -> r.getReleased());
    call.whenComplete((r, e) -> {
      if (e != null && state != SessionState.CLOSED) {
        client.loop.after(GIVE_BACK_AGAIN_NANOS, () -> abandon(owner));
      }
    });
    return leaving(fullKey, owner, call);
  }

  CompletableFuture<Optional<Hold>> cancelWait(String fullKey, String owner) {
    return leaving(fullKey, owner, change(LockServiceGrpc.getCancelWaitMethod(), o -> CancelWaitRequest.newBuilder()
        .setKey(fullKey).setSessionId(id).setOptions(o.setOwner(owner)).build())
        .thenApply(r -> r.hasHold() ? Optional.of(r.getHold()) : Optional.empty()));
  }

  /** Waits until inherited holds can be believed and tells them. */
  CompletableFuture<List<Held>> inherited() {
    CompletableFuture<List<Held>> result = new CompletableFuture<>();
    long wait = Math.max(0, inheritFrom - client.clock.nanos());
    client.loop.after(wait, () -> whenSafe(() -> {
      AttachSessionRequest request = AttachSessionRequest.newBuilder()
          .setSessionId(id).setInstanceId(instance).setAttempt(++attempts).setOptions(identity()).build();
      read(SessionServiceGrpc.getAttachSessionMethod(), request).whenComplete((truth, error) -> {
        if (error != null) {
          result.completeExceptionally(underSession(error));
          return;
        }
        oldMayRun = false;
        List<Held> all = new ArrayList<>();
        for (Hold h : truth.getHoldsList()) {
          all.add(adopt(h));
        }
        result.complete(all);
      });
    }));
    over.thenAccept(c -> result.completeExceptionally(overError(Applied.NO)));
    return result;
  }

  /** Returns the Held of a hold: the one that there is, or a new one. */
  Held adopt(Hold h) {
    for (Held known : held) {
      if (known.fullKey().equals(h.getSequencer().getKey()) && known.lockIndex() == h.getSequencer().getLockIndex()) {
        return known;
      }
    }
    return new Held(this, h);
  }

  // The end.

  CompletableFuture<Void> close() {
    if (state == SessionState.CLOSED) {
      return CompletableFuture.completedFuture(null);
    }
    boolean clean = !oldMayRun || client.clock.nanos() >= inheritFrom;
    over(CloseCause.CLOSED);
    long until = client.clock.nanos() + CLOSE_NANOS;
    DestroySessionRequest request =
        DestroySessionRequest.newBuilder().setSessionId(id).setClean(clean).setOptions(identity()).build();
    return client.calls.call(SessionServiceGrpc.getDestroySessionMethod(), request, sent ->
            client.clock.nanos() > until
                ? TenureException.of(ErrorKind.UNAVAILABLE, Applied.UNKNOWN, "session left to its TTL") : null)
        // When nobody can be told, the TTL ends it; the user asked for an end and has it.
        .handle((r, e) -> null);
  }

  CompletableFuture<String> export() {
    if (state == SessionState.CLOSED) {
      return CompletableFuture.failedFuture(overError(Applied.NO));
    }
    over(CloseCause.EXPORTED);
    RenewSessionRequest request =
        RenewSessionRequest.newBuilder().setSessionId(id).setOptions(identity()).build();
    CompletableFuture<RenewSessionResponse> last =
        client.calls.call(SessionServiceGrpc.getRenewSessionMethod(), request, this::patience);
    return last.handle((r, e) -> {
      if (e != null && underSession(e) instanceof TenureException.SessionOver t) {
        throw t;
      }
      // As long as a process before this one may believe, so may whoever believes this one.
      return token(!oldMayRun || client.clock.nanos() >= inheritFrom);
    });
  }

  String token(boolean handedOver) {
    return new SessionToken(id, secret.toByteArray(), epoch, ttl, handedOver).text();
  }
}
