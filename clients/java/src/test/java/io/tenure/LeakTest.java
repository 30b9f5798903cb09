package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tenure.testing.TenureServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** Opening and closing leaves nothing behind, here or at the member. */
@Isolated("it counts the threads of this process")
final class LeakTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  /** Threads that the Java runtime begins for itself when it first needs them, among them those of the HTTP client of this test. */
  private static final Pattern PLATFORM = Pattern.compile(
      "HttpClient-.*|ForkJoinPool\\.commonPool.*|CompletableFutureDelayScheduler|Common-Cleaner|Attach Listener|process reaper.*");
  private static final List<String> GAUGES =
      List.of("tenure_server_streams", "tenure_watch_watchers", "tenure_sessions_live");

  @Test
  @Timeout(1200)
  void aCycleOfEverythingLeavesNothingBehind() throws Exception {
    int cycles = Integer.getInteger("tenure.cycles", LongForm.wanted() ? 1000 : 20);
    Set<Thread> before = new HashSet<>(Thread.getAllStackTraces().keySet());
    HttpClient http = HttpClient.newHttpClient();
    try (TenureServer server = TenureServer.start()) {
      for (int i = 0; i < cycles; i++) {
        try (Client client = Client.connect(server.uri()); Session s = client.openSession();
            Watch watch = client.watch(WatchOptions.all())) {
          watch.begin();
          // Half of the holds are left to the end of their session.
          Held held = s.lock("k").acquire();
          if (i % 2 == 0) {
            held.close();
          }
        }
      }
      assertEquals(List.of(), whenEmpty(() -> gauges(http, server)));
      assertEquals(List.of(), whenEmpty(() -> threads(before)));
    }
  }

  private static List<String> whenEmpty(Supplier<List<String>> look) {
    long until = System.nanoTime() + PATIENCE.toNanos();
    List<String> left = look.get();
    while (!left.isEmpty() && System.nanoTime() < until) {
      left = look.get();
    }
    return left;
  }

  /** Returns what runs that did not run before, whatever its name. */
  private static List<String> threads(Set<Thread> before) {
    return Thread.getAllStackTraces().keySet().stream().filter(t -> !before.contains(t)).map(Thread::getName)
        .filter(n -> !PLATFORM.matcher(n).matches()).toList();
  }

  /** Returns what the member still has of its clients, and what it does not tell. */
  private static List<String> gauges(HttpClient http, TenureServer server) {
    String metrics;
    try {
      metrics = http.send(HttpRequest.newBuilder(URI.create("http://" + server.httpAddress() + "/metrics")).build(),
          HttpResponse.BodyHandlers.ofString()).body();
    } catch (java.io.IOException | InterruptedException e) {
      throw new IllegalStateException("the member does not tell its metrics", e);
    }
    return GAUGES.stream().flatMap(gauge -> {
      Matcher m = Pattern.compile("^" + gauge + "(?:\\{[^}]*})? (.*)$", Pattern.MULTILINE).matcher(metrics);
      List<String> told = m.results().map(r -> gauge + " " + r.group(1)).toList();
      return told.isEmpty() ? Stream.of(gauge + " is not told") : told.stream().filter(t -> !t.endsWith(" 0"));
    }).toList();
  }
}
