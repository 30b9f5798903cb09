package io.tenure;

import io.tenure.testing.TenureServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** One member for all classes that need no member of their own; it is stopped when the last of them has run. */
final class SharedMember implements BeforeAllCallback {
  private static volatile TenureServer server;

  @Override
  public void beforeAll(ExtensionContext context) {
    server = context.getRoot().getStore(ExtensionContext.Namespace.create(SharedMember.class))
        .getOrComputeIfAbsent("server", key -> new Running(start()), Running.class).server();
  }

  static TenureServer server() {
    return server;
  }

  private static TenureServer start() {
    try {
      return TenureServer.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private record Running(TenureServer server) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      server.close();
    }
  }
}
