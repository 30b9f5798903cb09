package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.tenure.testing.TenureServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** The path of a new user: the page's own commands, from an empty folder and an empty repository to a held lock. */
final class PathTest {
  private static final int MINUTES_MAX = 5;
  private static final int TRIES_MAX = 4;
  /** What Maven says when it cannot reach a repository, or is cut off. */
  private static final Pattern NO_REPOSITORY = Pattern.compile(
      "Could not transfer|Connect(ion)? |[Tt]imed out|Unknown host|name resolution|Premature end|Remote host");
  private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();
  private static final Path PAGE = ROOT.resolve("docs/clients/java.md");
  private static final Pattern SHELL = Pattern.compile("^```sh\\n(.*?)^```", Pattern.DOTALL | Pattern.MULTILINE);

  /** Runs them; a test of clients/conformance checks that the page shows just these. */
  @Test
  @Timeout(120)
  void theFirstLinesOfThePageWork() throws Exception {
    try (TenureServer server = TenureServer.start();
        Client client = Client.connect(server.uri() + "/app");
        Session session = client.openSession()) {
      firstLines(server.uri() + "/app");
      try (Held second = session.lock("jobs/nightly").acquire()) {
        assertEquals(2, second.sequencer().lockIndex());
      }
    }
  }

  private static void firstLines(String url) {
    try (Client client = Client.connect(url);
         Session session = client.openSession();
         Held held = session.lock("jobs/nightly").acquire()) {
      for (int step = 0; step < 10 && held.isSafe(); step++) {
        System.out.println("step " + step + " with token " + held.token());
      }
    }
  }

  @Test
  @Timeout(120)
  void theProgramOfThePageHoldsALock(@TempDir Path folder) throws Exception {
    Matcher program =
        Pattern.compile("<<'JAVA'\\n(.*?)^JAVA$", Pattern.DOTALL | Pattern.MULTILINE).matcher(Files.readString(PAGE));
    assertTrue(program.find(), "the page has no program");
    try (TenureServer server = TenureServer.start()) {
      Path source = folder.resolve("Hello.java");
      Files.writeString(source, program.group(1).replace("localhost:7400", server.address()));
      // What Maven runs tests with has the class path in its manifest, or in this property.
      Path said = folder.resolve("said");
      Process running = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
          System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), source.toString())
          .redirectErrorStream(true).redirectOutput(said.toFile()).start();
      assertTrue(running.waitFor(100, TimeUnit.SECONDS));
      String text = Files.readString(said);
      assertEquals(0, running.exitValue(), text);
      assertTrue(text.contains("held with token "), text);
    }
  }

  /** Runs them, and again where the network fails; all tries have the five minutes. */
  @Test
  @Timeout(600)
  @EnabledIf("io.tenure.LongForm#wanted")
  void aNewUserHoldsALockByThePagesOwnCommands(@TempDir Path folder) throws Exception {
    Matcher page = SHELL.matcher(Files.readString(PAGE));
    assertTrue(page.find(), "the page has no commands");
    // A copy, for this test runs in what the commands build.
    Path copy = folder.resolve("tenure");
    copy(ROOT.resolve("gen/java"), copy.resolve("gen/java"));
    copy(ROOT.resolve("clients/java/src"), copy.resolve("clients/java/src"));
    Files.copy(ROOT.resolve("clients/java/pom.xml"), copy.resolve("clients/java/pom.xml"));
    long begun = System.nanoTime();
    long end = begun + TimeUnit.MINUTES.toNanos(MINUTES_MAX);
    try (TenureServer server = TenureServer.start()) {
      String script = page.group(1).replace("localhost:7400", server.address());
      for (int tries = 1;; tries++) {
        Path empty = Files.createDirectory(folder.resolve("try" + tries));
        Path said = folder.resolve("said" + tries);
        int exit = run(script, copy, empty, said, end);
        String text = Files.readString(said);
        if (exit == 0) {
          assertTrue(text.contains("held with token "), text);
          break;
        }
        assertTrue(tries < TRIES_MAX && NO_REPOSITORY.matcher(text).find(), text);
      }
      System.out.println("from an empty folder to a held lock in "
          + TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun) + " s");
    }
  }

  /** Runs commands in a folder with an empty repository, and returns how they ended, which must be in time. */
  private static int run(String script, Path tenure, Path folder, Path said, long end) throws Exception {
    ProcessBuilder shell = new ProcessBuilder(List.of("sh", "-e", "-c", script)).directory(folder.toFile())
        .redirectErrorStream(true).redirectOutput(said.toFile());
    shell.environment().put("TENURE", tenure.toString());
    Path repository = folder.resolveSibling(folder.getFileName() + "-repository");
    shell.environment().put("MAVEN_OPTS", "-Dmaven.repo.local=" + repository);
    Process running = shell.start();
    running.getOutputStream().close();
    if (!running.waitFor(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
      running.descendants().forEach(ProcessHandle::destroyForcibly);
      running.destroyForcibly();
      fail("it takes more than " + MINUTES_MAX + " minutes:\n" + Files.readString(said));
    }
    return running.exitValue();
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path f : files.toList()) {
        Path target = to.resolve(from.relativize(f).toString());
        if (Files.isDirectory(f)) {
          Files.createDirectories(target);
        } else {
          Files.copy(f, target);
        }
      }
    }
  }
}
