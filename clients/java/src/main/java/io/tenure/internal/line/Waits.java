package io.tenure.internal.line;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tenure.internal.Loop;
import io.tenure.v1.LineServiceGrpc;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The waits and watches of a connection, on channels of their own. They share lines, which carry nothing else, so that no other call is
 * behind what they are sent. They are streams where the member carries none on lines, and with interceptors. Only the loop touches it.
 */
public final class Waits implements LineStream.Owner {
  /** How many streams share a channel: what every HTTP/2 server and proxy is expected to allow, and a tenth of what a member does. */
  public static final int STREAMS_MAX = 100;
  /** How many lines share a channel. */
  public static final int LINES_MAX = 8;
  /** How many calls are told what came before the loop does what else came: an event for thousands of watches holds up no other call. */
  private static final int TOLD_MAX = 64;

  private final Supplier<ManagedChannel> builder;
  private final Door door;
  private final Loop loop;
  private final Runnable streamLost;
  private final List<Channel> channels = new ArrayList<>();
  /** What begins once the line that is being opened is open, or is not to be. */
  private List<Unplaced> unplaced = new ArrayList<>();
  /** Calls with something to tell. */
  private final Deque<FollowedCall<?, ?>> telling = new ArrayDeque<>();
  /** Null: none is being opened. */
  private LineStream opening;
  private boolean without;
  private boolean paused;
  private boolean closed;

  /** A call that is to be put on a line, with a token. */
  private record Unplaced(CarriedCall.Verb verb, FollowedCall<?, ?> call, String token) {}

  /** {@code streamLost} is told when a stream ended because its channel may have broken. */
  Waits(Supplier<ManagedChannel> builder, Door door, Loop loop, Runnable streamLost) {
    this.builder = builder;
    this.door = door;
    this.loop = loop;
    this.streamLost = streamLost;
    this.without = !door.lines();
  }

  /** Returns a call with parts that may stay open for long. */
  <Q, R> ClientCall<Q, R> call(MethodDescriptor<Q, R> method) {
    return new FollowedCall<>(this, method);
  }

  /** Has a call tell what came, soon. */
  void tellSoon(FollowedCall<?, ?> call) {
    telling.add(call);
    if (telling.size() == 1) {
      loop.execute(this::tell);
    }
  }

  private void tell() {
    List<FollowedCall<?, ?>> some = new ArrayList<>();
    while (some.size() < TOLD_MAX && !telling.isEmpty()) {
      some.add(telling.remove());
    }
    if (!telling.isEmpty()) {
      loop.execute(this::tell);
    }
    some.forEach(call -> Loop.guarded(call::tell));
  }

  /** Returns a stream of its own for such a call. Throws if no channel can be made for it. */
  <Q, R> ClientCall<Q, R> stream(MethodDescriptor<Q, R> method) {
    return channel(Channel::hasRoom).stream(method);
  }

  /** Begins a call: on a line, once it is known how many that carries, or by itself. */
  void begin(CarriedCall.Verb verb, FollowedCall<?, ?> call) {
    if (without) {
      call.alone();
      return;
    }
    String token = door.token();
    if (token != null) {
      place(new Unplaced(verb, call, token));
      return;
    }
    call.waits(door.readToken(loop, read -> place(new Unplaced(verb, call, read)), call::fail));
  }

  /** Has it told what a call ends with whose token was refused: an error after which it is tried again, if there is another token. */
  void refused(String token, StatusRuntimeException why, Consumer<StatusRuntimeException> told) {
    door.refused(token, why, loop, told);
  }

  private void place(Unplaced u) {
    if (u.call.isOver()) {
      return;
    }
    for (Channel c : channels) {
      for (LineStream line : c.lines) {
        if (u.call.join(u.verb, u.token, line)) {
          return;
        }
      }
    }
    if (without || paused) {
      u.call.alone();
      return;
    }
    if (opening != null) {
      unplaced.add(u);
      return;
    }
    Channel channel;
    try {
      channel = channel(c -> c.hasRoom() && c.lines.size() < LINES_MAX);
    } catch (RuntimeException e) { // Such as for a file that cannot be read just now.
      u.call.fail(Errors.unsent(e));
      return;
    }
    unplaced.add(u);
    opening = new LineStream(channel.stream(LineServiceGrpc.getLineMethod()), loop, this, System::nanoTime);
    channel.lines.add(opening);
    opening.open();
  }

  @Override
  public void opened(LineStream line) {
    if (line.waitsMax() == 0) {
      without = true;
      line.drain();
    }
    placed(line).forEach(this::place);
  }

  @Override
  public void left(LineStream line) {
    channels.forEach(c -> c.lines.remove(line));
  }

  @Override
  public void refused(LineStream line, Status.Code code, StatusRuntimeException why) {
    List<Unplaced> all = placed(line);
    if (code == Status.Code.UNIMPLEMENTED) {
      without = true;
    } else if (code == Status.Code.RESOURCE_EXHAUSTED) {
      paused = true;
      loop.after(CallLine.REFUSED_NANOS, () -> paused = false);
    } else {
      all.forEach(u -> u.call.fail(why));
      return;
    }
    all.forEach(this::place);
  }

  /** Returns what waited for a line. */
  private List<Unplaced> placed(LineStream line) {
    if (opening != line) {
      return List.of();
    }
    opening = null;
    List<Unplaced> all = unplaced;
    unplaced = new ArrayList<>();
    return all;
  }

  /** Returns the first channel of that kind, or a new one. */
  private Channel channel(Predicate<Channel> wanted) {
    channels.removeIf(Channel::isOver); // It would connect again as it did, with files that may have been replaced since.
    return channels.stream().filter(wanted).findFirst().orElseGet(() -> {
      Channel c = new Channel(builder.get());
      channels.add(c);
      if (closed) {
        c.channel.shutdownNow(); // Then so is what goes over it.
      }
      return c;
    });
  }

  /** Returns how many channels there are. */
  int channels() {
    return channels.size();
  }

  /** Breaks them off; what runs over them fails. */
  void close() {
    closed = true;
    channels.forEach(c -> c.channel.shutdownNow());
  }

  /** Lets what runs over them end, and takes nothing new. */
  void drain() {
    channels.forEach(c -> {
      List.copyOf(c.lines).forEach(LineStream::drain);
      c.channel.shutdown();
    });
  }

  /** Waits until they have ended, at most until then by {@link System#nanoTime}. */
  void awaitClosed(long until) throws InterruptedException {
    for (Channel c : List.copyOf(channels)) {
      c.channel.awaitTermination(until - System.nanoTime(), TimeUnit.NANOSECONDS);
    }
  }

  /** A channel for lines, and for streams. */
  private final class Channel {
    private final ManagedChannel channel;
    private final List<LineStream> lines = new ArrayList<>();
    private int open;
    private boolean used;

    Channel(ManagedChannel channel) {
      this.channel = channel;
    }

    boolean hasRoom() {
      return open < STREAMS_MAX;
    }

    /** Whether it was used, has no stream and is not connected. Then it ends. */
    boolean isOver() {
      ConnectivityState state = channel.getState(false);
      boolean over = used && open == 0 && state != ConnectivityState.READY && state != ConnectivityState.CONNECTING;
      if (over) {
        channel.shutdownNow();
      }
      return over;
    }

    <Q, R> ClientCall<Q, R> stream(MethodDescriptor<Q, R> method) {
      if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
        channel.resetConnectBackoff(); // Whoever opens the stream makes the pauses.
      }
      return new SimpleForwardingClientCall<>(channel.newCall(method, CallOptions.DEFAULT)) {
        @Override
        public void start(Listener<R> told, Metadata headers) {
          open++;
          used = true;
          super.start(new SimpleForwardingClientCallListener<>(told) {
            @Override
            public void onClose(Status status, Metadata trailers) {
              open--;
              if (status.getCode() == Status.Code.UNAVAILABLE) {
                streamLost.run();
              }
              super.onClose(status, trailers);
            }
          }, headers);
        }
      };
    }
  }
}
