package io.tenure.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A real member for tests, with a temporary store and free ports. It starts the program that the environment variable TENURE_BINARY
 * names, or {@code tenure} in PATH.
 */
public final class TenureServer implements AutoCloseable {
  private static final int START_SECONDS = 60;
  private static final int STOP_SECONDS = 30;
  private static final Pattern GRPC = Pattern.compile("\"grpc\"\\s*:\\s*\"([^\"]+)\"");
  private static final Pattern HTTP = Pattern.compile("\"http\"\\s*:\\s*\"([^\"]+)\"");

  private final Process process;
  private final Path folder;
  private final String address;
  private final String httpAddress;

  private TenureServer(Process process, Path folder, String addresses) {
    this.process = process;
    this.folder = folder;
    this.address = find(GRPC, addresses);
    this.httpAddress = find(HTTP, addresses);
  }

  private static String find(Pattern what, String addresses) {
    Matcher found = what.matcher(addresses);
    return found.find() ? found.group(1) : "";
  }

  /**
   * Starts a member, and waits until it serves, for at most a minute.
   *
   * @return the member
   * @throws IOException if the program is not found or does not start; the message has its output
   */
  public static TenureServer start() throws IOException {
    return start(binary(), Files.createTempDirectory("tenure"));
  }

  /** Starts the program on a folder, which is deleted with the member, or when it does not come to be. */
  static TenureServer start(String binary, Path folder) throws IOException {
    Path log = folder.resolve("serve.log");
    Path data = folder.resolve("data");
    List<String> command = List.of(binary, "serve", "--dev", "--listen", "127.0.0.1:0",
        "--http", "127.0.0.1:0", "--peer", "127.0.0.1:0", "--data-dir", data.toString());
    Process process = null;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
      process.getOutputStream().close();
      return new TenureServer(process, folder, await(process, data.resolve("addresses.json"), log));
    } catch (IOException e) {
      if (process != null) {
        process.destroyForcibly();
        process.onExit().join(); // It may write until then.
      }
      delete(folder);
      throw e;
    }
  }

  private static String binary() throws IOException {
    String named = System.getenv("TENURE_BINARY");
    if (named != null && !named.isEmpty()) {
      return named;
    }
    for (String dir : Optional.ofNullable(System.getenv("PATH")).orElse("").split(java.io.File.pathSeparator)) {
      Path candidate = Path.of(dir, "tenure");
      if (Files.isExecutable(candidate)) {
        return candidate.toString();
      }
    }
    throw new IOException("there is no tenure program: set TENURE_BINARY to its path, or put tenure into PATH");
  }

  private static String await(Process process, Path addresses, Path log) throws IOException {
    for (int i = 0; i < START_SECONDS * 20; i++) {
      if (Files.exists(addresses)) {
        String all = Files.readString(addresses);
        if (GRPC.matcher(all).find()) {
          return all;
        }
      }
      if (exited(process, 50, TimeUnit.MILLISECONDS)) {
        throw new IOException("tenure serve ended with " + process.exitValue() + ":\n" + Files.readString(log));
      }
    }
    throw new IOException("tenure serve did not start within " + START_SECONDS + " s:\n" + Files.readString(log));
  }

  private static boolean exited(Process process, long wait, TimeUnit unit) throws IOException {
    try {
      return process.waitFor(wait, unit);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for tenure serve", e);
    }
  }

  /** {@return the connection string of the member} */
  public String uri() {
    return "tenure://" + address;
  }

  /** {@return host:port of the member's gRPC listener} */
  public String address() {
    return address;
  }

  /** {@return host:port of the member's HTTP listener: REST, metrics and health} */
  public String httpAddress() {
    return httpAddress;
  }

  /** {@return the process, for tests that stop or kill it} */
  public Process process() {
    return process;
  }

  /**
   * Stops the member, and deletes its store. If the thread is interrupted, it kills the member instead.
   *
   * @throws IOException if the store cannot be deleted
   */
  @Override
  public void close() throws IOException {
    process.destroy();
    try {
      if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    process.onExit().join(); // It may write until then.
    delete(folder);
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path f : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(f);
      }
    }
  }
}
