package io.tenure.testing;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A member that does not come to be leaves nothing behind. */
@Timeout(120)
final class TenureServerTest {
  @TempDir
  private Path dir;

  private Path folder() throws IOException {
    return Files.createDirectory(dir.resolve("member"));
  }

  private String program(String script) throws IOException {
    Path p = Files.writeString(dir.resolve("program"), "#!/bin/sh\n" + script);
    return Files.setPosixFilePermissions(p, PosixFilePermissions.fromString("rwx------")).toString();
  }

  @Test
  void aProgramThatIsMissing() throws IOException {
    Path folder = folder();
    assertThrows(IOException.class, () -> TenureServer.start(dir.resolve("none").toString(), folder));
    assertFalse(Files.exists(folder));
  }

  @Test
  void aProgramThatEndsAtOnce() throws IOException {
    Path folder = folder();
    IOException e = assertThrows(IOException.class, () -> TenureServer.start(program("echo no room; exit 3"), folder));
    assertTrue(e.getMessage().contains("ended with 3:\nno room"), e.getMessage());
    assertFalse(Files.exists(folder));
  }

  @Test
  void aProgramThatWritesUntilItIsKilled() throws Exception {
    Path folder = folder();
    String program = program("i=0; while :; do i=$((i+1)); echo x > '" + folder + "'/$i; done 2>/dev/null");
    CompletableFuture<IOException> failure = new CompletableFuture<>();
    Thread caller = new Thread(() ->
        failure.complete(assertThrows(IOException.class, () -> TenureServer.start(program, folder))));
    caller.start();
    while (!Files.exists(folder.resolve("100"))) {
      Thread.onSpinWait();
    }
    caller.interrupt();
    assertTrue(failure.get().getMessage().contains("interrupted"));
    assertFalse(Files.exists(folder));
  }
}
