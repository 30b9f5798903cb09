package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.MethodDescriptor;
import io.tenure.testing.TenureServer;
import io.tenure.v1.LineRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lines of waits and watches break, again and again, and the connection does not. */
@Timeout(240)
final class LineBreaksTest {
  /** Knows the lines on which there are waits or watches. The client does not see it, so it makes its calls on lines. */
  private static final class Cutter implements ClientInterceptor {
    private final BlockingQueue<ClientCall<?, ?>> lines = new LinkedBlockingQueue<>();

    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
      return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void sendMessage(Q message) {
          if (message instanceof LineRequest r
              && r.getCallsList().stream().anyMatch(c -> c.hasAcquireLock() || c.hasWatch())) {
            lines.add(this);
          }
          super.sendMessage(message);
        }
      };
    }

    /** Breaks them, once there is one. */
    void cut() throws InterruptedException {
      ClientCall<?, ?> first = lines.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
      assertTrue(first != null);
      List<ClientCall<?, ?>> all = new ArrayList<>(List.of(first));
      lines.drainTo(all);
      all.forEach(line -> line.cancel("cut", null));
    }
  }

  private static <T> T get(CompletableFuture<T> f) throws Exception {
    return f.get(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
  }

  private static String key(Watch watch) {
    WatchMessage told = watch.next(Duration.ofSeconds(FakeMember.SOON_SECONDS)).orElseThrow();
    return told instanceof WatchMessage.Events e ? e.events().get(0).key() : key(watch);
  }

  @Test
  void theyCostWaitsNoPlaceAndWatchesNoEvent() throws Exception {
    Cutter cutter = new Cutter();
    try (TenureServer server = TenureServer.start();
        Client client = Client.builder(server.uri()).channel(b -> b.intercept(cutter)).connect()) {
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
        one.begin();
        other.begin();
        for (int i = 0; i < 5; i++) {
          cutter.cut();
          client.kv().put("key/" + i, "value");
          assertEquals("key/" + i, key(one));
          if (i == 3) {
            held.close();
          }
        }
        for (CompletableFuture<?> w : waiting) {
          get(w);
        }
        for (int i = 0; i < 5; i++) {
          assertEquals("key/" + i, key(other));
        }
      }
      assertEquals(List.of(0, 1, 2, 3, 4), order);
    }
  }
}
