package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.testing.TenureServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;

/** One client has many sessions, waits and watches at once, on a few streams. */
@Timeout(1200)
final class StreamsTest {
  private static final int MANY = LongForm.soak() ? 3000 : 1100;
  private static final int WATCHES = LongForm.soak() ? 3000 : 100;
  /** How many lines it takes: a member carries 4 096 waits and watches on one. */
  private static final int LINES = (MANY + WATCHES + 4095) / 4096;
  private static final Duration TTL = Duration.ofMinutes(10);
  private static final long PATIENCE_MINUTES = 15;
  private static final Pattern STREAMS = Pattern.compile("(?m)^tenure_server_streams (\\d+)$");
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private static <T> T patiently(CompletableFuture<T> f) throws Exception {
    return f.get(PATIENCE_MINUTES, TimeUnit.MINUTES);
  }

  private static <T> List<T> all(List<CompletableFuture<T>> futures) throws Exception {
    patiently(CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new)));
    return futures.stream().map(CompletableFuture::join).toList();
  }

  /** Makes calls one after another, and returns how many milliseconds the slowest took. The watches are told of the last of them. */
  private static double puts(Client client) {
    long slowest = 0;
    for (int i = 0; i < 10; i++) {
      long begun = System.nanoTime();
      client.kv().put(i < 9 ? "other" : "put", "beside them");
      slowest = Math.max(slowest, System.nanoTime() - begun);
    }
    return slowest / 1e6;
  }

  /** Returns how many streams the member serves. */
  private static int streams(TenureServer server) throws Exception {
    HttpRequest metrics = HttpRequest.newBuilder(URI.create("http://" + server.httpAddress() + "/metrics")).build();
    Matcher found = STREAMS.matcher(HTTP.send(metrics, HttpResponse.BodyHandlers.ofString()).body());
    assertTrue(found.find());
    return Integer.parseInt(found.group(1));
  }

  /** Returns how much memory this process has, as the system says. */
  private static String resident() throws Exception {
    Path status = Path.of("/proc/self/status");
    return !Files.exists(status) ? "unknown" : Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("VmRSS:")).map(line -> line.substring(6).strip()).findFirst().orElse("unknown");
  }

  private static List<Session> open(Client client) throws Exception {
    List<CompletableFuture<Session>> opened = new ArrayList<>();
    for (int i = 0; i < MANY; i++) {
      opened.add(client.openSessionAsync(SessionOptions.defaults(), Duration.ofMinutes(PATIENCE_MINUTES), c -> { }));
    }
    return all(opened);
  }

  private static List<Watch> watch(Client client) throws Exception {
    List<Watch> watches = new ArrayList<>();
    List<CompletableFuture<Void>> begun = new ArrayList<>();
    for (int i = 0; i < WATCHES; i++) {
      Watch w = client.watch(WatchOptions.key("put"));
      watches.add(w);
      begun.add(w.beginAsync());
    }
    all(begun);
    return watches;
  }

  /** Has every session wait for the lock, and give it to the next. */
  private static List<CompletableFuture<Boolean>> queue(Client client, List<Session> sessions) throws Exception {
    List<CompletableFuture<Void>> queued = new ArrayList<>();
    List<CompletableFuture<Boolean>> served = new ArrayList<>();
    for (Session session : sessions) {
      CompletableFuture<Void> known = new CompletableFuture<>();
      queued.add(known);
      served.add(session.lock("lock", LockOptions.exclusive().onQueued(p -> known.complete(null)))
          .acquireAsync().thenCompose(Held::releaseAsync));
    }
    all(queued);
    assertEquals(sessions.size(), client.lockInfo("lock").waiters());
    return served;
  }

  /** Returns the first events that a watch tells of. When much goes on, it may say before how far it came. */
  private static WatchMessage.Events events(Watch watch) throws Exception {
    WatchMessage told = watch.next(Duration.ofMinutes(PATIENCE_MINUTES)).orElseThrow();
    while (told instanceof WatchMessage.Progress) {
      told = watch.next(Duration.ofMinutes(PATIENCE_MINUTES)).orElseThrow();
    }
    return assertInstanceOf(WatchMessage.Events.class, told);
  }

  @Test
  void aClientHasManySessionsWaitsAndWatches(TestInfo info) throws Exception {
    try (TenureServer server = TenureServer.start(); Client client = WithMember.client(server, info, TTL)) {
      client.kv().put("other", "connected");
      double before = puts(client);
      List<Session> sessions = open(client);
      Held first = sessions.get(0).lock("lock").acquire();
      List<Watch> watches = watch(client);
      List<CompletableFuture<Boolean>> served = queue(client, sessions);
      double slowest = puts(client);
      // Renewals, calls, and as many lines as it takes for the rest.
      int streams = streams(server);
      assertTrue(streams <= 2 + LINES, "waits and watches have streams of their own");
      int channels = patiently(client.core().onLoop(
          () -> CompletableFuture.completedFuture(client.core().link.current().waitChannels())));
      System.out.printf("%d sessions, %d waits, %d watches: a put beside them took %.1f ms at most, and %.1f ms before them; "
          + "%d connections, %d streams, resident memory of this process %s%n",
          MANY, MANY, WATCHES, slowest, before, 1 + channels, streams, resident());
      assertEquals(1, channels);
      first.close();
      assertTrue(all(served).stream().allMatch(held -> held));
      for (Watch w : watches) {
        assertEquals("put", events(w).events().get(0).key());
      }
      System.out.printf("%d waits were granted, %d watches were told%n", served.size(), watches.size());
      assertTrue(sessions.stream().allMatch(session -> session.cause().isEmpty()));
    }
  }
}
