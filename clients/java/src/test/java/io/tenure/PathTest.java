package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/** The path of a new user: the page's own commands, from an empty folder and an empty repository to a held lock. */
final class PathTest {
  private static final int MINUTES_MAX = 5;
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

  @Test
  @Timeout(600)
  @EnabledIfEnvironmentVariable(named = "TENURE_SOAK", matches = "1")
  void aNewUserHoldsALockByThePagesOwnCommands(@TempDir Path folder) throws Exception {
    Matcher page = SHELL.matcher(Files.readString(PAGE));
    assertTrue(page.find(), "the page has no commands");
    // A copy, for this test runs in what the commands build.
    Path copy = folder.resolve("tenure");
    copy(ROOT.resolve("gen/java"), copy.resolve("gen/java"));
    copy(ROOT.resolve("clients/java/src"), copy.resolve("clients/java/src"));
    Files.copy(ROOT.resolve("clients/java/pom.xml"), copy.resolve("clients/java/pom.xml"));
    Path empty = Files.createDirectory(folder.resolve("empty"));
    Path said = folder.resolve("said");
    try (TenureServer server = TenureServer.start()) {
      String script = page.group(1).replace("localhost:7400", server.address());
      ProcessBuilder shell = new ProcessBuilder(List.of("sh", "-e", "-c", script)).directory(empty.toFile())
          .redirectErrorStream(true).redirectOutput(said.toFile());
      shell.environment().put("TENURE", copy.toString());
      shell.environment().put("MAVEN_OPTS", "-Dmaven.repo.local=" + folder.resolve("repository"));
      long begun = System.nanoTime();
      Process running = shell.start();
      running.getOutputStream().close();
      boolean inTime = running.waitFor(MINUTES_MAX, TimeUnit.MINUTES);
      if (!inTime) {
        running.descendants().forEach(ProcessHandle::destroyForcibly);
        running.destroyForcibly();
      }
      String text = Files.readString(said);
      assertTrue(inTime, "it takes more than " + MINUTES_MAX + " minutes:\n" + text);
      assertEquals(0, running.exitValue(), text);
      assertTrue(text.contains("held with token "), text);
      System.out.println("from an empty folder to a held lock in "
          + TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun) + " s");
    }
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
