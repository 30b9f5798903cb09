package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.tenure.testing.TenureServer;
import io.tenure.v1.LineRequest;
import io.tenure.v1.ListMembersResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The connections of waits and watches break, again and again. */
@Timeout(240)
final class LineBreaksTest {
  /** Between a client and a member. The client does not see that it knows its calls, so it makes them on lines. */
  private static final class Cutter implements ClientInterceptor, AutoCloseable {
    private final Relay relay;
    /** Has one for each time that waits or watches were begun on a line. */
    private final BlockingQueue<Boolean> begun = new LinkedBlockingQueue<>();

    Cutter(TenureServer server) throws IOException {
      relay = new Relay(Integer.parseInt(server.address().substring(server.address().lastIndexOf(':') + 1)));
    }

    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
      return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void start(Listener<R> told, Metadata headers) {
          super.start(new SimpleForwardingClientCallListener<>(told) {
            @Override
            public void onMessage(R message) {
              super.onMessage(behindIt(message));
            }
          }, headers);
        }

        @Override
        public void sendMessage(Q message) {
          if (message instanceof LineRequest r
              && r.getCallsList().stream().anyMatch(c -> c.hasAcquireLock() || c.hasWatch())) {
            begun.add(true);
          }
          super.sendMessage(message);
        }
      };
    }

    /** Has the client know the member by the relay's address. */
    @SuppressWarnings("unchecked") // It is of the same type.
    private <R> R behindIt(R message) {
      if (!(message instanceof ListMembersResponse list)) {
        return message;
      }
      ListMembersResponse.Builder known = list.toBuilder();
      known.getMembersBuilderList().forEach(m -> m.setClientAddress(relay.address()));
      return (R) known.build();
    }

    /** Breaks the connections, once there are waits or watches on them. */
    void cut() throws Exception {
      assertTrue(begun.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS) != null);
      begun.clear();
      relay.cut();
    }

    @Override
    public void close() throws IOException {
      relay.close();
    }
  }

  private static <T> T get(CompletableFuture<T> f) throws Exception {
    return f.get(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
  }

  /** The keys of a watch's events. One message may have the events of several changes, if they are made up for after a break. */
  private record Keys(Watch watch, Deque<String> told) {
    Keys(Watch watch) {
      this(watch, new ArrayDeque<>());
    }

    String next() {
      while (told.isEmpty()) {
        if (watch.next(Duration.ofSeconds(FakeMember.SOON_SECONDS)).orElseThrow() instanceof WatchMessage.Events e) {
          e.events().forEach(event -> told.add(event.key()));
        }
      }
      return told.remove();
    }
  }

  @Test
  void theyCostWaitsNoPlaceAndWatchesNoEvent() throws Exception {
    try (TenureServer server = TenureServer.start(); Cutter cutter = new Cutter(server);
        Client client = Client.builder("tenure://" + cutter.relay.address()).channel(b -> b.intercept(cutter)).connect()) {
      Held held = client.openSession().lock("lock").acquire();
      List<Integer> order = Collections.synchronizedList(new ArrayList<>());
      List<CompletableFuture<?>> waiting = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        int number = i;
        CompletableFuture<Void> queued = new CompletableFuture<>();
        waiting.add(client.openSession().lock("lock", LockOptions.exclusive().onQueued(p -> queued.complete(null)))
            .acquireAsync().thenCompose(h -> {
              order.add(number);
              return h.releaseAsync();
            }));
        get(queued);
      }
      try (Watch one = client.watch(WatchOptions.prefix("key/")); Watch other = client.watch(WatchOptions.prefix("key/"))) {
        Keys ofOne = new Keys(one);
        Keys ofOther = new Keys(other);
        one.begin();
        other.begin();
        for (int i = 0; i < 5; i++) {
          cutter.cut();
          client.kv().put("key/" + i, "value");
          assertEquals("key/" + i, ofOne.next());
          if (i == 3) {
            held.close();
          }
        }
        for (CompletableFuture<?> w : waiting) {
          get(w);
        }
        for (int i = 0; i < 5; i++) {
          assertEquals("key/" + i, ofOther.next());
        }
      }
      assertEquals(List.of(0, 1, 2, 3, 4), order);
      assertTrue(cutter.relay.connections() >= 12, "each time one for calls and one for waits and watches is made again");
    }
  }
}
