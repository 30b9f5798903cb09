package io.tenure.internal.line;

import com.google.protobuf.Message;
import io.grpc.ClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tenure.v1.LineAnswer;
import io.tenure.v1.LineCall;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A wait or a watch, which looks to those who make it like any call of gRPC: a call with parts on a line, or a stream of its own where
 * lines do not serve. What came before its end is told before it, as much as its reader asks for. Only the loop touches it.
 */
public final class FollowedCall<Q, R> extends ClientCall<Q, R> {
  /** How far a call may be ahead of its reader. The last message may exceed the bytes. */
  public static final int AHEAD_MESSAGES = 16;
  static final int AHEAD_BYTES = 64 << 10;

  private final Waits waits;
  private final MethodDescriptor<Q, R> method;
  private final Deque<R> inbox = new ArrayDeque<>();
  private Listener<R> told;
  private Q request;
  /** How many messages its reader asks for. */
  private long demand;
  private boolean telling;
  private boolean over;
  /** How it ended, once it has. */
  private Status status;
  private Metadata trailers;
  /** The call on a line, where it is on one. */
  private Carried carried;
  /** The stream of its own, where lines do not serve. */
  private ClientCall<Q, R> alone;
  /** Has it wait no longer for a token. */
  private Runnable forget = () -> { };

  FollowedCall(Waits waits, MethodDescriptor<Q, R> method) {
    this.waits = waits;
    this.method = method;
  }

  @Override
  public void start(Listener<R> listener, Metadata headers) {
    told = new Reader(listener); // The headers are empty: lines have none for a call.
  }

  @Override
  public void request(int messages) {
    if (alone != null) {
      alone.request(messages);
      return;
    }
    demand += messages;
    if (!inbox.isEmpty()) {
      tellSoon();
    }
  }

  @Override
  public void sendMessage(Q message) {
    request = message;
    CarriedCall.Verb verb = CarriedCall.LONG.get(method.getBareMethodName());
    if (verb == null || !(message instanceof Message m) || m.getSerializedSize() > CarriedCall.BYTES_MAX) {
      alone();
    } else {
      waits.begin(verb, this);
    }
  }

  @Override
  public void halfClose() {
    // The request is the only message.
  }

  @Override
  public void cancel(String message, Throwable cause) {
    if (alone != null) {
      alone.cancel(message, cause);
      return;
    }
    inbox.clear();
    end(Status.CANCELLED.withDescription(message).withCause(cause), new Metadata());
    if (carried != null) {
      carried.line.cancel(carried);
    }
  }

  /** Whether it has ended, or its reader has left it. */
  boolean isOver() {
    return over;
  }

  /** Notes that it waits for a token, until it is over. */
  void waits(Runnable toForget) {
    forget = toForget;
  }

  /** Makes it a stream of its own. */
  void alone() {
    if (over) {
      return;
    }
    try {
      alone = waits.stream(method);
    } catch (RuntimeException e) { // Such as for a file that cannot be read just now.
      fail(Errors.unsent(e));
      return;
    }
    alone.start(told, new Metadata());
    if (demand > 0) {
      alone.request((int) Math.min(Integer.MAX_VALUE, demand));
    }
    alone.sendMessage(request);
    alone.halfClose();
    request = null;
  }

  /** Puts it on a line, and reports whether there was room. */
  boolean join(CarriedCall.Verb verb, String token, LineStream line) {
    Carried call = new Carried(verb, (Message) request, token, line);
    if (!line.add(call)) {
      return false;
    }
    carried = call;
    request = null;
    return true;
  }

  void fail(StatusRuntimeException why) {
    end(why.getStatus(), why.getTrailers() == null ? new Metadata() : why.getTrailers());
  }

  private void end(Status how, Metadata with) {
    if (!over) {
      over = true;
      status = how;
      trailers = with;
      request = null;
      forget.run();
      tellSoon();
    }
  }

  /** Tells what came, once those who made the call have done what they do: they expect nothing before. */
  private void tellSoon() {
    if (!telling) {
      telling = true;
      waits.tellSoon(this);
    }
  }

  /** Tells what came. */
  void tell() {
    telling = false;
    while (demand > 0 && !inbox.isEmpty()) {
      demand--;
      R message = inbox.remove();
      if (carried != null) {
        carried.took(((Message) message).getSerializedSize());
      }
      told.onMessage(message);
    }
    if (status != null && inbox.isEmpty()) {
      Status how = status;
      status = null;
      told.onClose(how, trailers);
    }
  }

  /** Its reader. If that fails at a message, the call ends, and the reader is told why. */
  private final class Reader extends SimpleForwardingClientCallListener<R> {
    private StatusRuntimeException failed;

    Reader(Listener<R> reader) {
      super(reader);
    }

    @Override
    public void onMessage(R message) {
      if (failed != null) {
        return;
      }
      try {
        super.onMessage(message);
      } catch (RuntimeException | Error e) {
        failed = Errors.unread(e);
        cancel("its reader failed", e);
      }
    }

    @Override
    public void onClose(Status how, Metadata with) {
      if (failed == null) {
        super.onClose(how, with);
      } else {
        super.onClose(failed.getStatus(), failed.getTrailers());
      }
    }
  }

  /** It, as a line has it. */
  private final class Carried extends CarriedCall {
    private final LineStream line;
    /** That were taken since credit was given. */
    private int messages;
    private long size;

    Carried(Verb verb, Message request, String token, LineStream line) {
      super(verb, request, token);
      this.line = line;
    }

    /** Gives credit for messages that were taken, not for each. */
    void took(int bytes) {
      messages++;
      size += bytes;
      if (messages >= AHEAD_MESSAGES / 2 || size >= AHEAD_BYTES / 2) {
        line.give(this, messages, size);
        messages = 0;
        size = 0;
      }
    }

    @Override
    void fill(LineCall.Builder asked) {
      super.fill(asked.setCreditMessages(AHEAD_MESSAGES).setCreditBytes(AHEAD_BYTES));
    }

    @Override
    boolean isLong() {
      return true;
    }

    @Override
    boolean isOver() {
      return over;
    }

    @Override
    @SuppressWarnings("unchecked") // A part of its kind is of its type.
    void part(Message m) {
      if (!over) {
        inbox.add((R) m);
        tellSoon();
      }
    }

    @Override
    void answer(LineAnswer a) {
      if (!a.hasStatus()) {
        end(Status.OK, new Metadata());
      } else if (a.getStatus().getCode() == Status.Code.UNAUTHENTICATED.value()) {
        waits.refused(token, error(a.getStatus()), this::fail);
      } else {
        fail(error(a.getStatus()));
      }
    }

    @Override
    void fail(StatusRuntimeException why) {
      FollowedCall.this.fail(why);
    }

    @Override
    void undone(StatusRuntimeException why) {
      fail(why);
    }
  }
}
