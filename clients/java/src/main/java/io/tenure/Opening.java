package io.tenure;

import com.google.protobuf.ByteString;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.CreateSessionRequest;
import io.tenure.v1.SessionBehavior;
import io.tenure.v1.SessionServiceGrpc;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;

/** How a client comes by its sessions. */
final class Opening {
  private static final int SECRET_BYTES = 32;

  private static final long HOST_NANOS = 1_000_000_000L;

  private final ClientCore core;
  /** The name of this machine, empty when it has none or it takes long to find; null before anybody asks. */
  private CompletableFuture<String> host;

  Opening(ClientCore core) {
    this.core = core;
  }

  /** Opens a session. One that nobody takes, for its caller gave up, is ended. */
  CompletableFuture<Session> open(SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    ByteString secret = ClientCore.randomBytes(SECRET_BYTES);
    ByteString instance = ClientCore.randomBytes(ClientCore.ID_BYTES);
    Calls.Patience patience = core.patience(wait);
    Objects.requireNonNull(options);
    Executor events = connecting(listener);
    CompletableFuture<Session> opened = new CompletableFuture<>();
    return core.onLoop(opened, () -> {
      if (core.keeper.size() >= Keeper.SESSIONS_MAX) {
        throw TenureException.of(
            ErrorKind.LIMIT, Applied.NO, "a client can have " + Keeper.SESSIONS_MAX + " sessions; make another client");
      }
      long[] sentAt = {0};
      host().thenCompose(at -> core.onLoop(() -> {
        // The cluster counts from when it made the session, which may be at the first attempt.
        sentAt[0] = core.clock.nanos();
        return core.calls.call(
            SessionServiceGrpc.getCreateSessionMethod(), request(options, at, secret, instance), patience);
      })).whenComplete((r, error) -> {
            if (error != null) {
              opened.completeExceptionally(Futures.error(error));
              return;
            }
            SessionCore s = new SessionCore(core, new SessionCore.Identity(r.getSessionId(), secret, instance,
                r.getEpoch(), Wire.duration(r.getTtl()), renewEvery(Wire.duration(r.getKeepaliveInterval()))), events);
            s.listenLater(listener);
            s.created(sentAt[0]);
            if (!opened.complete(new Session(s))) {
              s.close();
            }
          });
    });
  }

  /** Tells the listener that the session is being opened; returns where it is told the rest. */
  private Executor connecting(Consumer<SessionChange> listener) {
    Objects.requireNonNull(listener);
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
      SessionOptions options, String hostName, ByteString secret, ByteString instance) {
    CreateSessionRequest.Builder r = CreateSessionRequest.newBuilder()
        .setName(options.name().or(core.at::name).orElseGet(Opening::program))
        .putAllMetadata(facts(hostName, options.metadata()))
        .setTtl(Wire.duration(options.ttl().orElse(core.at.ttl())))
        .setSecret(secret)
        .setInstanceId(instance)
        .setBehavior(options.deleteKeys()
            ? SessionBehavior.SESSION_BEHAVIOR_DELETE : SessionBehavior.SESSION_BEHAVIOR_RELEASE)
        .setOptions(io.tenure.v1.CallOptions.newBuilder()
            .setIdempotencyKey(ClientCore.randomBytes(ClientCore.ID_BYTES)));
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
  CompletableFuture<Session> resume(String text, Duration wait, Consumer<SessionChange> listener) {
    SessionToken token = SessionToken.parse(text);
    Executor events = connecting(listener);
    CompletableFuture<Session> resumed = new CompletableFuture<>();
    return core.onLoop(resumed, () -> {
      ByteString secret = ByteString.copyFrom(token.secret());
      ByteString instance = core.taker(token);
      AttachSessionRequest request = AttachSessionRequest.newBuilder()
          .setSessionId(token.sessionId()).setInstanceId(instance).setAttempt(1).setTakeOver(true)
          .setOptions(io.tenure.v1.CallOptions.newBuilder().setSessionSecret(secret).setEpoch(token.epoch()))
          .build();
      long until = core.clock.nanos() + Wire.nanos(wait);
      core.calls.call(SessionServiceGrpc.getAttachSessionMethod(), request, core.patience(wait)).thenCompose(r -> {
        Duration ttl = Wire.duration(r.getSession().getTtl());
        SessionCore s = new SessionCore(core, new SessionCore.Identity(token.sessionId(), secret, instance,
            r.getSession().getEpoch(), ttl, interval(ttl)), events);
        s.listenLater(listener);
        // Without a number: of a takeover that is tried again, some may have been used up.
        return Truth.rest(r, s.attachRequest(0), next -> core.calls.call(
            SessionServiceGrpc.getAttachSessionMethod(), next,
            sent -> core.clock.nanos() < until ? null : late(token))).thenAccept(had -> {
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
  private void awaitBelief(SessionToken token, SessionCore s, long until, CompletableFuture<Session> resumed) {
    s.whenSafe(Long.MIN_VALUE, () -> {
      core.tookOver(token);
      resumed.complete(new Session(s));
    }, () -> resumed.completeExceptionally(s.overError(Applied.YES)));
    ScheduledFuture<?> late = core.loop.after(until - core.clock.nanos(), () -> resumed.completeExceptionally(late(token)));
    resumed.whenComplete((session, error) -> {
      late.cancel(false);
      if (error != null) {
        core.loop.run(s::detach);
      }
    });
  }

  private static TenureException late(SessionToken token) {
    return TenureException.of(ErrorKind.UNAVAILABLE, Applied.YES,
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
      return TenureException.of(ErrorKind.SESSION_EXPIRED, t.applied(), t.getMessage(), t.details(), t);
    }
    if (e instanceof TenureException t && t.details().containsKey("epoch") && t.kind() == ErrorKind.INVALID_ARGUMENT) {
      return TenureException.of(ErrorKind.SESSION_SUPERSEDED, t.applied(), t.getMessage(), t.details(), t);
    }
    return Futures.rethrow(error);
  }
}
