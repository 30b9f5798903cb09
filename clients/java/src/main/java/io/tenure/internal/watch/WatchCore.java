package io.tenure.internal.watch;

import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.tenure.Applied;
import io.tenure.CatalogItem;
import io.tenure.ErrorKind;
import io.tenure.KeyValue;
import io.tenure.TenureException;
import io.tenure.Watch;
import io.tenure.WatchEvent;
import io.tenure.WatchMessage;
import io.tenure.internal.Await;
import io.tenure.internal.Backoff;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Errors;
import io.tenure.internal.line.Silence;
import io.tenure.internal.session.ClientCore;
import io.tenure.v1.Event;
import io.tenure.v1.WatchRequest;
import io.tenure.v1.WatchResponse;
import io.tenure.v1.WatchServiceGrpc;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/**
 * What a {@link Watch} is made of: its streams, and what of them waits for the reader. Unless it says otherwise, only the loop touches
 * it.
 */
public final class WatchCore implements AutoCloseable {
  /** How many messages may wait for the reader. */
  public static final int AHEAD = 4;
  /** The part of what a member counts that is taken off for clocks that differ in rate. */
  private static final int RATE_SHARE = 50;

  private final ClientCore core;
  private final WatchPlan options;
  private final long streamAgeNanos;
  private final Deque<Ready> ready = new ArrayDeque<>();
  private final CompletableFuture<Void> begun = new CompletableFuture<>();
  private final Runnable connecting = this::connect;
  private CompletableFuture<Optional<WatchMessage>> reader;
  private List<KeyValue> initial = new ArrayList<>();
  private List<CatalogItem> items = new ArrayList<>();
  private Stream stream;
  private String token = "";
  private TenureException failure;
  private boolean opened;
  /** Who is told of the messages and of the end; null while the watch is read otherwise. */
  private volatile WatchSubscription subscription;
  private boolean whole;
  private boolean closed;
  private int failures;
  private volatile long provedAt;
  private volatile List<Event> given = List.of();

  /** A message, and the moment before which all that was committed has been told with it and what came before. */
  private record Ready(WatchMessage message, long provedAt, List<Event> events) {
    Ready(WatchMessage message, long provedAt) {
      this(message, provedAt, List.of());
    }
  }

  public WatchCore(ClientCore core, WatchPlan options) {
    this(core, options, Duration.ofNanos(Long.MAX_VALUE));
  }

  /** A watch whose streams become no older than that, as long as a member is there to begin another with. */
  public WatchCore(ClientCore core, WatchPlan options, Duration streamAge) {
    this.core = core;
    this.options = options;
    this.streamAgeNanos = streamAge.toNanos();
    this.provedAt = Long.MIN_VALUE;
  }

  /**
   * Returns the moment of the client's clock before which all that was committed is in what the reader was given. Only who
   * reads one message after another may ask.
   */
  public long provedAt() {
    return provedAt;
  }

  /** Returns the events of the message that the reader was given last, as they were received. The same goes for them. */
  public List<Event> given() {
    return given;
  }

  public void begin() {
    Await.of(beginInner());
  }

  public CompletableFuture<Void> beginAsync() {
    return core.loop.shown(beginInner());
  }

  public Optional<WatchMessage> next() {
    return Await.of(nextInner());
  }

  private CompletableFuture<Optional<WatchMessage>> nextInner() {
    // The very future that the caller waits for: a message that nobody takes stays where it is.
    CompletableFuture<Optional<WatchMessage>> f = new CompletableFuture<>();
    return core.onLoop(f, () -> pull(f));
  }

  public Optional<WatchMessage> next(Duration wait) {
    CompletableFuture<Optional<WatchMessage>> f = nextInner();
    var timer = core.loop.after(Wire.nanos(wait), () -> f.completeExceptionally(
        Exceptions.of(ErrorKind.TIMEOUT, Applied.NO, "no message of the watch within " + Wire.text(wait))));
    try {
      return Await.of(f);
    } finally {
      timer.cancel(false);
    }
  }

  public Flow.Publisher<WatchMessage> publisher() {
    return subscriber -> new WatchSubscription(core, this, Objects.requireNonNull(subscriber, "subscriber")).start();
  }

  /** Says that somebody subscribes; returns whether that one is the first. */
  synchronized boolean subscribe(WatchSubscription s) {
    boolean first = subscription == null;
    if (first) {
      subscription = s;
    }
    return first;
  }

  /** Whether it ended, and nothing of it is left to be read. */
  public boolean isOver() {
    return (closed || failure != null) && ready.isEmpty();
  }

  /** Whether nothing more is asked of the member before the reader takes a message. */
  public boolean isFull() {
    return ready.size() >= AHEAD;
  }

  private void tellEnd() {
    answerReader();
    WatchSubscription s = subscription;
    if (s != null) {
      s.step();
    }
  }

  @Override
  public void close() {
    core.loop.run(this::end);
  }

  private void end() {
    closed = true;
    core.parts.remove(this);
    core.link.forget(connecting);
    if (stream != null) {
      stream.end();
      stream = null;
    }
    begun.complete(null);
    tellEnd();
  }

  private CompletableFuture<Void> beginInner() {
    return core.onLoop(() -> {
      open();
      return begun.copy();
    });
  }

  CompletableFuture<Optional<WatchMessage>> pull() {
    CompletableFuture<Optional<WatchMessage>> f = new CompletableFuture<>();
    pull(f);
    return f;
  }

  private void pull(CompletableFuture<Optional<WatchMessage>> f) {
    if (reader != null && !reader.isDone()) {
      f.completeExceptionally(Exceptions.of(
          ErrorKind.INVALID_ARGUMENT, Applied.NO, "a watch has one reader, and this one has another already"));
      return;
    }
    reader = f;
    open();
    answerReader();
  }

  private void answerReader() {
    CompletableFuture<Optional<WatchMessage>> f = reader;
    if (f == null) {
      return;
    }
    if (!ready.isEmpty()) {
      reader = null;
      provedAt = Math.max(provedAt, ready.peek().provedAt());
      given = ready.peek().events();
      if (f.complete(Optional.of(ready.peek().message()))) {
        ready.poll();
        ask();
      }
    } else if (failure != null) {
      reader = null;
      f.completeExceptionally(failure);
    } else if (closed) {
      reader = null;
      f.complete(Optional.empty());
    }
  }

  private void open() {
    if (opened || closed || failure != null) {
      return;
    }
    if (core.closed) {
      fail(ClientCore.closedError());
      return;
    }
    opened = true;
    core.parts.add(this);
    connect();
  }

  private void connect() {
    if (closed || failure != null) {
      return;
    }
    Connection c = core.link.current();
    if (c == null) {
      core.link.whenUp(connecting, this::fail);
      return;
    }
    initial = new ArrayList<>();
    items = new ArrayList<>();
    stream = new Stream(c);
    ask();
  }

  /** Lets the member send as much as may be ahead of the reader. */
  private void ask() {
    if (stream != null) {
      stream.ask(AHEAD - ready.size());
    }
  }

  private void fail(TenureException why) {
    failure = why;
    core.parts.remove(this);
    stream = null;
    begun.completeExceptionally(why);
    tellEnd();
  }

  private void take(WatchResponse r) {
    failures = 0;
    whole |= r.hasInitial() && r.getInitial().getComplete();
    // Before the present state is there whole, a broken stream has to begin with it again.
    if (!r.getResumeToken().isEmpty() && (whole || !options.wantsInitial())) {
      token = r.getResumeToken();
    }
    long revision = r.getHeader().getRevision();
    switch (r.getMessageCase()) {
      case STARTED -> begun.complete(null);
      case INITIAL -> {
        r.getInitial().getKvsList().forEach(kv -> initial.add(Wire.keyValue(kv, core.namespace)));
        items.addAll(CatalogItems.of(r.getInitial()));
        if (r.getInitial().getComplete()) {
          ready.add(new Ready(new WatchMessage.Initial(List.copyOf(initial), List.copyOf(items), revision), stream.sentAt));
          initial = new ArrayList<>();
          items = new ArrayList<>();
        }
      }
      case EVENTS -> {
        List<WatchEvent> events = new ArrayList<>();
        for (Event e : r.getEvents().getEventsList()) {
          events.add(WatchEvents.of(e, core.namespace));
        }
        // Events prove nothing: a member that catches up sends old ones.
        ready.add(new Ready(new WatchMessage.Events(List.copyOf(events), token, revision), Long.MIN_VALUE,
            r.getEvents().getEventsList()));
      }
      case PROGRESS -> {
        Duration after = Wire.duration(r.getProgress().getProvedAfter());
        // The member counts from the request, which it did not have before it was sent; clocks may differ in rate by 1 % each.
        long moment = stream.sentAt + after.toNanos() - after.toNanos() / RATE_SHARE;
        ready.add(new Ready(new WatchMessage.Progress(token, revision), moment));
        if (core.clock.nanos() - stream.sentAt >= streamAgeNanos) {
          stream.end();
          stream = null;
          connect();
        }
      }
      default -> {
        // A kind of a later version.
      }
    }
    answerReader();
    ask();
  }

  /** One Watch stream. */
  private final class Stream implements ClientResponseObserver<WatchRequest, WatchResponse>, Silence.Stream {
    private final Connection connection;
    private final long sentAt;
    private ClientCallStreamObserver<WatchRequest> in;
    private int asked;
    /** When the member last said something, or was last allowed to say something again, by {@link Silence#nanos}. */
    private long heardAt;

    Stream(Connection c) {
      this.connection = c;
      this.sentAt = core.clock.nanos();
      ClientCalls.asyncServerStreamingCall(
          c.stream(WatchServiceGrpc.getWatchMethod()), options.request(core.namespace, token), this);
    }

    void ask(int ahead) {
      if (ahead > asked) {
        heardAt = asked == 0 ? core.silence.nanos() : heardAt;
        in.request(ahead - asked);
        asked = ahead;
      }
    }

    @Override
    public Connection connection() {
      return connection;
    }

    @Override
    public boolean isSilent(long now) {
      return asked > 0 && now - heardAt > options.silenceMax().toNanos();
    }

    void end() {
      core.silence.remove(this);
      in.cancel("no longer needed", null);
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<WatchRequest> call) {
      in = call;
      in.disableAutoRequestWithInitial(0);
      core.silence.add(this);
    }

    @Override
    public void onNext(WatchResponse r) {
      core.link.answered(connection);
      heardAt = core.silence.nanos();
      if (stream == this) {
        asked--;
        take(r);
      }
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
      } else {
        fail(f.error());
      }
    }

    @Override
    public void onCompleted() {
      core.silence.remove(this);
      if (stream == this) {
        again();
      }
    }

    private void again() {
      stream = null;
      core.loop.after(failures++ == 0 ? 0 : Backoff.pauseNanos(failures, core.random), WatchCore.this::connect);
    }
  }
}
