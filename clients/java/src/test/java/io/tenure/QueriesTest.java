package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** Prepared queries. The scenarios of clients/conformance show more of what they find. */
final class QueriesTest extends WithMember {
  private static final Duration TTL = Duration.ofSeconds(15);

  /** Creates a query, once the catalog of the new cluster is used. */
  private static String create(Queries queries, Query q) {
    AtomicReference<String> made = new AtomicReference<>();
    until(() -> {
      try {
        made.set(queries.create(q));
        return true;
      } catch (TenureException e) {
        assertEquals(ErrorKind.NOT_SUPPORTED, e.kind());
        return false;
      }
    });
    return made.get();
  }

  @Test
  void aQueryIsStoredAsItIsGivenAndCanBeChanged(TestInfo info) throws Exception {
    try (Client c = client(info, TTL)) {
      Queries queries = c.queries();
      Query q = Query.named("life", "${match(1)}").byPrefix().withRegexp("^life-(.*)$").withTags("!old", "${match(2)}")
          .withOnlyPassing(true).withIgnoredChecks("disk").withNodeMeta(Map.of("rack", "1")).withServiceMeta(Map.of("v", "2"))
          .withNear("_agent").withFallbacks(QueryFallback.toService("spare").withTags("a"), QueryFallback.toZone("eu-2"))
          .withoutEmptyTags(true).withMeta(Map.of("team", "shop"));
      String id = create(queries, q);
      Query stored = queries.get("life");
      assertEquals(id, stored.id());
      assertEquals(List.of("!old", "${match(2)}"), stored.tags());
      assertEquals(List.of(new QueryFallback("spare", List.of("a"), ""), new QueryFallback("", List.of(), "eu-2")), stored.fallbacks());
      assertEquals(List.of("disk"), stored.ignoredChecks());
      assertEquals(Map.of("rack", "1"), stored.nodeMeta());
      assertEquals(Map.of("v", "2"), stored.serviceMeta());
      assertEquals(Map.of("team", "shop"), stored.meta());
      assertTrue(stored.isByPrefix() && stored.onlyPassing() && stored.removesEmptyTags());
      assertEquals("_agent", stored.near());
      assertTrue(stored.createRevision() > 0 && stored.createRevision() == stored.modRevision());
      assertEquals(Optional.of(stored), queries.find(id));
      assertEquals(Optional.empty(), queries.find("none"));
      Query explained = get(queries.explainAsync("life-web"));
      assertEquals("web", explained.service());
      assertEquals(List.of("!old"), explained.tags());
      assertEquals(0, queries.execute("life-web", ExecuteOptions.defaults().withCallerNode("n1").stale()).instances().size());

      ExecuteOptions later = ExecuteOptions.defaults().minRevision(stored.modRevision());
      assertEquals(id, queries.execute("life-web", later).queryId());
      assertEquals(id, queries.execute("life-web", later.stale()).queryId());
      assertEquals(ErrorKind.FUTURE_REVISION, assertThrows(TenureException.class,
          () -> queries.execute("life-web", ExecuteOptions.defaults().minRevision(1_000_000_000))).kind());

      assertThrows(TenureException.CompareFailed.class, () -> queries.updateIf(id, q.withService("db"), 1_000_000));
      long revision = queries.updateIf(id, stored.withService("db").withName("lives"), stored.modRevision());
      assertTrue(revision > stored.modRevision());
      assertEquals(revision, queries.update(id, stored.withService("db").withName("lives")));
      assertEquals(List.of("lives"), queries.list("li").stream().map(Query::name).toList());
      assertTrue(queries.delete(id));
      assertFalse(get(queries.deleteAsync(id)));
    }
  }

  @Test
  void aQueryOfASessionIsDeletedWithIt(TestInfo info) {
    try (Client c = client(info, TTL)) {
      create(c.queries(), Query.named("stays", "web"));
      Session s = c.openSession();
      String id = s.queries().create(Query.named("goes", "web"));
      assertEquals(List.of(id), s.queries().list("").stream().map(Query::id).toList());
      Query stored = c.queries().get("goes");
      assertEquals(s.id(), stored.sessionId());
      s.queries().update(id, Query.named("goes", "db"));
      assertEquals(s.id(), c.queries().get("goes").sessionId());
      TenureException refused = assertThrows(TenureException.class, () -> c.queries().update(id, stored));
      assertEquals(ErrorKind.AUTH_FAILED, refused.kind());
      assertFalse(refused instanceof TenureException.SessionOver, "no session of the caller is over");
      String kept = s.queries().create(Query.named("kept", "web"));
      c.queries().update(kept, c.queries().get("kept").withoutSession());
      assertEquals("", c.queries().get("kept").sessionId());
      s.close();
      assertEquals(ErrorKind.QUERY_NOT_FOUND,
          assertThrows(TenureException.NotFound.class, () -> c.queries().execute("goes")).kind());
      assertEquals(kept, c.queries().get("kept").id());
      assertThrows(TenureException.SessionOver.class, () -> s.queries().create(Query.named("late", "web")));
      TenureException taken = assertThrows(TenureException.class, () -> c.queries().create(Query.named("stays", "web")));
      assertEquals(ErrorKind.QUERY_NAME_TAKEN, taken.kind());
      assertEquals(Applied.NO, taken.applied());
      assertEquals(ErrorKind.INVALID_ARGUMENT,
          assertThrows(TenureException.class, () -> c.queries().create(Query.named("bad", ""))).kind());
    }
  }
}
