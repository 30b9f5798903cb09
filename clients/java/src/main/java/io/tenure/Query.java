package io.tenure;

import io.tenure.internal.session.SessionCore;
import io.tenure.internal.watch.CatalogItems;
import io.tenure.v1.QueryMatch;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A prepared query: a question to the catalog that is stored under a name; see {@link Queries}. As a whole it has at most 16 KiB.
 * Immutable.
 *
 * <p>With {@link #byPrefix}, the service, tags, the near node, fallbacks and the values of facts may contain ${name.full}, the name
 * that the query is run by; ${name.prefix}, its own name; ${name.suffix}, the rest; and ${match(N)}, what group N of the regular
 * expression found in the name. $${ means ${.
 */
public final class Query implements CatalogItem {
  private final io.tenure.v1.Query message;

  static {
    CatalogItems.QUERY.give(Query::new);
  }

  private Query(io.tenure.v1.Query message) {
    this.message = message;
  }

  static Query of(io.tenure.v1.Query message) {
    return new Query(message);
  }

  /**
   * {@return a query for the instances of a service, with nothing else set}
   *
   * @param name its name, unique, at most 256 bytes, and not a UUID; no namespace is added to it. Without one, it is run by its id or,
   *     with {@link #byPrefix}, by every name for which there is no other query
   * @param service the name of the service
   */
  public static Query named(String name, String service) {
    return new Query(io.tenure.v1.Query.newBuilder().setName(name).setService(service).setMatch(QueryMatch.QUERY_MATCH_NAME).build());
  }

  private Query with(Consumer<io.tenure.v1.Query.Builder> change) {
    io.tenure.v1.Query.Builder b = message.toBuilder();
    change.accept(b);
    return new Query(b.build());
  }

  /**
   * Sets the name.
   *
   * @param name the name; see {@link #named}
   * @return a new query
   */
  public Query withName(String name) {
    return with(b -> b.setName(name));
  }

  /**
   * Sets the service.
   *
   * @param service the name of the service
   * @return a new query
   */
  public Query withService(String service) {
    return with(b -> b.setService(service));
  }

  /**
   * Sets the tags that an instance must have or, with "!" before them, must not have.
   *
   * @param tags the tags, at most 64
   * @return a new query
   */
  public Query withTags(String... tags) {
    return with(b -> b.clearTags().addAllTags(List.of(tags)));
  }

  /**
   * Leaves out instances in warning, or has them again. Critical ones are always left out.
   *
   * @param only whether they are left out
   * @return a new query
   */
  public Query withOnlyPassing(boolean only) {
    return with(b -> b.setOnlyPassing(only));
  }

  /**
   * Sets the checks that do not count.
   *
   * @param ids ids of checks, at most 64
   * @return a new query
   */
  public Query withIgnoredChecks(String... ids) {
    return with(b -> b.clearIgnoreChecks().addAllIgnoreChecks(List.of(ids)));
  }

  /**
   * Sets facts that the node must have.
   *
   * @param facts the facts, at most 64
   * @return a new query
   */
  public Query withNodeMeta(Map<String, String> facts) {
    return with(b -> b.clearNodeMeta().putAllNodeMeta(facts));
  }

  /**
   * Sets facts that the instance must have.
   *
   * @param facts the facts, at most 64
   * @return a new query
   */
  public Query withServiceMeta(Map<String, String> facts) {
    return with(b -> b.clearServiceMeta().putAllServiceMeta(facts));
  }

  /**
   * Sets the node near which instances are preferred: first those on it, then those in its zone, then the rest.
   *
   * @param node the name of the node; "_agent" means the node of the caller; empty: none are preferred
   * @return a new query
   */
  public Query withNear(String node) {
    return with(b -> b.setNear(node));
  }

  /**
   * Sets where to look, in order, if nothing is found.
   *
   * @param fallbacks the fallbacks, at most 8
   * @return a new query
   */
  public Query withFallbacks(QueryFallback... fallbacks) {
    return with(b -> b.clearFallbacks().addAllFallbacks(List.of(fallbacks).stream().map(QueryFallback::message).toList()));
  }

  /**
   * Lets every name that starts with its name run the query, unless another query has that name, or more of its start.
   *
   * @return a new query
   */
  public Query byPrefix() {
    return with(b -> b.setMatch(QueryMatch.QUERY_MATCH_PREFIX));
  }

  /**
   * Sets a regular expression that is searched in the name. Only with {@link #byPrefix}.
   *
   * @param regexp the expression, with the syntax of RE2; at most 1 024 bytes; empty: none
   * @return a new query
   */
  public Query withRegexp(String regexp) {
    return with(b -> b.setRegexp(regexp));
  }

  /**
   * Leaves out tags that are empty once they are filled in, or keeps them. No instance has a tag that is empty.
   *
   * @param remove whether they are left out
   * @return a new query
   */
  public Query withoutEmptyTags(boolean remove) {
    return with(b -> b.setRemoveEmptyTags(remove));
  }

  /**
   * Sets facts about the query, which a run returns.
   *
   * @param facts the facts, at most 64
   * @return a new query
   */
  public Query withMeta(Map<String, String> facts) {
    return with(b -> b.clearMeta().putAllMeta(facts));
  }

  /**
   * Lets it stay when its session ends: stored by queries of a client, it is no longer bound. Storing it through the queries of a session binds it again.
   *
   * @return a new query
   */
  public Query withoutSession() {
    return with(b -> b.clearSessionId());
  }

  /** {@return its id, a UUID; empty until it is read from the cluster} */
  public String id() {
    return message.getQueryId();
  }

  /** {@return its name} */
  public String name() {
    return message.getName();
  }

  /** {@return the session with which it is deleted; empty: it stays until it is deleted} */
  public String sessionId() {
    return message.getSessionId();
  }

  /** {@return whether every name that starts with its name runs it} */
  public boolean isByPrefix() {
    return message.getMatch() == QueryMatch.QUERY_MATCH_PREFIX;
  }

  /** {@return the regular expression; empty: none} */
  public String regexp() {
    return message.getRegexp();
  }

  /** {@return the name of the service} */
  public String service() {
    return message.getService();
  }

  /** {@return the tags} */
  public List<String> tags() {
    return copy(message.getTagsList());
  }

  /** {@return whether instances in warning are left out} */
  public boolean onlyPassing() {
    return message.getOnlyPassing();
  }

  /** {@return ids of the checks that do not count} */
  public List<String> ignoredChecks() {
    return copy(message.getIgnoreChecksList());
  }

  /** {@return facts that the node must have} */
  public Map<String, String> nodeMeta() {
    return message.getNodeMetaMap();
  }

  /** {@return facts that the instance must have} */
  public Map<String, String> serviceMeta() {
    return message.getServiceMetaMap();
  }

  /** {@return the node near which instances are preferred; empty: none are} */
  public String near() {
    return message.getNear();
  }

  /** {@return where to look if nothing is found} */
  public List<QueryFallback> fallbacks() {
    return message.getFallbacksList().stream().map(QueryFallback::of).toList();
  }

  /** {@return whether tags that are empty once filled in are left out} */
  public boolean removesEmptyTags() {
    return message.getRemoveEmptyTags();
  }

  /** {@return facts about the query} */
  public Map<String, String> meta() {
    return message.getMetaMap();
  }

  /** {@return the revision that created it; 0 until it is read from the cluster} */
  public long createRevision() {
    return message.getCreateRevision();
  }

  /** {@return the revision that last changed it; 0 until it is read from the cluster} */
  public long modRevision() {
    return message.getModRevision();
  }

  private static List<String> copy(Collection<String> all) {
    return List.copyOf(all);
  }

  io.tenure.v1.Query message(SessionCore session) {
    return session == null ? message : message.toBuilder().setSessionId(session.id()).build();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Query q && q.message.equals(message);
  }

  @Override
  public int hashCode() {
    return message.hashCode();
  }

  @Override
  public String toString() {
    return "Query(" + name() + " " + id() + " of " + service() + ")";
  }
}
