package io.tenure.internal.session;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.tenure.Applied;
import io.tenure.ConnectionString;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.BootClock;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Loop;
import io.tenure.internal.Namespace;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Calls;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Door;
import io.tenure.internal.line.Link;
import io.tenure.internal.line.Security;
import io.tenure.internal.line.Silence;
import io.tenure.v1.CallOptions;
import io.tenure.v1.ClusterServiceGrpc;
import io.tenure.v1.ListMembersRequest;
import io.tenure.v1.Member;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;

/** What the parts of one client share. Only the loop changes it. */
public final class ClientCore implements Link.Listener {
  public static final int ID_BYTES = 16;

  private static final long MEMBERS_NANOS = 10_000_000_000L;
  private static final long MEMBERS_CALL_NANOS = 3_000_000_000L;
  private static final int TAKERS_MAX = 256;
  private static final SecureRandom SECRETS = new SecureRandom();

  public final ConnectionString at;
  public final Namespace namespace;
  public final Duration callTimeout;
  public final Loop loop = new Loop();
  public final BootClock clock;
  public final Random random = new Random();
  public final Link link;
  public final Calls calls;
  public final Keeper keeper;
  public final Silence silence;
  public final Set<SessionCore> sessions = new HashSet<>();
  /** What a client that closes waits for: sessions that the cluster is told the end of, and openings that may have made one. */
  public final Set<CompletableFuture<Void>> endings = new HashSet<>();
  public final Set<AutoCloseable> parts = new HashSet<>();
  /** What a client that closes deregisters. */
  public final Set<Kept> registrations = ConcurrentHashMap.newKeySet();
  /** By node and instance, the registration that began last, until it is settled. */
  public final Map<String, CompletableFuture<Void>> entries = new HashMap<>();
  /** No session begins any more. What runs goes on, until it is closed. */
  public volatile boolean closing;
  public volatile boolean closed;
  private final Set<CompletableFuture<?>> pending = ConcurrentHashMap.newKeySet();
  /** By session and epoch, who we said we were when we began to take it over, until that was done. */
  private final Map<String, ByteString> takers = new LinkedHashMap<>();
  private volatile boolean ended;
  /** A call that asks whether the member answers still, which a stream that broke made doubtful. */
  private CompletableFuture<?> doubt = CompletableFuture.completedFuture(null);
  /** The last call that asked for the members. */
  private CompletableFuture<?> asked = CompletableFuture.completedFuture(null);
  /** Whether it was doubted during that call who leads. */
  private boolean askAgain;

  /** A registration that is kept. */
  public interface Kept {
    /** Whether it keeps the instance with this id on this node. */
    boolean isOf(String node, String id);

    /** Closes it; the future ends on the loop, however that went. */
    CompletableFuture<Void> ending();
  }

  public ClientCore(ConnectionString at, Duration callTimeout, Duration attemptTimeout, BootClock clock, Security security) {
    this(at, callTimeout, attemptTimeout, clock, security, System.getenv());
  }

  /** What is shared, with the environment that says how connections are secured. */
  public ClientCore(ConnectionString at, Duration callTimeout, Duration attemptTimeout, BootClock clock, Security security,
      Map<String, String> environment) {
    this.at = at;
    this.clock = clock;
    this.namespace = Namespace.of(at.namespace());
    this.callTimeout = callTimeout;
    this.link = new Link(loop, at, random, door(security, environment));
    this.calls = new Calls(loop, link, random, attemptTimeout.toNanos());
    this.keeper = new Keeper(loop, link, clock, random);
    this.silence = new Silence(loop, link);
    loop.execute(() -> {
      link.listen(this);
      loop.every(MEMBERS_NANOS, () -> askMembers(link.current()));
      link.start();
    });
  }

  private Door door(Security security, Map<String, String> environment) {
    try {
      return Door.of(security, at, environment, clock, loop);
    } catch (RuntimeException e) {
      loop.shutdown(); // There will be no client.
      throw e;
    }
  }

  @Override
  public void up(Connection c) {
    askMembers(c);
  }

  @Override
  public void down(Connection c) {
    // The others look after what they do over it.
  }

  @Override
  public void doubted(Connection c) {
    if (doubt.isDone()) {
      // A call that the member does not answer has another one tried.
      doubt = calls.read(
          ClusterServiceGrpc.getListMembersMethod(), ListMembersRequest.getDefaultInstance(), patience(callTimeout));
    }
  }

  @Override
  public void moved(Connection from, Connection to) {
    askMembers(to); // As it sees them; it may lead.
  }

  @Override
  public void leaderDoubted() {
    if (asked.isDone()) {
      askMembers(link.current());
    } else {
      askAgain = true; // What is answered now may be older than the doubt.
    }
  }

  /** Asks for the members, and who of them leads. */
  private void askMembers(Connection c) {
    if (c == null || closed) {
      return;
    }
    askAgain = false;
    asked = calls.once(c, ClusterServiceGrpc.getListMembersMethod(), ListMembersRequest.getDefaultInstance(),
        MEMBERS_CALL_NANOS).whenComplete((r, error) -> {
          if (error == null && c == link.current()) {
            List<String> now = new ArrayList<>();
            String leader = "";
            for (Member m : r.getMembersList()) {
              if (m.getLeader() && m.getId() != r.getHeader().getMemberId()) {
                leader = m.getClientAddress();
              }
              if (!m.getClientAddress().isEmpty()) {
                now.add(m.getClientAddress());
              }
            }
            link.leader().learn(leader);
            link.update(now, random.nextDouble());
          }
          if (askAgain) {
            askMembers(link.current());
          }
        });
  }

  /** Fails what the loop will do no more. */
  public void end() {
    loop.shutdown();
    ended = true;
    for (CompletableFuture<?> f : pending) {
      f.completeExceptionally(closedError());
    }
  }

  /** Returns who we are for a takeover: the same as before when one of the same epoch was begun and not finished. */
  ByteString taker(SessionToken token) {
    ByteString instance = takers.computeIfAbsent(token.sessionId() + "/" + token.epoch(), k -> randomBytes(ID_BYTES));
    if (takers.size() > TAKERS_MAX) {
      takers.remove(takers.keySet().iterator().next());
    }
    return instance;
  }

  /** Says that a takeover is done, or refused for good. */
  void tookOver(SessionToken token) {
    takers.remove(token.sessionId() + "/" + token.epoch());
  }

  public static ByteString randomBytes(int n) {
    byte[] b = new byte[n];
    SECRETS.nextBytes(b);
    return ByteString.copyFrom(b);
  }

  /** Runs work that begins on the loop; the future ends on the loop. */
  public <T> CompletableFuture<T> onLoop(Supplier<CompletableFuture<T>> work) {
    CompletableFuture<T> result = new CompletableFuture<>();
    return onLoop(result, () -> Futures.connect(work.get(), result));
  }

  /** Runs work that begins on the loop and ends the future there; only so it knows whether its value was taken. */
  public <T> CompletableFuture<T> onLoop(CompletableFuture<T> result, Runnable work) {
    pending.add(result);
    result.whenComplete((v, e) -> pending.remove(result));
    loop.run(() -> {
      if (closed) {
        result.completeExceptionally(closedError());
        return;
      }
      try {
        work.run();
      } catch (RuntimeException | Error e) {
        result.completeExceptionally(e);
      }
    });
    if (ended) {
      result.completeExceptionally(closedError());
    }
    return result;
  }

  /** Makes a call that changes nothing. */
  public <Q, R> CompletableFuture<R> read(MethodDescriptor<Q, R> method, Supplier<Q> request) {
    return onLoop(() -> calls.read(method, request.get(), patience(callTimeout)));
  }

  /** Makes a change outside of any session, once: an idempotency key makes retries safe. */
  public <Q extends MessageLite, R> CompletableFuture<R> change(
      MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request) {
    return onLoop(() -> Futures.withoutSession(calls.change(method,
        request.apply(CallOptions.newBuilder().setIdempotencyKey(randomBytes(ID_BYTES))), patience(callTimeout))));
  }

  /** Has the cluster told of an end; a client that closes waits for it. */
  public void ends(CompletableFuture<Void> ending) {
    endings.add(ending);
    ending.whenComplete((v, e) -> endings.remove(ending));
  }

  /** Returns the patience of a caller who waits so long. */
  public Calls.Patience patience(Duration wait) {
    long deadline = clock.nanos() + Wire.nanos(wait);
    return sent -> {
      if (clock.nanos() < deadline) {
        return null;
      }
      return Exceptions.of(
          sent ? ErrorKind.OUTCOME_UNKNOWN : ErrorKind.UNAVAILABLE, sent ? Applied.UNKNOWN : Applied.NO,
          "no member answered within " + Wire.text(wait) + "; tried " + link.tried());
    };
  }

  public static TenureException closedError() {
    return Exceptions.of(ErrorKind.CLIENT_CLOSED, Applied.NO, "the client is closed");
  }
}
