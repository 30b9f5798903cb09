package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.testing.TenureServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The examples of docs/clients/java.md; a test of clients/conformance checks that it shows just these. */
@Timeout(600)
final class SamplesTest {
  private static final int MINUTES = 5;
  private static TenureServer server;

  private final BlockingQueue<Long> steps = new SynchronousQueue<>();
  private final BlockingQueue<String> told = new LinkedBlockingQueue<>();

  @BeforeAll
  static void start() throws IOException {
    server = TenureServer.start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  private void step(long token) {
    try {
      steps.offer(token, 100, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void apply(String key, String value) {
    told.add(key + "=" + value);
  }

  private void remove(String key) {
    told.add("-" + key);
  }

  private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
    T next = queue.poll(MINUTES, TimeUnit.MINUTES);
    assertNotNull(next);
    return next;
  }

  /** Waits until an example has ended, which may say that its client was closed. */
  private static void over(CompletableFuture<Void> example) throws Exception {
    example.exceptionally(e -> {
      assertInstanceOf(TenureException.class, e.getCause());
      return null;
    }).get(MINUTES, TimeUnit.MINUTES);
  }

  @Test
  void anElection() throws Exception {
    CompletableFuture<Void> leading;
    try (Client client = Client.connect(server.uri() + "/election"); Client other = Client.connect(server.uri() + "/election")) {
      leading = CompletableFuture.runAsync(() -> lead(client));
      assertTrue(next(steps) > 0);
      assertEquals("node-1:8080", other.election("service/leader").leader().orElseThrow().text());
    }
    over(leading);
  }

  private void lead(Client client) {
    try (Session session = client.openSession();
        ElectionRun run = session.election("service/leader").run("node-1:8080", leadership -> {
          while (leadership.isSafe()) {
            step(leadership.held().token());
          }
        })) {
      run.ended().join();  // Until the session ends, or the task throws an exception.
    }
  }

  @Test
  void aWatch() throws Exception {
    CompletableFuture<Void> watching;
    try (Client client = Client.connect(server.uri() + "/watch")) {
      client.kv().put("cfg/limit", "1");
      watching = CompletableFuture.runAsync(() -> watch(client));
      assertEquals("cfg/limit=1", next(told));
      client.kv().put("cfg/limit", "2");
      assertEquals("cfg/limit=2", next(told));
      client.kv().delete("cfg/limit");
      assertEquals("-cfg/limit", next(told));
    }
    over(watching);
  }

  private void watch(Client client) {
    try (Watch watch = client.watch(WatchOptions.prefix("cfg/").withInitial())) {
      for (WatchMessage message : watch) {
        if (message instanceof WatchMessage.Initial state) {
          state.keys().forEach(key -> apply(key.key(), key.text()));
        } else if (message instanceof WatchMessage.Events changes) {
          for (WatchEvent event : changes.events()) {
            event.keyValue().ifPresentOrElse(key -> apply(key.key(), key.text()), () -> remove(event.key()));
          }
        }
      }
    }
  }

  @Test
  void aCache() throws Exception {
    try (Client client = Client.connect(server.uri() + "/cache")) {
      client.kv().put("cfg/limit", "1");
      read(client);
    }
  }

  private static void read(Client client) {
    try (Cache cache = client.cache("cfg/").begin()) {
      Optional<KeyValue> limit = cache.get("cfg/limit");  // Reads memory, not the network.
      if (cache.staleFor().compareTo(Duration.ofSeconds(10)) < 0) {
        System.out.println("the limit is " + limit.map(KeyValue::text).orElse("not set"));
      }
    }
  }
}
