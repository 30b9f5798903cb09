package io.tenure.internal.line;

import io.grpc.MethodDescriptor;
import io.grpc.stub.StreamObserver;
import io.tenure.Applied;
import io.tenure.TenureException;
import io.tenure.internal.Backoff;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Loop;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Unary calls that are tried again until they have an answer. Every call that comes here may be repeated: it reads, or it
 * carries a request id or an idempotency key. They go to the client's own member, and changes first to the leader if there is a
 * connection to it. Only the loop touches it.
 */
public final class Calls {
  private static final long TICK_NANOS = 100_000_000L;
  /** What a member says that no longer leads, or not for long. */
  private static final Set<String> LEADS_NO_MORE = Set.of("NO_LEADER", "NOT_LEADER", "STOPPING");
  /** What the client's own member says that is cut off from the others, or whose disk hangs. Elections make each say so for a moment. */
  private static final Set<String> LEADERLESS = Set.of("NO_LEADER", "NOT_LEADER");
  /** How long the client's own member may be without a leader before another one is asked. */
  private static final long LEADERLESS_NANOS = 2_000_000_000L;

  /** Decides how long a call may go on. */
  public interface Patience {
    /** Returns why the call must end now, or null. {@code sent} tells whether an attempt went out without an answer. */
    TenureException over(boolean sent);
  }

  /** What a call does, and so where its first attempt is made. */
  private enum Does {
    /** Nothing is changed. */
    READ,
    /** Something is changed, at the client's own member. */
    CHANGE_HERE,
    /** Something is changed, at the leader if there is a connection to it. */
    CHANGE
  }

  private final Loop loop;
  private final Link link;
  private final Random random;
  /** How long one attempt may take before another one is made. */
  private final long attemptNanos;
  private final Set<Open<?, ?>> open = new HashSet<>();

  public Calls(Loop loop, Link link, Random random, long attemptNanos) {
    this.loop = loop;
    this.link = link;
    this.random = random;
    this.attemptNanos = attemptNanos;
    loop.every(TICK_NANOS, this::look);
  }

  /** Makes a call that changes nothing. The future ends on the loop. */
  public <Q, R> CompletableFuture<R> read(MethodDescriptor<Q, R> method, Q request, Patience patience) {
    return begin(new Open<>(method, request, patience, () -> { }, Does.READ));
  }

  /** Makes a call at the client's own member. The future ends on the loop. */
  public <Q, R> CompletableFuture<R> call(MethodDescriptor<Q, R> method, Q request, Patience patience) {
    return call(method, request, patience, () -> { });
  }

  /** Likewise; {@code sending} runs on the loop before each attempt is sent. */
  public <Q, R> CompletableFuture<R> call(MethodDescriptor<Q, R> method, Q request, Patience patience, Runnable sending) {
    return begin(new Open<>(method, request, patience, sending, Does.CHANGE_HERE));
  }

  /** Makes a call that is applied once, however often it is sent: straight at the leader, and if that fails, at the own member. */
  public <Q, R> CompletableFuture<R> change(MethodDescriptor<Q, R> method, Q request, Patience patience) {
    return change(method, request, patience, () -> { });
  }

  /** Likewise; {@code doubted} runs on the loop when an attempt failed that may have been applied, and another one is to be made. */
  public <Q, R> CompletableFuture<R> change(MethodDescriptor<Q, R> method, Q request, Patience patience, Runnable doubted) {
    Open<Q, R> call = new Open<>(method, request, patience, () -> { }, Does.CHANGE);
    call.doubted = doubted;
    return begin(call);
  }

  private <Q, R> CompletableFuture<R> begin(Open<Q, R> call) {
    open.add(call);
    call.future.whenComplete((r, e) -> loop.run(() -> {
      open.remove(call);
      call.drop();
    }));
    call.attempt();
    return call.future;
  }

  /** Makes one attempt over this connection only; what fails is the user's TenureException. */
  public <Q, R> CompletableFuture<R> once(Connection c, MethodDescriptor<Q, R> method, Q request, long nanos) {
    CompletableFuture<R> future = new CompletableFuture<>();
    c.unary(method, request, nanos, new StreamObserver<R>() {
      private R value;

      @Override
      public void onNext(R r) {
        value = r;
      }

      @Override
      public void onError(Throwable t) {
        if (!Errors.read(t).network()) {
          link.answered(c);
        }
        future.completeExceptionally(t);
      }

      @Override
      public void onCompleted() {
        link.answered(c);
        future.complete(value);
      }
    });
    return future;
  }

  /** Fails every call that is open. */
  public void close(TenureException why) {
    for (Open<?, ?> call : List.copyOf(open)) {
      call.future.completeExceptionally(call.sent || call.attempt != null
          ? Exceptions.of(why.kind(), Applied.UNKNOWN, why.getMessage()) : why);
    }
  }

  /** Looks at the patience of every call that is open. */
  public void look() {
    for (Open<?, ?> call : new ArrayList<>(open)) {
      call.look();
    }
  }

  private final class Open<Q, R> {
    private final MethodDescriptor<Q, R> method;
    private final Q request;
    private final Patience patience;
    private final Runnable sending;
    private final Does does;
    private final CompletableFuture<R> future = new CompletableFuture<>();
    private final Runnable next = this::attempt;
    private CompletableFuture<R> attempt;
    private Runnable doubted = () -> { };
    private boolean sent;
    private int failures;
    /** When the client's own member first answered that there is no leader; 0 if its last answer was another. */
    private long leaderless;

    Open(MethodDescriptor<Q, R> method, Q request, Patience patience, Runnable sending, Does does) {
      this.method = method;
      this.request = request;
      this.patience = patience;
      this.sending = sending;
      this.does = does;
    }

    public void look() {
      TenureException over = future.isDone() ? null : patience.over(sent || attempt != null);
      if (over != null) {
        future.completeExceptionally(over);
      }
    }

    void drop() {
      attempt = null;
      link.forget(next);
    }

    void attempt() {
      if (future.isDone()) {
        return;
      }
      Connection leader = does == Does.CHANGE && failures == 0 ? link.leader().get() : null;
      Connection c = leader != null ? leader : link.current();
      if (c == null) {
        link.whenUp(next, future::completeExceptionally);
        return;
      }
      long answers = c.answers();
      sending.run();
      CompletableFuture<R> a = once(c, method, request, attemptNanos);
      attempt = a;
      a.whenComplete((value, error) -> {
        if (attempt == a) {
          attempt = null;
        }
        if (error == null) {
          future.complete(value);
        } else if (!future.isDone()) {
          Errors.Failure f = Errors.read(error);
          link.note(c, f.network() ? Unreachable.why(error, link.door()) : f.error().getMessage());
          failed(c, c.answers() == answers, leader != null && LEADS_NO_MORE.contains(f.reason()), f);
        }
      });
    }

    /** Gives a member some time to find a leader; then another one is to be asked. */
    private boolean withoutLeader(Errors.Failure f) {
      if (!LEADERLESS.contains(f.reason())) {
        leaderless = 0;
        return false;
      }
      long now = System.nanoTime();
      if (leaderless == 0) {
        leaderless = now;
      }
      if (now - leaderless <= LEADERLESS_NANOS) {
        return false;
      }
      leaderless = 0;
      return true;
    }

    private void failed(Connection c, boolean silent, boolean deposed, Errors.Failure f) {
      // For want of room an attempt is refused undecided; one before it may have been applied, and the number says which.
      boolean pinned = sent && Errors.isWindowFull(f.error());
      if (!f.retry() && !pinned) {
        // It tells of this attempt only, unless the state machine decided it; one before may have been applied.
        boolean doubted = does != Does.READ && sent && f.error().applied() == Applied.NO && !Errors.isDecided(f.reason());
        future.completeExceptionally(doubted ? Exceptions.with(f.error(), Applied.UNKNOWN) : f.error());
        return;
      }
      if (f.error().applied() != Applied.NO) {
        sent = true;
        doubted.run();
      }
      if (f.network() && silent || deposed || withoutLeader(f)) {
        // The member said nothing to anybody meanwhile, or is not who was meant to be asked, or can do nothing.
        link.broken(c);
      }
      look();
      if (future.isDone()) {
        return;
      }
      int n = failures++;
      boolean elsewhere = link.current() != c;
      if (n == 0 && elsewhere && f.retryAfterNanos() == 0) {
        attempt();
        return;
      }
      loop.after(Math.max(f.retryAfterNanos(), Backoff.pauseNanos(n, random)), this::attempt);
    }
  }
}
