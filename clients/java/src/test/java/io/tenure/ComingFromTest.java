package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tenure.testing.TenureServer;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What docs/coming-from.md shows in Java; a test of clients/conformance checks that it shows just this. */
@Timeout(120)
final class ComingFromTest {
  @Test
  void theCodeForThoseWhoComeFromCuratorRuns() throws IOException {
    try (TenureServer server = TenureServer.start(); Client client = Client.connect(server.uri() + "/app")) {
      fromCurator(server.uri() + "/app");
      assertEquals("done", client.kv().get("report").text());
    }
  }

  private static void fromCurator(String url) {
    try (Client client = Client.connect(url); Session session = client.openSession()) {
      session.listen(change -> System.out.println(change.to()));
      try (Held held = session.lock("locks/nightly").acquire(Duration.ofSeconds(30))) {
        if (held.isSafe()) {
          session.kv().put("report", "done".getBytes(), PutOptions.defaults().guardedBy(held));
        }
        System.out.println("worked with token " + held.token());
      } catch (TenureException.TimedOut busy) {
        System.out.println("not acquired in time");  // Here Curator's acquire returns false.
      }
    }
  }
}
