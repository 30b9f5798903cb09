package io.tenure;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.LineAnswer;
import io.tenure.v1.LineCall;
import io.tenure.v1.LineCredential;
import io.tenure.v1.LineDrain;
import io.tenure.v1.LineRequest;
import io.tenure.v1.LineResponse;
import io.tenure.v1.LineServiceGrpc;
import io.tenure.v1.LineStatus;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;

/**
 * Many calls over one stream of a connection: LineService.Line. A call on it has the result, the errors and the time of one that is
 * made by itself. It is made by itself where a line does not serve: if lines do not carry its kind, if its request would hold up
 * others, if the line is full, and at a member that has no lines. The line is opened by the first call, and closed when it has been
 * idle for a while. Only the loop touches it.
 */
final class CallLine {
  /** How large a request may be; a larger one is made by itself, as it would hold up others. */
  private static final int CALL_BYTES_MAX = 64 << 10;
  /** How large a message becomes. */
  private static final int MESSAGE_BYTES = 64 << 10;
  /** How many calls there may be before the member has said how many it takes, and how large they may be together. */
  private static final int CALLS_BEFORE = 256;
  private static final long BYTES_BEFORE = 1 << 20;
  /** How many tokens a line knows at a time. */
  private static final int TOKENS_MAX = 8;
  /** How long a line without calls stays open, at least; at most twice as long. */
  private static final long IDLE_NANOS = 30_000_000_000L;
  /** How long calls are made by themselves after a member had no room for a line. */
  private static final long REFUSED_NANOS = 10_000_000_000L;

  /** A kind of call that lines carry. */
  private record Verb(FieldDescriptor request, FieldDescriptor response) {}

  /** By the bare name of the RPC. */
  private static final Map<String, Verb> VERBS = verbs();

  private final ManagedChannel channel;
  private final Door door;
  private final Loop loop;
  /** Null: there is none. */
  private Stream stream;
  private boolean without;
  private boolean paused;

  CallLine(ManagedChannel channel, Door door, Loop loop) {
    this.channel = channel;
    this.door = door;
    this.loop = loop;
    this.without = !door.lines();
  }

  private static Map<String, Verb> verbs() {
    Map<String, Verb> all = new HashMap<>();
    for (FieldDescriptor f : LineCall.getDescriptor().getOneofs().get(0).getFields()) {
      String type = f.getMessageType().getName();
      FieldDescriptor response = LineAnswer.getDescriptor().findFieldByName(f.getName());
      if (response != null) { // Else it has parts.
        all.put(type.substring(0, type.length() - "Request".length()), new Verb(f, response));
      }
    }
    return all;
  }

  /**
   * Puts a call on the line, and reports whether there was room. {@code alone} makes it by itself, if the line turns out not to serve
   * it: nothing was done then.
   */
  <Q, R> boolean begin(MethodDescriptor<Q, R> method, Q request, long nanos, StreamObserver<R> told, Runnable alone) {
    Verb verb = VERBS.get(method.getBareMethodName());
    if (without || verb == null || !(request instanceof Message message) || message.getSerializedSize() > CALL_BYTES_MAX) {
      return false;
    }
    String token = door.token();
    if (token == null) {
      return false; // It has to be read first, which may take a while.
    }
    if (stream == null) {
      if (paused) {
        return false;
      }
      stream = new Stream();
      stream.open();
    }
    return stream.add(new Call<>(verb, message, token, told, alone), nanos);
  }

  /** Takes nothing new, and ends the line once its calls have their answers. */
  void drain() {
    without = true;
    if (stream != null) {
      stream.closeIfIdle();
    }
  }

  /** Returns the error of a status on a line. */
  private static StatusRuntimeException error(LineStatus s) {
    return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
        .setCode(s.getCode()).setMessage(s.getMessage()).addAllDetails(s.getDetailsList()).build());
  }

  /** A call on its way. */
  private static final class Call<R> {
    private final Verb verb;
    private final Message request;
    private final String token;
    private final StreamObserver<R> told;
    private final Runnable alone;
    private final int bytes;
    private long until;
    private long number;
    private boolean over;
    private ScheduledFuture<?> timer;

    Call(Verb verb, Message request, String token, StreamObserver<R> told, Runnable alone) {
      this.verb = verb;
      this.request = request;
      this.token = token;
      this.told = told;
      this.alone = alone;
      this.bytes = request.getSerializedSize();
    }

    /** Ends it, once. */
    private void end(Runnable how) {
      if (!over) {
        over = true;
        timer.cancel(false);
        Loop.guarded(how);
      }
    }

    void fail(Throwable why) {
      end(() -> told.onError(why));
    }

    void alone() {
      end(alone);
    }

    /** Takes the answer. */
    @SuppressWarnings("unchecked") // A response of its kind is of its type.
    void answer(LineAnswer a) {
      if (!a.hasStatus()) {
        end(() -> {
          told.onNext((R) a.getField(verb.response()));
          told.onCompleted();
        });
        return;
      }
      int code = a.getStatus().getCode();
      // It was refused before anything was done: by itself it waits for another token, or is of a kind that the member knows.
      if (code == Status.Code.UNIMPLEMENTED.value() || code == Status.Code.UNAUTHENTICATED.value()) {
        alone();
      } else {
        fail(error(a.getStatus()));
      }
    }
  }

  /** One line. */
  private final class Stream extends ClientCall.Listener<LineResponse> {
    private final ClientCall<LineRequest, LineResponse> call = channel.newCall(LineServiceGrpc.getLineMethod(), CallOptions.DEFAULT);
    private final Deque<Call<?>> queue = new ArrayDeque<>();
    private final List<Long> cancels = new ArrayList<>();
    private final Map<Long, Call<?>> open = new HashMap<>();
    private final List<String> tokens = new ArrayList<>();
    private int nextToken;
    private long number;
    private long bytes;
    private int callsMax = CALLS_BEFORE;
    private long bytesMax = BYTES_BEFORE;
    private boolean opened;
    private boolean over;
    private boolean used;
    private boolean flushing;
    private StatusRuntimeException drained;
    private ScheduledFuture<?> idle;

    void open() {
      call.start(this, new Metadata());
      call.request(1);
      look();
    }

    /** Closes it if it was not used since it was last looked at. */
    private void look() {
      if (!used && idle != null) {
        closeIfIdle();
      }
      used = false;
      if (!over) {
        idle = loop.after(IDLE_NANOS, this::look);
      }
    }

    void closeIfIdle() {
      if (!over && queue.isEmpty() && open.isEmpty()) {
        leave();
        call.halfClose();
      }
    }

    /** Takes no more calls. */
    private void leave() {
      over = true;
      idle.cancel(false);
      if (stream == this) {
        stream = null;
      }
    }

    boolean add(Call<?> c, long nanos) {
      int calls = queue.size() + open.size();
      if (over || drained == null && (calls >= callsMax || calls > 0 && bytes + c.bytes > bytesMax)) {
        return false;
      }
      c.until = System.nanoTime() + nanos;
      c.timer = loop.after(nanos, () -> {
        if (open.containsKey(c.number)) {
          cancels.add(c.number);
          flushSoon();
        }
        c.fail(Status.DEADLINE_EXCEEDED.withDescription("no answer in time").asRuntimeException());
      });
      if (drained != null) {
        c.fail(drained);
        return true;
      }
      queue.add(c);
      bytes += c.bytes;
      used = true;
      flushSoon();
      return true;
    }

    /** Sends what is queued, after what else the loop has to do: callers that were answered together call again together. */
    private void flushSoon() {
      if (!flushing) {
        flushing = true;
        loop.execute(() -> {
          flushing = false;
          flush();
        });
      }
    }

    private void flush() {
      while (!over && call.isReady() && !(queue.isEmpty() && cancels.isEmpty())) {
        LineRequest.Builder message = LineRequest.newBuilder().addAllCancels(cancels);
        cancels.clear();
        int size = 0;
        while (!queue.isEmpty() && (size == 0 || size + queue.peek().bytes <= MESSAGE_BYTES)) {
          Call<?> c = queue.peek();
          if (c.over) { // It was never sent.
            bytes -= c.bytes;
          } else if (!append(message, c)) {
            break;
          } else {
            size += c.bytes + 1;
          }
          queue.remove();
        }
        call.sendMessage(message.build());
      }
    }

    /** Appends a call. Returns false if it needs a token that the message must begin with. */
    private boolean append(LineRequest.Builder message, Call<?> c) {
      LineCall.Builder asked = LineCall.newBuilder();
      if (!c.token.isEmpty()) {
        if (!tokens.contains(c.token)) {
          if (message.getCallsCount() > 0) {
            return false;
          }
          give(message, c.token);
        }
        asked.setCredential(tokens.indexOf(c.token) + 1);
      }
      c.number = ++number;
      open.put(c.number, c);
      message.addCalls(asked.setNumber(c.number).setField(c.verb.request(), c.request)
          .setRemainingTime(Wire.duration(Duration.ofNanos(Math.max(1, c.until - System.nanoTime())))));
      return true;
    }

    /** Gives the member a token. */
    private void give(LineRequest.Builder message, String token) {
      if (nextToken < tokens.size()) {
        tokens.set(nextToken, token);
      } else {
        tokens.add(token);
      }
      message.addCredentials(LineCredential.newBuilder().setNumber(nextToken + 1).setToken(token));
      nextToken = (nextToken + 1) % TOKENS_MAX;
    }

    @Override
    public void onReady() {
      flush();
    }

    @Override
    public void onMessage(LineResponse m) {
      if (m.hasLimits()) {
        opened = true;
        callsMax = (int) Math.min(Integer.MAX_VALUE, Integer.toUnsignedLong(m.getLimits().getCallsMax()));
        bytesMax = Math.max(0, m.getLimits().getRequestBytesMax());
      }
      for (LineAnswer a : m.getAnswersList()) {
        Call<?> c = open.remove(a.getNumber());
        if (c == null) {
          call.cancel("an answer to call " + a.getNumber() + ", which is not under way", null);
          return;
        }
        bytes -= c.bytes;
        c.answer(a);
      }
      if (m.hasDrain()) {
        drain(m.getDrain());
      }
      if (without) {
        closeIfIdle();
      }
      call.request(1);
    }

    /** Ends what the member has not started, as it stops. */
    private void drain(LineDrain d) {
      drained = error(d.getStatus());
      for (Call<?> c : List.copyOf(open.values())) {
        if (c.number > d.getUpTo()) {
          open.remove(c.number);
          c.fail(drained);
        }
      }
      List<Call<?>> unsent = List.copyOf(queue);
      queue.clear();
      unsent.forEach(c -> c.fail(drained));
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      StatusRuntimeException why = status.isOk()
          ? Status.UNAVAILABLE.withDescription("the line ended without an answer").asRuntimeException()
          : status.asRuntimeException(trailers);
      if (!over) {
        leave();
      }
      boolean refused = false;
      if (!opened) {
        refused = switch (status.getCode()) {
          case UNIMPLEMENTED, RESOURCE_EXHAUSTED, UNAUTHENTICATED -> true;
          default -> false;
        };
        without |= status.getCode() == Status.Code.UNIMPLEMENTED;
        if (status.getCode() == Status.Code.RESOURCE_EXHAUSTED) {
          paused = true;
          loop.after(REFUSED_NANOS, () -> paused = false);
        }
      } else if (!Errors.read(why).network()) { // Whatever the member says of the line, it says nothing of the calls.
        why = Status.UNAVAILABLE.withDescription("the line ended without an answer").asRuntimeException();
      }
      List<Call<?>> unsent = List.copyOf(queue);
      List<Call<?>> sent = List.copyOf(open.values());
      queue.clear();
      open.clear();
      unsent.forEach(Call::alone);
      for (Call<?> c : sent) {
        if (refused) {
          c.alone();
        } else {
          c.fail(why);
        }
      }
    }
  }
}
