package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.testing.TenureServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of the locks of a process that is asked to end. */
@Timeout(600)
final class ShutdownTest {
  private static final long SOON_MINUTES = 5;

  /** A program that holds a lock and waits for another one, until it is ended. */
  static final class Holder {
    public static void main(String[] args) throws Exception {
      Client client = Client.connect(args[0]).closeOnShutdown();
      try (Session session = client.openSession(); Held held = session.lock("held").acquire()) {
        session.lock("wanted", LockOptions.exclusive().onQueued(p -> System.out.println(session.id()))).acquireAsync();
        Thread.sleep(Duration.ofHours(1).toMillis());
      }
    }
  }

  /** A program that ends the step that it is at, as the page has it. */
  static final class Worker {
    public static void main(String[] args) throws Exception {
      Client client = Client.connect(args[0]);
      AtomicBoolean stop = new AtomicBoolean();
      Thread worker = Thread.currentThread();
      Runtime.getRuntime().addShutdownHook(new Thread(() -> {
        stop.set(true);
        try {
          worker.join(20_000);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
        client.close();
      }));
      try (Session session = client.openSession(); Held held = session.lock("held").acquire()) {
        System.out.println(session.id());
        while (!stop.get() && held.isSafe()) {
          Thread.sleep(10);
        }
        session.kv().put("stopped", new byte[0], PutOptions.defaults().guardedBy(held));
      }
    }
  }

  private static Process start(Class<?> program, String uri) throws IOException {
    return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), program.getName(), uri)
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  /** Has the program end by a signal while we wait for its lock, and returns what happened to that until we had it. */
  private static List<WatchEventType> ends(Class<?> program, TenureServer server) throws Exception {
    String uri = server.uri() + "/app?ttl=1h&lock_delay=60s";
    Process process = start(program, uri);
    try (Client client = Client.connect(uri); Session session = client.openSession();
        Watch watch = client.watch(WatchOptions.lock("held")); BufferedReader out = process.inputReader()) {
      String holder = out.readLine();
      assertTrue(holder != null, "the program ended by itself");
      watch.begin();
      CompletableFuture<Held> wait = session.lock("held").acquireAsync();
      List<WatchEventType> happened = new ArrayList<>();
      until(watch, happened, WatchEventType.LOCK_QUEUED);
      long asked = System.nanoTime();
      process.destroy();
      Held held = wait.get(SOON_MINUTES, TimeUnit.MINUTES);
      System.out.printf("%s: the next has the lock %.3f s after SIGTERM%n", program.getSimpleName(), (System.nanoTime() - asked) / 1e9);
      held.close();
      assertTrue(process.waitFor(SOON_MINUTES, TimeUnit.MINUTES));
      assertEquals("DESTROYED", client.lookup(holder).endCause());
      assertEquals(0, client.lockInfo("wanted").waiters());
      until(watch, happened, WatchEventType.LOCK_GRANTED);
      return happened;
    } finally {
      process.destroyForcibly();
    }
  }

  private static void until(Watch watch, List<WatchEventType> happened, WatchEventType what) {
    while (!happened.contains(what)) {
      WatchMessage m = watch.next(Duration.ofMinutes(SOON_MINUTES)).orElseThrow();
      assertInstanceOf(WatchMessage.Events.class, m).events().forEach(e -> happened.add(e.type()));
    }
  }

  @Test
  void aProcessThatIsAskedToEndLeavesItsLocksAndQueuesAtOnce() throws Exception {
    try (TenureServer server = TenureServer.start(); Client other = Client.connect(server.uri() + "/app");
        Session session = other.openSession(); Held wanted = session.lock("wanted").acquire()) {
      assertFalse(ends(Holder.class, server).contains(WatchEventType.LOCK_DELAY_BEGUN));
      assertTrue(wanted.cause().isEmpty());
    }
  }

  @Test
  void aProcessThatIsAskedToEndFinishesItsStepAsThePageHasIt() throws Exception {
    try (TenureServer server = TenureServer.start(); Client other = Client.connect(server.uri() + "/app")) {
      assertFalse(ends(Worker.class, server).contains(WatchEventType.LOCK_DELAY_BEGUN));
      assertTrue(other.kv().find("stopped").isPresent());
    }
  }

  @Test
  void aClientThatIsClosedLeavesNoHookBehind() throws Exception {
    try (FakeMember member = new FakeMember()) {
      Client client = Client.connect(member.uri()).closeOnShutdown().closeOnShutdown();
      Thread hook = client.shutdownHook();
      client.close();
      assertFalse(Runtime.getRuntime().removeShutdownHook(hook));
      client.closeOnShutdown();
      assertNull(client.shutdownHook());
    }
  }
}
