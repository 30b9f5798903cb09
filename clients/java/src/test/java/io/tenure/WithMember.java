package io.tenure;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.testing.TenureServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;

/** Tests with a real member, each in a namespace of its own. */
@Timeout(240)
abstract class WithMember {
  static final Duration SOON = Duration.ofSeconds(30);

  private static TenureServer server;

  @BeforeAll
  static void start() throws IOException {
    server = TenureServer.start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  static String httpAddress() {
    return server.httpAddress();
  }

  static Client client(TestInfo info, Duration ttl) {
    return Client.connect(
        server.uri() + "/" + info.getTestMethod().orElseThrow().getName() + "?ttl=" + ttl.toSeconds() + "s");
  }

  /** Waits until the keys are so. */
  static void until(Client client, WatchOptions what, Predicate<Map<String, KeyValue>> wanted) throws Exception {
    CompletableFuture<Map<String, KeyValue>> done = new CompletableFuture<>();
    new KeysWanted.Wait(client.core(), null, what, Optional.empty()).until(wanted, done);
    get(done);
  }

  /** Waits until something is so; looks again and again. */
  static void until(BooleanSupplier so) {
    long end = System.nanoTime() + SOON.toNanos();
    while (!so.getAsBoolean()) {
      assertTrue(System.nanoTime() < end);
    }
  }

  static <T> T get(CompletableFuture<T> f) throws Exception {
    return f.get(SOON.toSeconds(), TimeUnit.SECONDS);
  }
}
