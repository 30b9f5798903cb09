package io.tenure.stubs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Member is the real program: one member on a temporary store, on ports the system chooses. */
final class Member implements AutoCloseable {
  private static final int START_SECONDS = 60;
  private static final int STOP_SECONDS = 30;
  private static final Pattern GRPC = Pattern.compile("\"grpc\"\\s*:\\s*\"([^\"]+)\"");

  private final Process process;
  private final String grpcAddress;

  private Member(Process process, String grpcAddress) {
    this.process = process;
    this.grpcAddress = grpcAddress;
  }

  /** Starts a member in {@code folder} and returns when it has addresses. */
  static Member start(Path folder) throws IOException, InterruptedException {
    String binary = System.getenv("TENURE_BINARY");
    if (binary == null || binary.isEmpty()) {
      throw new IllegalStateException("TENURE_BINARY must name the tenure program; make test-java sets it");
    }
    Path data = Files.createDirectory(folder.resolve("member"));
    Path log = folder.resolve("serve.log");
    List<String> command = List.of(binary, "serve", "--dev", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
        "--peer", "127.0.0.1:0", "--data-dir", data.toString());
    Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    process.getOutputStream().close();
    Path addresses = data.resolve("addresses.json");
    for (int i = 0; i < START_SECONDS * 20; i++) {
      if (Files.exists(addresses)) {
        Matcher found = GRPC.matcher(Files.readString(addresses));
        if (found.find()) {
          return new Member(process, found.group(1));
        }
      }
      if (process.waitFor(50, TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException(
            "tenure serve ended with " + process.exitValue() + ":\n" + Files.readString(log));
      }
    }
    process.destroyForcibly();
    throw new IllegalStateException("tenure serve wrote no " + addresses + ":\n" + Files.readString(log));
  }

  /** The host:port that serves gRPC. */
  String grpcAddress() {
    return grpcAddress;
  }

  /** Stops the member and demands that it ended well. */
  @Override
  public void close() throws InterruptedException {
    process.destroy();
    if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IllegalStateException("tenure serve did not end within " + STOP_SECONDS + " s of SIGTERM");
    }
    if (process.exitValue() != 0) {
      throw new IllegalStateException("tenure serve ended with " + process.exitValue() + " after SIGTERM, want 0");
    }
  }
}
