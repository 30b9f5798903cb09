package io.tenure;

import static org.junit.jupiter.api.Assertions.assertTrue;

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
      assertTrue(fromCurator(client));
    }
  }

  private static boolean fromCurator(Client client) {
    try (Session session = client.openSession()) {
      session.listen(change -> System.out.println(change.to()));
      try (Held held = session.lock("locks/nightly").acquire(Duration.ofSeconds(30))) {
        if (held.isSafe()) {
          session.kv().put("report", "done".getBytes(), PutOptions.defaults().guardedBy(held));
        }
        return held.token() > 0;
      }
    }
  }
}
