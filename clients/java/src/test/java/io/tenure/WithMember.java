package io.tenure;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.internal.watch.KeysWanted;
import io.tenure.testing.TenureServer;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests with a real member that goes on, each in a namespace of its own. */
@ExtendWith(SharedMember.class)
@Timeout(240)
abstract class WithMember {
  static final Duration SOON = Duration.ofSeconds(30);

  static Client client(TestInfo info, Duration ttl) {
    return client(SharedMember.server(), info, ttl);
  }

  static Client client(TenureServer server, TestInfo info, Duration ttl) {
    String namespace = info.getTestClass().orElseThrow().getSimpleName() + "/" + info.getTestMethod().orElseThrow().getName();
    return Client.connect(server.uri() + "/" + namespace + "?ttl=" + ttl.toSeconds() + "s");
  }

  /** Waits until the keys are so. */
  static void until(Client client, WatchOptions what, Predicate<Map<String, KeyValue>> wanted) throws Exception {
    CompletableFuture<Map<String, KeyValue>> done = new CompletableFuture<>();
    new KeysWanted.Wait(client.core(), null, what.withInitial().plan(), Optional.empty()).until(wanted, done);
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
