package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;

/** One client waits, watches and keeps sessions more often than a member has streams for one connection. */
@Timeout(1200)
final class StreamsTest extends WithMember {
  /** More than the streams that a member lets one connection have. */
  private static final int MANY = LongForm.soak() ? 3000 : 1100;
  private static final Duration TTL = Duration.ofMinutes(10);
  private static final long PATIENCE_MINUTES = 15;

  private static <T> T patiently(CompletableFuture<T> f) throws Exception {
    return f.get(PATIENCE_MINUTES, TimeUnit.MINUTES);
  }

  private static void all(List<? extends CompletableFuture<?>> futures) throws Exception {
    patiently(CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new)));
  }

  /** Makes calls, and tells how long the slowest took, and what the client uses. */
  private static void tell(String what, Client client) throws Exception {
    long slowest = 0;
    for (int i = 0; i < 10; i++) {
      long begun = System.nanoTime();
      client.kv().put("meanwhile", "x");
      slowest = Math.max(slowest, System.nanoTime() - begun);
    }
    int connections = patiently(client.core().onLoop(
        () -> CompletableFuture.completedFuture(1 + client.core().link.current().lines())));
    Path status = Path.of("/proc/self/status");
    String memory = !Files.exists(status) ? "unknown" : Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("VmRSS:")).map(line -> line.substring(6).strip()).findFirst().orElse("unknown");
    System.out.printf("%s: a put beside them took %.1f ms at most; %d connections, resident memory of this process %s%n",
        what, slowest / 1e6, connections, memory);
  }

  @Test
  void aClientWithManyWaitsMakesCallsAndAllAreServed(TestInfo info) throws Exception {
    try (Client client = client(info, TTL); Session session = client.openSession()) {
      Held first = session.lock("busy").acquire();
      List<CompletableFuture<Void>> queued = new ArrayList<>();
      List<CompletableFuture<Boolean>> served = new ArrayList<>();
      for (int i = 0; i < MANY; i++) {
        CompletableFuture<Void> known = new CompletableFuture<>();
        queued.add(known);
        served.add(session.lock("busy", LockOptions.exclusive().onQueued(p -> known.complete(null)))
            .acquireAsync().thenCompose(Held::releaseAsync));
      }
      all(queued);
      assertEquals(MANY, client.lockInfo("busy").waiters());
      tell(MANY + " waits", client);
      first.close();
      for (CompletableFuture<Boolean> one : served) {
        assertEquals(true, patiently(one));
      }
      System.out.println(served.size() + " waits were granted");
    }
  }

  @Test
  void aClientWithManyWatchesMakesCallsAndAllAreTold(TestInfo info) throws Exception {
    try (Client client = client(info, TTL)) {
      List<Watch> watches = new ArrayList<>();
      List<CompletableFuture<Void>> begun = new ArrayList<>();
      for (int i = 0; i < MANY; i++) {
        Watch w = client.watch(WatchOptions.key("k"));
        watches.add(w);
        begun.add(w.beginAsync());
      }
      all(begun);
      tell(MANY + " watches", client);
      client.kv().put("k", "x");
      for (Watch w : watches) {
        WatchMessage told = w.next(Duration.ofMinutes(PATIENCE_MINUTES)).orElseThrow();
        assertEquals("k", assertInstanceOf(WatchMessage.Events.class, told).events().get(0).key());
      }
      System.out.println(watches.size() + " watches were told");
    }
  }

  @Test
  void aClientWithManySessionsKeepsThemAll(TestInfo info) throws Exception {
    try (Client client = client(info, Duration.ofMinutes(2))) {
      List<CompletableFuture<Session>> opened = new ArrayList<>();
      for (int i = 0; i < MANY; i++) {
        opened.add(client.openSessionAsync(SessionOptions.defaults(), Duration.ofMinutes(PATIENCE_MINUTES), c -> { }));
      }
      all(opened);
      List<CompletableFuture<PutResult>> puts = new ArrayList<>();
      for (int i = 0; i < MANY; i++) {
        puts.add(patiently(opened.get(i)).kv().putAsync("s/" + i, new byte[0], PutOptions.defaults().ephemeral()));
      }
      all(puts);
      tell(MANY + " sessions", client);
      for (CompletableFuture<Session> one : opened) {
        assertEquals(true, patiently(one).cause().isEmpty());
      }
      assertEquals(MANY, client.kv().list("s/").size());
    }
  }
}
