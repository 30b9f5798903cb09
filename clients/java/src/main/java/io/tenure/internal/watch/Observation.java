package io.tenure.internal.watch;

import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.tenure.LeaderChange;
import io.tenure.TenureException;
import io.tenure.internal.Backoff;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Errors;
import io.tenure.internal.line.Silence;
import io.tenure.internal.session.ClientCore;
import io.tenure.v1.ElectionServiceGrpc;
import io.tenure.v1.GetLeaderRequest;
import io.tenure.v1.ObserveRequest;
import io.tenure.v1.ObserveResponse;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;

/** One observer of an election. After a break the present leader comes again, marked as a gap. Only the loop touches it. */
public final class Observation implements Flow.Subscription, AutoCloseable {
  /** How often a member is asked who leads. It has nothing to tell while that does not change, and may be cut off from the others. */
  private static final long ASK_NANOS = 5_000_000_000L;
  /** How long it may take to answer that. */
  private static final long ANSWER_NANOS = 5_000_000_000L;

  private final ClientCore core;
  private final String key;
  private final Flow.Subscriber<? super LeaderChange> subscriber;
  /** Where the subscriber is told everything. */
  public final Executor calls;
  private final Deque<LeaderChange> ready = new ArrayDeque<>();
  private final Runnable next = this::connect;
  private Stream stream;
  private long demand;
  private boolean telling;
  private volatile boolean over;
  private boolean broken;
  private int failures;

  public Observation(ClientCore core, String key, Flow.Subscriber<? super LeaderChange> subscriber) {
    this.core = core;
    this.key = key;
    this.subscriber = subscriber;
    this.calls = core.loop.serial();
  }

  public void start() {
    calls.execute(() -> {
      try {
        subscriber.onSubscribe(this);
      } catch (RuntimeException | Error e) {
        cancel();
        throw e;
      }
    });
    core.onLoop(() -> {
      core.namespace.key(key); // An empty one is refused now, not when a member could be asked.
      if (!over) {
        core.parts.add(this);
        connect();
      }
      return CompletableFuture.completedFuture(null);
    }).exceptionally(error -> {
      over = true;
      core.loop.run(this::finish);
      calls.execute(() -> subscriber.onError(Futures.error(error)));
      return null;
    });
  }

  @Override
  public void request(long n) {
    core.loop.run(() -> {
      if (over) {
        return;
      }
      if (n <= 0) {
        finish();
        calls.execute(
            () -> subscriber.onError(new IllegalArgumentException("a request must be for more than nothing")));
        return;
      }
      demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
      deliver();
    });
  }

  @Override
  public void cancel() {
    over = true;
    core.loop.run(this::finish);
  }

  /** The client is closing. */
  @Override
  public void close() {
    if (!over) {
      finish();
      calls.execute(subscriber::onComplete);
    }
  }

  private void finish() {
    over = true;
    core.parts.remove(this);
    core.link.forget(next);
    if (stream != null) {
      core.silence.remove(stream);
      stream.in.cancel("no longer needed", null);
      stream = null;
    }
  }

  private void connect() {
    if (over) {
      return;
    }
    Connection c = core.link.current();
    if (c == null) {
      core.link.whenUp(next, this::fail);
      return;
    }
    stream = new Stream(c);
  }

  private void fail(TenureException why) {
    finish();
    calls.execute(() -> subscriber.onError(why));
  }

  private void deliver() {
    if (demand > 0 && !telling && !ready.isEmpty()) {
      demand--;
      telling = true;
      LeaderChange change = ready.poll();
      calls.execute(() -> tell(change));
    }
    if (stream != null && ready.isEmpty() && !stream.asked) {
      stream.asked = true;
      stream.in.request(1);
    }
  }

  /** Tells the subscriber, and then the next. One that throws is told no more. */
  private void tell(LeaderChange change) {
    try {
      if (!over) {
        subscriber.onNext(change);
      }
    } catch (RuntimeException | Error e) {
      cancel();
      throw e;
    }
    core.loop.run(() -> {
      telling = false;
      deliver();
    });
  }

  private void again() {
    stream = null;
    broken = true;
    core.loop.after(failures++ == 0 ? 0 : Backoff.pauseNanos(failures, core.random), this::connect);
  }

  /** One Observe stream. */
  private final class Stream implements ClientResponseObserver<ObserveRequest, ObserveResponse>, Silence.Stream {
    private final Connection connection;
    private ClientCallStreamObserver<ObserveRequest> in;
    private boolean asked = true;
    /** When the member last showed that it knows what is true, by {@link Silence#nanos}. */
    private long heardAt;
    /** When it was last asked to; a question that is not answered yet is the only one. */
    private long askedAt;
    private boolean asking;

    Stream(Connection c) {
      this.connection = c;
      this.heardAt = core.silence.nanos();
      this.askedAt = heardAt;
      ClientCalls.asyncServerStreamingCall(c.stream(ElectionServiceGrpc.getObserveMethod()),
          ObserveRequest.newBuilder().setKey(core.namespace.key(key)).build(), this);
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<ObserveRequest> call) {
      in = call;
      in.disableAutoRequestWithInitial(1);
      core.silence.add(this);
    }

    @Override
    public Connection connection() {
      return connection;
    }

    @Override
    public boolean isSilent(long now) {
      return now - heardAt > Silence.MIN.toNanos();
    }

    @Override
    public void ask(long now) {
      if (asking || now - askedAt < ASK_NANOS) {
        return;
      }
      asking = true;
      askedAt = now;
      core.calls.once(connection, ElectionServiceGrpc.getGetLeaderMethod(),
          GetLeaderRequest.newBuilder().setKey(core.namespace.key(key)).build(), ANSWER_NANOS).whenComplete((r, error) -> {
            asking = false;
            if (error == null || isAlive(Errors.read(error))) {
              heardAt = core.silence.nanos();
            }
          });
    }

    /** Whether a member that refuses to answer may still know what is true: one that is busy does, and one without a leader does not. */
    private boolean isAlive(Errors.Failure f) {
      return !f.network() && (!f.retry() || f.reason().equals("TOO_MANY_REQUESTS"));
    }

    @Override
    public void onNext(ObserveResponse r) {
      core.link.answered(connection);
      heardAt = core.silence.nanos();
      if (stream != this) {
        return;
      }
      asked = false;
      failures = 0;
      ready.add(new LeaderChange(
          r.hasLeader() ? Optional.of(Wire.leader(r.getLeader())) : Optional.empty(), r.getGap() || broken));
      broken = false;
      deliver();
    }

    @Override
    public void onError(Throwable t) {
      core.silence.remove(this);
      if (stream != this) {
        return;
      }
      Errors.Failure f = Errors.read(t);
      if (f.retry()) {
        again();
        return;
      }
      fail(f.error());
    }

    @Override
    public void onCompleted() {
      core.silence.remove(this);
      if (stream == this) {
        again();
      }
    }
  }
}
