package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** Services in the catalog, lists of what passes, and sessions with checks. The scenarios of clients/conformance have agents, too. */
final class CatalogTest extends WithMember {
  private static final Duration TTL = Duration.ofSeconds(15);

  /** Registers, once the catalog of the new cluster is used. */
  private static Registration register(Client c, ServiceOptions o) {
    AtomicReference<Registration> made = new AtomicReference<>();
    until(() -> {
      try {
        made.set(c.register(o));
        return true;
      } catch (TenureException e) {
        assertEquals(ErrorKind.NOT_SUPPORTED, e.kind());
        return false;
      }
    });
    return made.get();
  }

  private static List<String> ids(ServiceList l, String service) {
    return l.instances(service).stream().map(i -> i.node() + "/" + i.id()).toList();
  }

  @Test
  void aListFollowsAndASessionEndsWithItsCheck(TestInfo info) throws Exception {
    try (Client c = client(info, TTL)) {
      Registration one = register(c, ServiceOptions.named("follows").withId("f1").withNode("f-n1").withAddress("10.0.0.1")
          .withPort(80).withTags("b", "a").withMeta("k", "v"));
      ServiceList l = c.serviceList("follows", "other").begin();
      assertEquals(List.of(new Instance("follows", "f1", "f-n1", "", "10.0.0.1", 80, List.of("a", "b"),
          java.util.Map.of("k", "v"), 1, CheckStatus.PASSING)), l.instances("follows"));
      assertEquals(List.of(), l.instances("other"));
      Session s = c.openSession(SessionOptions.defaults().withNode(one.node()).withChecks(one.checkId()));
      Session free = c.openSession(SessionOptions.defaults().withNode(one.node()).withDefaultCheck());
      one.set(Health.warning("slow"));
      assertTrue(c.lookup(s.id()).live());
      one.set(Health.critical("down"));
      assertEquals("CHECK_CRITICAL", c.lookup(s.id()).endCause());
      assertTrue(c.lookup(free.id()).live());
      until(() -> ids(l, "follows").isEmpty());
      TenureException critical = assertThrows(TenureException.class,
          () -> c.openSession(SessionOptions.defaults().withNode(one.node()).withChecks(one.checkId())));
      assertEquals(ErrorKind.CHECK_CRITICAL, critical.kind());
      TenureException missing = assertThrows(TenureException.NotFound.class,
          () -> c.openSession(SessionOptions.defaults().withNode(one.node()).withChecks("none")));
      assertEquals(ErrorKind.CHECK_NOT_FOUND, missing.kind());
      one.set(Health.passing());
      until(() -> ids(l, "follows").equals(List.of("f-n1/f1")));
      one.close();
      until(() -> ids(l, "follows").isEmpty());
      assertEquals(ErrorKind.CLIENT_CLOSED, assertThrows(TenureException.class, () -> one.set(Health.passing())).kind());
      l.close();
      assertEquals(List.of(), l.instances("follows"));
    }
  }

  /** So a listener that waits for another thread cannot wait for one that waits for the list. */
  @Test
  void listenersOfAListAreToldInOrderWhileNoLockIsHeld(TestInfo info) throws Exception {
    List<Integer> told = new CopyOnWriteArrayList<>();
    List<String> locks = new CopyOnWriteArrayList<>();
    try (Client c = client(info, TTL)) {
      ServiceList l = c.serviceList("listened");
      l.onChange(all -> {
        ThreadInfo here = ManagementFactory.getThreadMXBean()
            .getThreadInfo(new long[] {Thread.currentThread().getId()}, true, true)[0];
        Stream.of(here.getLockedMonitors()).forEach(m -> locks.add(m.toString()));
        told.add(all.get("listened").size());
      });
      l.begin();
      for (int i = 1; i <= 3; i++) {
        register(c, ServiceOptions.named("listened").withId("l" + i).withNode("l-n1"));
        int registered = i;
        until(() -> told.contains(registered)); // Changes that come together may be told as one.
      }
      // The end of the client takes the instances back, which may be told, too.
      List<Integer> so = List.copyOf(told);
      assertEquals(so.stream().sorted().toList(), so);
    }
    assertEquals(List.of(), locks);
  }

  /** Reads a watch until there was an event of this type with this item. */
  private static WatchEvent await(Watch w, WatchEventType type, Predicate<CatalogItem> wanted) {
    while (true) {
      if (w.next(SOON).orElseThrow() instanceof WatchMessage.Events changes) {
        for (WatchEvent e : changes.events()) {
          if (e.type() == type && wanted.test(e.item().orElseThrow())) {
            return e;
          }
        }
      }
    }
  }

  @Test
  void aWatchTellsOfNodesServicesAndQueries(TestInfo info) {
    try (Client c = client(info, TTL)) {
      Registration one = register(c, ServiceOptions.named("watched").withId("w1").withNode("w-n1").withPort(80));
      String id = c.queries().create(Query.named("watched", "watched"));
      Watch services = c.watch(WatchOptions.all().andService("watched").withInitial());
      Watch rest = c.watch(WatchOptions.all().andNode("w-n2").andEveryQuery().withInitial());
      WatchMessage.Initial now = (WatchMessage.Initial) services.next(SOON).orElseThrow();
      assertTrue(now.items().stream().anyMatch(i -> i instanceof ServiceInfo s && s.id().equals("w1") && s.port() == 80));
      assertTrue(now.items().stream().anyMatch(i -> i instanceof CheckInfo k && k.id().equals(one.checkId())
          && k.status() == CheckStatus.PASSING));
      WatchMessage.Initial queries = (WatchMessage.Initial) rest.next(SOON).orElseThrow();
      assertTrue(queries.items().stream().anyMatch(i -> i instanceof Query q && q.id().equals(id)));
      one.set(Health.critical("down"));
      WatchEvent turned = await(services, WatchEventType.CHECK_STATUS, i -> i instanceof CheckInfo);
      assertEquals(CheckStatus.PASSING, turned.previousStatus().orElseThrow());
      assertEquals(CheckStatus.CRITICAL, ((CheckInfo) turned.item().orElseThrow()).status());
      Registration two = register(c, ServiceOptions.named("watched").withId("w2").withNode("w-n2"));
      await(rest, WatchEventType.NODE_PUT, i -> i instanceof NodeInfo n && n.name().equals("w-n2"));
      await(services, WatchEventType.SERVICE_PUT, i -> i instanceof ServiceInfo s && s.id().equals("w2"));
      two.close();
      await(services, WatchEventType.SERVICE_DELETED, i -> i instanceof ServiceInfo s && s.id().equals("w2"));
      c.queries().delete(id);
      await(rest, WatchEventType.QUERY_DELETED, i -> i instanceof Query q && q.name().equals("watched"));
    }
  }

  @Test
  void theProgramSaysHowItsInstanceIs(TestInfo info) throws Exception {
    AtomicReference<Health> says = new AtomicReference<>(Health.passing());
    CountDownLatch free = new CountDownLatch(1);
    AtomicReference<Boolean> hangs = new AtomicReference<>(false);
    try (Client c = client(info, TTL); ServiceList l = c.serviceList("health").begin()) {
      Registration r = register(c, ServiceOptions.named("health").withNode("h1").withTtl(Duration.ofSeconds(1)).withHealth(() -> {
        if (hangs.get()) {
          try {
            free.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        }
        return says.get();
      }));
      until(() -> ids(l, "health").equals(List.of("h1/health")));
      says.set(null); // As a function that fails.
      until(() -> ids(l, "health").isEmpty());
      says.set(Health.passing());
      until(() -> ids(l, "health").equals(List.of("h1/health")));
      assertEquals(ErrorKind.INVALID_ARGUMENT, assertThrows(TenureException.class, () -> r.set(Health.passing())).kind());
      hangs.set(true);
      until(() -> ids(l, "health").isEmpty());
      r.close(); // It does not wait for the function.
      free.countDown();
    }
  }

  @Test
  void aClosedClientDeregisters(TestInfo info) {
    try (Client c = client(info, TTL); ServiceList l = c.serviceList("leaves").begin()) {
      Client other = client(info, TTL);
      register(other, ServiceOptions.named("leaves").withNode("l1"));
      until(() -> ids(l, "leaves").equals(List.of("l1/leaves")));
      other.close();
      until(() -> ids(l, "leaves").isEmpty());
    }
  }

  @Test
  void whatCannotBeIsRefused(TestInfo info) {
    try (Client c = client(info, TTL)) {
      List<Runnable> mistakes = List.of(
          () -> ServiceOptions.named(""), () -> ServiceOptions.named("a").withPort(65_536),
          () -> ServiceOptions.named("a").withTtl(Duration.ofMillis(1)), () -> c.register(ServiceOptions.named("a")),
          c::serviceList, () -> Agent.open("a,b"), () -> Agent.open("a/b"));
      for (Runnable m : mistakes) {
        assertEquals(ErrorKind.INVALID_ARGUMENT, assertThrows(TenureException.class, m::run).kind());
      }
    }
  }
}
