package io.tenure;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The token by which members know who calls, and an interceptor that sends it with each call. Its source is asked again when it
 * is old, and when a member refuses it; it may wait, so it is asked on a thread for the user's code.
 */
final class Token implements ClientInterceptor {
  /** How old a token may be. */
  static final long AGE_NANOS = 10_000_000_000L;
  /** What a call ends with that was refused for its token, where there is another one by now: it is tried again. */
  static final String REPLACED = "TOKEN_REPLACED";

  /** Where a call has it noted with which token it was begun; empty before. */
  static final CallOptions.Key<AtomicReference<String>> USED = CallOptions.Key.create("tenure-token-used");

  private static final Metadata.Key<String> HEADER =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Supplier<String> source;
  private final LongSupplier nanos;
  /** Runs what may wait, one after another. */
  private final Executor asking;
  /** Tells calls how they end. */
  private final Executor loop;
  private volatile Read last = new Read("", 0);

  /** What was read, and when. */
  private record Read(String text, long at) {}

  Token(Supplier<String> source, LongSupplier nanos, Executor asking, Executor loop) {
    this.source = source;
    this.nanos = nanos;
    this.asking = asking;
    this.loop = loop;
  }

  /** Returns the token that is not old; empty for none. */
  String fresh() {
    Read r = last;
    return nanos.getAsLong() - r.at < AGE_NANOS ? r.text : "";
  }

  /** Returns the token, at once. Only what runs by {@code asking} may call it. */
  String get() {
    String now = fresh();
    return now.isEmpty() ? read() : now;
  }

  /** Asks the source. Only what runs by {@code asking} may call it. If it fails, the token before is kept, if there is one. */
  String read() {
    try {
      last = new Read(checked(given()), nanos.getAsLong());
    } catch (RuntimeException e) {
      if (last.text.isEmpty()) {
        throw e;
      }
    }
    return last.text;
  }

  /** Returns what the source does. Whatever it throws, a call waits to be told that there is no token. */
  private String given() {
    try {
      return source.get();
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable t) { // Also an error, and what another language lets it throw.
      throw TenureException.of(ErrorKind.AUTH_FAILED, Applied.NO, "the function that returns the token failed: " + t, Map.of(), t);
    }
  }

  /** Returns the token without space around it. */
  static String checked(String text) {
    String token = text == null ? "" : text.strip();
    if (token.isEmpty() || token.chars().anyMatch(c -> c <= ' ' || c > '~')) {
      throw TenureException.of(ErrorKind.AUTH_FAILED, Applied.NO,
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
            if (status.getCode() != Status.Code.UNAUTHENTICATED || used.get().isEmpty()) {
              super.onClose(status, trailers);
              return;
            }
            Executor back = options.getExecutor();
            refused(used.get(), status.asRuntimeException(trailers), back == null ? loop : back,
                why -> super.onClose(why.getStatus(), why.getTrailers()));
          }
        }, headers);
      }
    };
  }

  /** Has the token told by {@code back}, or why there is none. */
  void get(Executor back, Consumer<String> told, Consumer<RuntimeException> failed) {
    asking.execute(() -> {
      try {
        String text = get();
        back.execute(() -> told.accept(text));
      } catch (RuntimeException e) {
        back.execute(() -> failed.accept(e));
      }
    });
  }

  /** Has it told by {@code back} what a call ends with whose token was refused: with another error if there is another token. */
  void refused(String used, StatusRuntimeException why, Executor back, Consumer<StatusRuntimeException> told) {
    asking.execute(() -> {
      // Another call may have asked since.
      boolean replaced = !last.text.equals(used) || !read().equals(used);
      back.execute(() -> told.accept(replaced ? replaced() : why));
    });
  }

  /** Returns the error of a call that another token may help. */
  private static StatusRuntimeException replaced() {
    return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
        .setCode(Status.Code.UNAVAILABLE.value()).setMessage("the token was replaced")
        .addDetails(Any.pack(ErrorInfo.newBuilder()
            .setDomain(Errors.DOMAIN).setReason(REPLACED).putMetadata("applied", "no").build()))
        .build());
  }

  /** The token of one call. */
  private final class Sent extends CallCredentials {
    private final AtomicReference<String> used;

    Sent(AtomicReference<String> used) {
      this.used = used;
    }

    @Override
    public void applyRequestMetadata(RequestInfo call, Executor ignored, MetadataApplier applier) {
      String token = fresh();
      if (!token.isEmpty()) {
        send(token, applier);
        return;
      }
      asking.execute(() -> {
        try {
          send(get(), applier);
        } catch (RuntimeException e) {
          applier.fail(Status.UNAUTHENTICATED.withDescription("no token: " + e.getMessage()).withCause(e));
        }
      });
    }

    private void send(String token, MetadataApplier applier) {
      used.set(token);
      Metadata headers = new Metadata();
      headers.put(HEADER, "Bearer " + token);
      applier.apply(headers);
    }
  }
}
