package io.tenure.internal.session;

import com.google.protobuf.ByteString;
import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.SessionChange;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Calls;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.CreateSessionRequest;
import io.tenure.v1.CreateSessionResponse;
import io.tenure.v1.SessionBehavior;
import io.tenure.v1.SessionChecks;
import io.tenure.v1.SessionServiceGrpc;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;

/** How a client comes by its sessions. */
public final class Opening {
  private static final int SECRET_BYTES = 32;

  private static final long HOST_NANOS = 1_000_000_000L;
  private static final long UNDO_NANOS = 10_000_000_000L;

  private final ClientCore core;
  /** The name of this machine, empty when it has none or it takes long to find; null before anybody asks. */
  private CompletableFuture<String> host;
  /** Takeovers that were begun, until somebody has the session or has given it up. */
  private final Set<CompletableFuture<SessionCore>> takeovers = new HashSet<>();

  public Opening(ClientCore core) {
    this.core = core;
  }

  /** Opens a session. One that nobody takes, for its caller gave up or the client closed, is ended. */
  public CompletableFuture<SessionCore> open(SessionPlan options, Duration wait, Consumer<SessionChange> listener) {
    Calls.Patience patience = untilClosing(core.patience(wait), Applied.NO);
    Executor events = connecting(listener);
    Attempt attempt = new Attempt(patience, listener, events);
    return core.onLoop(attempt.opened, () -> {
      refuseIfClosing();
      if (core.keeper.size() >= Keeper.SESSIONS_MAX) {
        throw Exceptions.of(
            ErrorKind.LIMIT, Applied.NO, "a client can have " + Keeper.SESSIONS_MAX + " sessions; make another client");
      }
      host().thenAccept(at -> core.onLoop(attempt.opened, () -> {
        refuseIfClosing();
        attempt.begin(options, at);
      }));
    });
  }

  private void refuseIfClosing() {
    if (core.closing) {
      throw ClientCore.closedError();
    }
  }

  /** Returns a patience that is over when the client begins to close. {@code before} is what is known when nothing went out. */
  private Calls.Patience untilClosing(Calls.Patience other, Applied before) {
    return sent -> core.closing
        ? Exceptions.with(ClientCore.closedError(), sent && before == Applied.NO ? Applied.UNKNOWN : before) : other.over(sent);
  }

  /** Gives up the takeovers that nobody has got yet: their sessions are left to whoever has the tokens. */
  public void close() {
    for (CompletableFuture<SessionCore> resumed : List.copyOf(takeovers)) {
      resumed.completeExceptionally(Exceptions.with(ClientCore.closedError(), Applied.YES));
    }
  }

  /** One opening: until its caller has the session, or it is known that the cluster made none, or that one was ended. */
  private final class Attempt {
    final CompletableFuture<SessionCore> opened = new CompletableFuture<>();
    private final CompletableFuture<Void> settled = new CompletableFuture<>();
    private final ByteString secret = ClientCore.randomBytes(SECRET_BYTES);
    private final ByteString instance = ClientCore.randomBytes(ClientCore.ID_BYTES);
    private final Calls.Patience caller;
    private final Consumer<SessionChange> listener;
    private final Executor events;
    /** When the first attempt was sent. */
    private OptionalLong sentAt = OptionalLong.empty();
    /** Until when a session that nobody wants is looked for; 0 while somebody wants it. */
    private long undoUntil;

    Attempt(Calls.Patience caller, Consumer<SessionChange> listener, Executor events) {
      this.caller = caller;
      this.listener = listener;
      this.events = events;
    }

    void begin(SessionPlan options, String host) {
      if (opened.isDone()) {
        return;
      }
      CreateSessionRequest request = request(options, host, secret, instance);
      core.ends(settled);
      call(request, this::over).whenComplete((r, error) -> {
        if (error == null) {
          made(r);
          return;
        }
        Throwable e = Futures.error(error);
        opened.completeExceptionally(e);
        if (undoUntil != 0 || !(e instanceof TenureException t) || t.applied() == Applied.NO || core.closed) {
          settled.complete(null);
          return;
        }
        // It was refused, yet an attempt before may have made one. Asked the same again, the cluster tells which it is.
        undo();
        call(request, sent -> over(true)).whenComplete((late, refused) -> {
          if (refused == null) {
            made(late);
          } else {
            settled.complete(null);
          }
        });
      });
    }

    private CompletableFuture<CreateSessionResponse> call(CreateSessionRequest request, Calls.Patience patience) {
      return core.calls.call(SessionServiceGrpc.getCreateSessionMethod(), request, patience, this::sending);
    }

    /** The cluster counts from when it made the session, which may be at the first attempt, and not while there is no connection. */
    private void sending() {
      if (sentAt.isEmpty()) {
        sentAt = OptionalLong.of(core.clock.nanos());
      }
    }

    private void undo() {
      undoUntil = core.clock.nanos() + UNDO_NANOS;
    }

    /** The patience of the call: when the caller's is over, what may have been made is looked for, for some time. */
    private TenureException over(boolean sent) {
      if (undoUntil == 0) {
        TenureException why = opened.isDone() ? nobody(sent) : caller.over(sent);
        if (why == null || !sent) {
          return why;
        }
        opened.completeExceptionally(why);
        undo();
      }
      // What is known not to have been made is not looked for.
      return sent && core.clock.nanos() < undoUntil ? null : nobody(sent);
    }

    private static TenureException nobody(boolean sent) {
      return Exceptions.of(
          ErrorKind.CANCELLED, sent ? Applied.UNKNOWN : Applied.NO, "the caller no longer waits for the session");
    }

    private void made(CreateSessionResponse r) {
      SessionCore s = new SessionCore(core, new SessionCore.Identity(r.getSessionId(), secret, instance,
          r.getEpoch(), Wire.duration(r.getTtl()), renewEvery(Wire.duration(r.getKeepaliveInterval()))), events);
      if (!opened.isDone()) {
        s.listeners.listenLater(listener);
        s.created(sentAt.orElseThrow());
        if (opened.complete(s)) {
          settled.complete(null);
          return;
        }
      }
      s.end.close().whenComplete((v, e) -> settled.complete(null));
    }
  }

  /** Tells the listener that the session is being opened; returns where it is told the rest. */
  private Executor connecting(Consumer<SessionChange> listener) {
    Objects.requireNonNull(listener, "listener");
    Executor events = core.loop.serial();
    events.execute(() -> listener.accept(
        new SessionChange(SessionState.CONNECTING, SessionState.CONNECTING, Optional.empty())));
    return events;
  }

  private static Duration renewEvery(Duration said) {
    return said.isZero() ? Duration.ofSeconds(10) : said;
  }

  /** Looks for the name of this machine, which may ask the network: not on the loop, nor on the caller's thread, nor for long. */
  private CompletableFuture<String> host() {
    if (host == null) {
      CompletableFuture<String> found = new CompletableFuture<>();
      host = found;
      core.loop.onPool(() -> found.complete(hostName()));
      core.loop.after(HOST_NANOS, () -> found.complete(""));
    }
    return host;
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return ""; // It is found by its address, which the member adds.
    }
  }

  private CreateSessionRequest request(
      SessionPlan options, String hostName, ByteString secret, ByteString instance) {
    CreateSessionRequest.Builder r = CreateSessionRequest.newBuilder()
        .setName(options.name().or(core.at::name).orElseGet(Opening::program))
        .putAllMetadata(facts(hostName, options.metadata()))
        .setTtl(Wire.duration(options.ttl().orElse(core.at.ttl())))
        .setSecret(secret)
        .setInstanceId(instance)
        .setNode(options.bound().node())
        .setBehavior(options.deleteKeys()
            ? SessionBehavior.SESSION_BEHAVIOR_DELETE : SessionBehavior.SESSION_BEHAVIOR_RELEASE)
        .setOptions(io.tenure.v1.CallOptions.newBuilder()
            .setIdempotencyKey(ClientCore.randomBytes(ClientCore.ID_BYTES)));
    if (!options.bound().defaultCheck()) {
      // None, unless asked: its TTL bounds the session, and a false alarm about its machine must not end what it holds.
      r.setChecks(SessionChecks.newBuilder().addAllNodeChecks(options.bound().checks()));
    }
    options.lockDelay().or(core.at::lockDelay).ifPresent(d -> r.setLockDelay(Wire.duration(d)));
    return r.build();
  }

  /** Returns what helps a human to find the process. */
  private static Map<String, String> facts(String hostName, Map<String, String> own) {
    Map<String, String> all = new LinkedHashMap<>();
    all.put("host", hostName);
    all.put("pid", Long.toString(ProcessHandle.current().pid()));
    all.put("program", program());
    all.put("user", System.getProperty("user.name", ""));
    all.put("language", "java " + System.getProperty("java.version", ""));
    all.values().removeIf(String::isEmpty);
    all.putAll(own);
    return all;
  }

  private static String program() {
    String command = System.getProperty("sun.java.command", "");
    String first = command.isEmpty() ? ManagementFactory.getRuntimeMXBean().getName() : command.split(" ", 2)[0];
    String base = first.substring(first.lastIndexOf('/') + 1);
    return base.length() > 200 ? base.substring(0, 200) : base;
  }

  /** Goes on with a session of another process. One that nobody takes is left to whoever has its token. */
  public CompletableFuture<SessionCore> resume(String text, Duration wait, Consumer<SessionChange> listener) {
    SessionToken token = SessionToken.parse(text);
    Executor events = connecting(listener);
    CompletableFuture<SessionCore> resumed = new CompletableFuture<>();
    return core.onLoop(resumed, () -> {
      refuseIfClosing();
      ByteString secret = ByteString.copyFrom(token.secret());
      ByteString instance = core.taker(token);
      AttachSessionRequest request = AttachSessionRequest.newBuilder()
          .setSessionId(token.sessionId()).setInstanceId(instance).setAttempt(1).setTakeOver(true)
          .setOptions(io.tenure.v1.CallOptions.newBuilder().setSessionSecret(secret).setEpoch(token.epoch()))
          .build();
      long until = core.clock.nanos() + Wire.nanos(wait);
      core.calls.call(SessionServiceGrpc.getAttachSessionMethod(), request,
          untilClosing(core.patience(wait), Applied.NO)).thenCompose(r -> {
        Duration ttl = Wire.duration(r.getSession().getTtl());
        SessionCore s = new SessionCore(core, new SessionCore.Identity(token.sessionId(), secret, instance,
            r.getSession().getEpoch(), ttl, interval(ttl)), events);
        s.listeners.listenLater(listener);
        // Without a number: of a takeover that is tried again, some may have been used up.
        return Truth.rest(r, s.attaching.request(0), next -> core.calls.call(
            SessionServiceGrpc.getAttachSessionMethod(), next, untilClosing(
                sent -> core.clock.nanos() < until ? null : late(token), Applied.YES))).thenAccept(had -> {
              if (resumed.isDone()) {
                return; // Whoever gave it up may have resumed it again.
              }
              s.takenOver(had, !token.handedOver());
              awaitBelief(token, s, until, resumed);
            });
      }).whenComplete((v, error) -> {
        if (error != null) {
          RuntimeException e = asSession(error);
          if (e instanceof TenureException.SessionOver) {
            core.tookOver(token);
          }
          resumed.completeExceptionally(e);
        }
      });
    });
  }

  /** Waits for the first renewal of a session that was taken over. Without it, whoever has the token may try again. */
  private void awaitBelief(SessionToken token, SessionCore s, long until, CompletableFuture<SessionCore> resumed) {
    s.waits.whenSafe(Long.MIN_VALUE, () -> {
      core.tookOver(token);
      resumed.complete(s);
    }, () -> resumed.completeExceptionally(s.calls.overError(Applied.YES)));
    ScheduledFuture<?> late = core.loop.after(until - core.clock.nanos(), () -> resumed.completeExceptionally(late(token)));
    takeovers.add(resumed);
    resumed.whenComplete((session, error) -> core.loop.run(() -> {
      takeovers.remove(resumed);
      late.cancel(false);
      if (error != null) {
        s.detach();
      }
    }));
  }

  private static TenureException late(SessionToken token) {
    return Exceptions.of(ErrorKind.UNAVAILABLE, Applied.YES,
        "session " + token.sessionId() + " was taken over, but no member renewed it in time; resume it again");
  }

  private static Duration interval(Duration ttl) {
    Duration third = ttl.dividedBy(3);
    Duration most = Duration.ofSeconds(10);
    return ttl.isZero() || third.compareTo(most) > 0 ? most : third;
  }

  private static RuntimeException asSession(Throwable error) {
    Throwable e = Futures.error(error);
    if (e instanceof TenureException t && t.kind() == ErrorKind.SESSION_NOT_FOUND) {
      return Exceptions.of(ErrorKind.SESSION_EXPIRED, t.applied(), t.getMessage(), t.details(), t);
    }
    if (e instanceof TenureException t && t.details().containsKey("epoch") && t.kind() == ErrorKind.INVALID_ARGUMENT) {
      return Exceptions.of(ErrorKind.SESSION_SUPERSEDED, t.applied(), t.getMessage(), t.details(), t);
    }
    return Futures.rethrow(error);
  }
}
