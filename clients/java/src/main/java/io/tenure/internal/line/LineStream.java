package io.tenure.internal.line;

import com.google.protobuf.Message;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tenure.internal.Loop;
import io.tenure.v1.LineAnswer;
import io.tenure.v1.LineCall;
import io.tenure.v1.LineCredential;
import io.tenure.v1.LineCredit;
import io.tenure.v1.LineDrain;
import io.tenure.v1.LineLimits;
import io.tenure.v1.LinePart;
import io.tenure.v1.LineRequest;
import io.tenure.v1.LineResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.function.LongSupplier;

/** One line: a stream that carries many calls. Only the loop touches it. */
final class LineStream extends ClientCall.Listener<LineResponse> {
  /** How large a message becomes. */
  private static final int MESSAGE_BYTES = 64 << 10;
  /** How many cancels, and how many credits, are in a message at most. */
  private static final int LIST_MAX = 4096;
  /** How many calls there may be before the member has said how many it takes, and how large they may be together. */
  private static final int CALLS_BEFORE = 256;
  private static final long BYTES_BEFORE = 1 << 20;
  /** How many tokens a line knows at a time. */
  private static final int TOKENS_MAX = 8;
  /** How long a line may take to open. */
  static final long OPEN_NANOS = 30_000_000_000L;
  /** How long a line stays open that has had no calls since it was opened, or since the last of them ended. */
  static final long IDLE_NANOS = 30_000_000_000L;
  /** How often both are looked at. */
  private static final long LOOK_NANOS = 10_000_000_000L;

  /** Is told about lines, on the loop. */
  interface Owner {
    /** The member has said how many calls it takes. */
    void opened(LineStream line);

    /** The line takes no more calls. */
    void left(LineStream line);

    /**
     * The member did not open the line. {@code code} is UNIMPLEMENTED or RESOURCE_EXHAUSTED if it has no lines, or no room for one.
     */
    void refused(LineStream line, Status.Code code, StatusRuntimeException why);
  }

  private final ClientCall<LineRequest, LineResponse> call;
  private final Loop loop;
  private final Owner owner;
  private final LongSupplier nanos;
  private final Deque<CarriedCall> queue = new ArrayDeque<>();
  private final Deque<Long> cancels = new ArrayDeque<>();
  private final Deque<LineCredit> credits = new ArrayDeque<>();
  private final Map<Long, CarriedCall> open = new HashMap<>();
  private final List<String> tokens = new ArrayList<>();
  private int nextToken;
  private long number;
  /** Calls that are queued or open, and the bytes of their requests. */
  private int calls;
  private long bytes;
  private int callsMax = CALLS_BEFORE;
  private long bytesMax = BYTES_BEFORE;
  /** Calls with parts that are queued or open. */
  private int waits;
  private int waitsMax;
  private boolean opened;
  private boolean over;
  /** Whether it is closed once it has no calls. */
  private boolean ending;
  private boolean flushing;
  private StatusRuntimeException drained;
  /** When it began to be opened, and then when it was opened or its last call ended. */
  private long since;
  private ScheduledFuture<?> look;

  LineStream(ClientCall<LineRequest, LineResponse> call, Loop loop, Owner owner, LongSupplier nanos) {
    this.call = call;
    this.loop = loop;
    this.owner = owner;
    this.nanos = nanos;
  }

  void open() {
    since = nanos.getAsLong();
    call.start(this, new Metadata());
    call.request(1);
    lookLater();
  }

  /** How many waits and watches it carries at most, once it is open. Zero: none. */
  int waitsMax() {
    return waitsMax;
  }

  private void lookLater() {
    look = loop.after(LOOK_NANOS, () -> {
      look();
      if (!over) {
        lookLater();
      }
    });
  }

  /** Closes it if it was idle for long, and gives it up if it took too long to open. */
  void look() {
    long age = nanos.getAsLong() - since;
    if (opened && age >= IDLE_NANOS) {
      closeIfIdle();
    } else if (!opened && age >= OPEN_NANOS) {
      call.cancel("the member did not open the line in time", null);
    }
  }

  /** Closes it once it has no calls. */
  void drain() {
    ending = true;
    closeIfIdle();
  }

  private void closeIfIdle() {
    if (!over && calls == 0) {
      leave();
      call.halfClose();
    }
  }

  /** Takes no more calls. */
  private void leave() {
    over = true;
    if (look != null) {
      look.cancel(false);
    }
    owner.left(this);
  }

  /** Puts a call in the queue, and reports whether there was room. */
  boolean add(CarriedCall c) {
    boolean full = c.isLong() ? waits >= waitsMax : calls - waits >= callsMax;
    if (over || drained == null && (full || calls > 0 && bytes + c.bytes > bytesMax)) {
      return false;
    }
    if (drained != null) {
      StatusRuntimeException why = drained;
      loop.execute(() -> c.fail(why));
      return true;
    }
    queue.add(c);
    calls++;
    bytes += c.bytes;
    waits += c.isLong() ? 1 : 0;
    flushSoon();
    return true;
  }

  /** The caller of a call no longer waits for it. */
  void cancel(CarriedCall c) {
    if (!over && open.get(c.number) == c) {
      cancels.add(c.number);
      flushSoon();
    }
  }

  /** Lets a call send as much more as its reader has taken. */
  void give(CarriedCall c, int messages, long size) {
    if (!over && open.get(c.number) == c) {
      credits.add(LineCredit.newBuilder().setNumber(c.number).setMessages(messages).setBytes(size).build());
      flushSoon();
    }
  }

  /** Notes that a call is no longer queued or open. */
  private void forget(CarriedCall c) {
    calls--;
    bytes -= c.bytes;
    waits -= c.isLong() ? 1 : 0;
    if (opened && calls == 0) {
      since = nanos.getAsLong();
    }
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
    while (!over && call.isReady() && !(queue.isEmpty() && cancels.isEmpty() && credits.isEmpty())) {
      LineRequest.Builder message = LineRequest.newBuilder();
      while (!cancels.isEmpty() && message.getCancelsCount() < LIST_MAX) {
        message.addCancels(cancels.remove());
      }
      while (!credits.isEmpty() && message.getCreditsCount() < LIST_MAX) {
        message.addCredits(credits.remove());
      }
      int size = 0;
      while (!queue.isEmpty() && message.getCallsCount() < LIST_MAX && (size == 0 || size + queue.peek().bytes <= MESSAGE_BYTES)) {
        CarriedCall c = queue.peek();
        int more = c.bytes + 1;
        if (c.isOver()) { // It was never sent.
          forget(c);
        } else if (!append(message, c)) {
          break;
        } else {
          size += more;
        }
        queue.remove();
      }
      call.sendMessage(message.build());
    }
  }

  /** Appends a call. Returns false if it needs a token that the message must begin with. */
  private boolean append(LineRequest.Builder message, CarriedCall c) {
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
    c.fill(asked.setNumber(c.number));
    message.addCalls(asked);
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
      limits(m.getLimits());
    }
    for (LinePart p : m.getPartsList()) {
      if (!part(p)) {
        return;
      }
    }
    for (LineAnswer a : m.getAnswersList()) {
      CarriedCall c = open.remove(a.getNumber());
      if (c == null) {
        call.cancel("an answer to call " + a.getNumber() + ", which is not running", null);
        return;
      }
      forget(c);
      StatusRuntimeException room = noRoom(a);
      Loop.guarded(() -> {
        if (room == null) {
          c.answer(a);
        } else {
          c.undone(room);
        }
      });
    }
    if (m.hasDrain()) {
      drain(m.getDrain());
    }
    if (ending) {
      closeIfIdle();
    }
    call.request(1);
  }

  private void limits(LineLimits limits) {
    callsMax = bound(limits.getCallsMax());
    bytesMax = Math.max(0, limits.getRequestBytesMax());
    waitsMax = bound(limits.getWaitsMax());
    if (!opened) {
      opened = true;
      since = nanos.getAsLong();
      owner.opened(this);
    }
  }

  private static int bound(int unsigned) {
    return unsigned < 0 ? Integer.MAX_VALUE : unsigned;
  }

  /** Returns why a call was refused if the line had no room for it, and takes no more on it than there are; null for another answer. */
  private StatusRuntimeException noRoom(LineAnswer a) {
    if (a.getStatus().getCode() != Status.Code.RESOURCE_EXHAUSTED.value()) {
      return null;
    }
    StatusRuntimeException why = CarriedCall.error(a.getStatus());
    switch (Errors.read(why).error().details().getOrDefault("limit", "")) {
      // The only one is refused, too, while the member still counts some that have just ended; zero would say that it carries none.
      case "line_waits_max" -> waitsMax = Math.min(waitsMax, Math.max(1, waits));
      case "line_calls_max" -> callsMax = Math.min(callsMax, calls - waits);
      case "line_request_bytes_max" -> bytesMax = Math.min(bytesMax, bytes);
      default -> {
        return null;
      }
    }
    return why;
  }

  /** Takes a message of calls with parts, and reports whether they are under way. */
  private boolean part(LinePart p) {
    for (long n : p.getNumbersList()) {
      CarriedCall c = open.get(n);
      if (c == null || !c.isLong()) {
        call.cancel("a part of call " + n + ", which has none", null);
        return false;
      }
      if (c.verb.isWait()) { // From its first message on, its request no longer counts; that of a watch does until its end.
        bytes -= c.bytes;
        c.bytes = 0;
      }
      if (p.hasField(c.verb.response())) {
        Message message = (Message) p.getField(c.verb.response());
        Loop.guarded(() -> c.part(message));
      }
    }
    return true;
  }

  /** Ends what the member has not started, as it stops. */
  private void drain(LineDrain d) {
    drained = CarriedCall.error(d.getStatus());
    List<CarriedCall> never = new ArrayList<>(queue);
    queue.clear();
    for (CarriedCall c : List.copyOf(open.values())) {
      if (c.number > d.getUpTo()) {
        open.remove(c.number);
        never.add(c);
      }
    }
    for (CarriedCall c : never) {
      forget(c);
      c.fail(drained);
    }
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    StatusRuntimeException why = status.isOk() ? unanswered() : status.asRuntimeException(trailers);
    if (!over) {
      leave();
    }
    boolean refused = false;
    if (!opened) {
      refused = switch (status.getCode()) {
        case UNIMPLEMENTED, RESOURCE_EXHAUSTED, UNAUTHENTICATED -> true;
        default -> false;
      };
    } else if (!Errors.read(why).network()) { // Whatever the member says of the line, it says nothing of the calls.
      why = unanswered();
    }
    StatusRuntimeException unsent = Errors.read(why).network() ? Errors.unsent(why) : why;
    if (!opened) {
      owner.refused(this, status.getCode(), unsent);
    }
    List<CarriedCall> queued = List.copyOf(queue);
    List<CarriedCall> sent = List.copyOf(open.values());
    queue.clear();
    open.clear();
    if (refused) {
      queued.forEach(c -> c.undone(unsent));
      sent.forEach(c -> c.undone(unsent));
      return;
    }
    queued.forEach(c -> c.fail(unsent));
    for (CarriedCall c : sent) {
      c.fail(why);
    }
  }

  private static StatusRuntimeException unanswered() {
    return Status.UNAVAILABLE.withDescription("the line ended without an answer").asRuntimeException();
  }
}
