package io.tenure.internal.line;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Deadline;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Loop;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The token by which members know who calls, and an interceptor that sends it with each call. Its source is asked again when it
 * is old, and when a member refuses it. It may wait or hang, so it is asked on a thread for it, once at a time, for all calls that wait for its
 * answer; it goes on when they give up.
 */
public final class Token implements ClientInterceptor {
  /** How old a token may be. */
  public static final long AGE_NANOS = 10_000_000_000L;
  /** How long calls wait for a new token while there is an old one. */
  public static final long OVERDUE_NANOS = 1_000_000_000L;
  /** How long a source that failed is not asked again while there is an old token, unless a member refuses that. */
  public static final long FAILED_NANOS = 5_000_000_000L;
  /** How long a call without a good token waits for one, unless it ends before; then it is tried again, if it may. */
  static final long FIRST_NANOS = 30_000_000_000L;
  /** What a call ends with that was refused for its token, where there is another one by now or may be soon: it is tried again. */
  static final String REPLACED = "TOKEN_REPLACED";
  private static final String LATE = "no token: the function that returns it has not answered";

  /** Where a call has it noted with which token it was begun; empty before. */
  public static final CallOptions.Key<AtomicReference<String>> USED = CallOptions.Key.create("tenure-token-used");

  public static final Metadata.Key<String> HEADER =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** Runs something after a while, unless that is cancelled. */
  public interface Later {
    Future<?> run(long nanos, Runnable task);
  }

  private final Supplier<String> source;
  private final LongSupplier nanos;
  /** Runs what may hang. */
  private final Executor asking;
  private final Later later;
  /** Tells calls how they end. */
  private final Executor loop;
  // Guarded by this, as what follows: the token, empty for none, and when it was read.
  private String text = "";
  private long readAt;
  /** Whether the source failed when it was asked last, and when that was. */
  private boolean failing;
  private long failedAt;
  /** What the source is being asked; null for nothing. */
  private Question asked;
  private boolean closed;

  /** What the source is asked. Guarded by the token. */
  private static final class Question {
    private final long at;
    /** The token that a member had refused before; empty: it is asked for another reason. */
    private final String refused;
    private final Set<Waiter> waiters = new LinkedHashSet<>();
    private boolean over;
    /** Why the question failed; null while it is open, or if it was answered. */
    private RuntimeException failure;

    Question(long at, String refused) {
      this.at = at;
      this.refused = refused;
    }
  }

  /** What is done once there is an answer, or has not been one for long. */
  private static final class Waiter {
    private final Executor back;
    private final Runnable then;
    private Future<?> patience;

    Waiter(Executor back, Runnable then) {
      this.back = back;
      this.then = then;
    }
  }

  /** {@code asking} runs the source, which may hang. */
  public Token(Supplier<String> source, LongSupplier nanos, Executor asking, Later later, Executor loop) {
    this.source = source;
    this.nanos = nanos;
    this.asking = asking;
    this.later = later;
    this.loop = loop;
  }

  /** Reads the first token, before anybody asks for it. */
  public void read() {
    String first = checked(given());
    synchronized (this) {
      text = first;
      readAt = nanos.getAsLong();
    }
  }

  /**
   * Returns the token that calls use now; empty if they wait for one. It is the one before if its source has failed, which is then asked on the
   * side, or does not answer: a member says whether it is still good.
   */
  String ready() {
    synchronized (this) {
      long now = nanos.getAsLong();
      if (text.isEmpty() || isFresh(now)) {
        return text;
      }
      if (!failing) {
        return asked != null && now - asked.at >= OVERDUE_NANOS ? text : "";
      }
      if (asked != null || now - failedAt < FAILED_NANOS) {
        return text;
      }
    }
    ask("");
    return last();
  }

  /** Has the token told by {@code back}, or why there is none. What is returned has neither told from then on. */
  public Runnable get(Executor back, Consumer<String> told, Consumer<StatusRuntimeException> failed) {
    String ready = ready();
    if (!ready.isEmpty()) {
      back.execute(() -> told.accept(ready));
      return () -> { };
    }
    Question q = ask("");
    if (q == null) {
      String fresh = last();
      back.execute(() -> told.accept(fresh));
      return () -> { };
    }
    long patience = last().isEmpty() ? FIRST_NANOS : q.at + OVERDUE_NANOS - nanos.getAsLong();
    return await(q, patience, back, () -> {
      String last = last();
      if (last.isEmpty()) {
        failed.accept(none(q));
      } else {
        told.accept(last);
      }
    });
  }

  /**
   * Has it told by {@code back} what a call ends with whose token was refused: with another error if there is another token, or after {@code patience}
   * without an answer of the source. If the source fails, or has the same token, what the member said stands.
   */
  public void refused(String used, StatusRuntimeException why, long patience, Executor back, Consumer<StatusRuntimeException> told) {
    long until = nanos.getAsLong() + patience;
    Runnable again = () -> {
      if (last().equals(used)) {
        Question q = ask(used);
        await(q, until - nanos.getAsLong(), back, () -> told.accept(outcome(used, q, why)));
      } else {
        back.execute(() -> told.accept(retried("the token was replaced"))); // Another call has asked since.
      }
    };
    Question before;
    synchronized (this) {
      before = asked;
    }
    if (before == null || before.refused.equals(used)) {
      again.run();
    } else { // It was asked before the member was, and may answer the same.
      await(before, patience, Runnable::run, again);
    }
  }

  private synchronized StatusRuntimeException outcome(String used, Question q, StatusRuntimeException why) {
    if (!text.equals(used)) {
      return retried("the token was replaced");
    }
    return q.over ? why : retried(LATE);
  }

  /** Ends every wait for an answer, because the client is closed and the source may never answer. */
  void close() {
    List<Waiter> all;
    synchronized (this) {
      closed = true;
      all = asked == null ? List.of() : List.copyOf(asked.waiters);
      if (asked != null) {
        asked.waiters.clear();
      }
    }
    tell(all);
  }

  /** Returns how much waits for an answer. */
  public synchronized int waiting() {
    return asked == null ? 0 : asked.waiters.size();
  }

  private synchronized String last() {
    return text;
  }

  private boolean isFresh(long now) {
    return !text.isEmpty() && !failing && now - readAt < AGE_NANOS;
  }

  /** Returns what the source is being asked; that begins if nothing is, unless it has just answered: null, if no member refused that token. */
  private Question ask(String refused) {
    Question q;
    synchronized (this) {
      if (asked != null) {
        return asked;
      }
      if (refused.isEmpty() && isFresh(nanos.getAsLong())) {
        return null;
      }
      q = new Question(nanos.getAsLong(), refused);
      asked = q;
    }
    asking.execute(() -> answer(q));
    return q;
  }

  private void answer(Question q) {
    String given = "";
    RuntimeException failure = null;
    try {
      given = checked(given());
    } catch (RuntimeException e) {
      failure = e;
    }
    List<Waiter> all;
    synchronized (this) {
      failing = failure != null;
      if (failing) {
        failedAt = nanos.getAsLong();
      } else {
        text = given;
        readAt = nanos.getAsLong();
      }
      asked = null;
      q.over = true;
      q.failure = failure;
      all = List.copyOf(q.waiters);
      q.waiters.clear();
    }
    tell(all);
  }

  private static void tell(List<Waiter> all) {
    for (Waiter w : all) {
      w.patience.cancel(false);
      Loop.guarded(() -> w.back.execute(w.then)); // One whose executor is gone takes nothing from the others.
    }
  }

  /** Runs something on {@code back} once there is an answer, or after this long without one. Run what is returned to give up the wait. */
  private Runnable await(Question q, long patience, Executor back, Runnable then) {
    Waiter w = new Waiter(back, then);
    synchronized (this) {
      if (!q.over && !closed && patience > 0) {
        q.waiters.add(w);
        w.patience = later.run(patience, () -> {
          if (leaves(q, w)) {
            back.execute(then);
          }
        });
        return () -> {
          if (leaves(q, w)) {
            w.patience.cancel(false);
          }
        };
      }
    }
    back.execute(then);
    return () -> { };
  }

  private synchronized boolean leaves(Question q, Waiter w) {
    return q.waiters.remove(w);
  }

  /** Returns why there is no token: the source failed, or has not answered yet. */
  private synchronized StatusRuntimeException none(Question q) {
    if (q.failure == null) {
      return Errors.unsent(Exceptions.of(ErrorKind.UNAVAILABLE, Applied.NO, LATE));
    }
    return Status.UNAUTHENTICATED.withDescription("no token: " + q.failure.getMessage()).withCause(q.failure).asRuntimeException();
  }

  /** Returns what the source does. Whatever it throws, a call waits to be told that there is no token. */
  private String given() {
    try {
      return source.get();
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) { // Also an error, and what another language lets it throw.
      throw Exceptions.of(ErrorKind.AUTH_FAILED, Applied.NO, "the function that returns the token failed: " + t, Map.of(), t);
    }
  }

  /** Returns the token without space around it. */
  static String checked(String text) {
    String token = text == null ? "" : text.strip();
    if (token.isEmpty() || token.chars().anyMatch(c -> c <= ' ' || c > '~')) {
      throw Exceptions.of(ErrorKind.AUTH_FAILED, Applied.NO,
          "the token is empty, or has characters that are not printable ASCII");
    }
    return token;
  }

  @Override
  public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
    if (options.getOption(Vigil.WITHOUT_TOKEN)) {
      return next.newCall(method, options);
    }
    AtomicReference<String> used = Optional.ofNullable(options.getOption(USED)).orElseGet(() -> new AtomicReference<>(""));
    Sent sent = new Sent(used);
    return new SimpleForwardingClientCall<>(next.newCall(method, options.withCallCredentials(sent))) {
      @Override
      public void start(Listener<R> told, Metadata headers) {
        super.start(new SimpleForwardingClientCallListener<>(told) {
          @Override
          public void onClose(Status status, Metadata trailers) {
            sent.over();
            if (status.getCode() != Status.Code.UNAUTHENTICATED || used.get().isEmpty()) {
              super.onClose(status, trailers);
              return;
            }
            Executor back = options.getExecutor();
            Deadline end = options.getDeadline();
            long left = end == null ? FIRST_NANOS : end.timeRemaining(TimeUnit.NANOSECONDS);
            refused(used.get(), status.asRuntimeException(trailers), left, back == null ? loop : back,
                why -> super.onClose(why.getStatus(), why.getTrailers()));
          }
        }, headers);
      }
    };
  }

  /** Returns the error of a call that another token may help. */
  private static StatusRuntimeException retried(String text) {
    return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
        .setCode(Status.Code.UNAVAILABLE.value()).setMessage(text)
        .addDetails(Any.pack(ErrorInfo.newBuilder()
            .setDomain(Errors.DOMAIN).setReason(REPLACED).putMetadata("applied", "no").build()))
        .build());
  }

  /** The token of one call. */
  private final class Sent extends CallCredentials {
    private final AtomicReference<String> used;
    private volatile Runnable forget = () -> { };
    private volatile boolean over;

    Sent(AtomicReference<String> used) {
      this.used = used;
    }

    @Override
    public void applyRequestMetadata(RequestInfo call, Executor ignored, MetadataApplier applier) {
      forget = get(Runnable::run, token -> send(token, applier), why -> applier.fail(why.getStatus()));
      if (over) {
        forget.run();
      }
    }

    /** The call has ended, perhaps while it waited. */
    void over() {
      over = true;
      forget.run();
    }

    private void send(String token, MetadataApplier applier) {
      used.set(token);
      Metadata headers = new Metadata();
      headers.put(HEADER, "Bearer " + token);
      applier.apply(headers);
    }
  }
}
