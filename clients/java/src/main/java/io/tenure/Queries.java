package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Futures;
import io.tenure.internal.session.Caller;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.session.SessionCore;
import io.tenure.v1.CreateQueryRequest;
import io.tenure.v1.DeleteQueryRequest;
import io.tenure.v1.ExplainQueryRequest;
import io.tenure.v1.GetQueryRequest;
import io.tenure.v1.Guard;
import io.tenure.v1.ListQueriesRequest;
import io.tenure.v1.QueryServiceGrpc;
import io.tenure.v1.UpdateQueryRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Prepared queries: {@link Client#queries}, or {@link Session#queries} for those that belong to a session, which are deleted in the
 * revision in which the session ends. Calls take as long, and changes are applied once, as those of {@link KV}. Any thread can use it.
 */
public final class Queries {
  private final Caller caller;

  Queries(ClientCore client, SessionCore session) {
    this(new Caller(client, session));
  }

  private Queries(Caller caller) {
    this.caller = caller;
  }

  /**
   * {@return these queries, for changes that are made only if this lock is held, which the cluster checks} Otherwise they fail as {@link
   * TenureException.StaleToken}. Reads and runs are as before. Demanded twice, both locks must be held.
   *
   * @param held the hold
   */
  public Queries guardedBy(Held held) {
    List<Guard> guards = new ArrayList<>(caller.guards());
    guards.add(held.core().guard());
    return new Queries(new Caller(caller.client(), caller.session(), List.copyOf(guards)));
  }

  /**
   * Stores a new query. If another one has its name, it fails as QUERY_NAME_TAKEN.
   *
   * @param query the query
   * @return its id, a UUID
   */
  public String create(Query query) {
    return Await.of(createInner(query));
  }

  /**
   * Stores a new query; see {@link #create}.
   *
   * @param query the query
   * @return a future of its id
   */
  public CompletableFuture<String> createAsync(Query query) {
    return caller.client().loop.shown(createInner(query));
  }

  /**
   * Replaces a query as a whole. One that is already so does not change. Those of a session bind it to the session; those of a client
   * leave it bound to {@link Query#sessionId}, which only queries of that session may do: see {@link Query#withoutSession}.
   *
   * @param id the id of the query
   * @param query what it becomes
   * @return its mod_revision
   * @throws TenureException.NotFound if there is none with this id
   */
  public long update(String id, Query query) {
    return Await.of(updateInner(id, query, null));
  }

  /**
   * Replaces a query as a whole; see {@link #update}.
   *
   * @param id the id of the query
   * @param query what it becomes
   * @return a future of its mod_revision
   */
  public CompletableFuture<Long> updateAsync(String id, Query query) {
    return caller.client().loop.shown(updateInner(id, query, null));
  }

  /**
   * Replaces a query as a whole, if it has this mod_revision. Otherwise it fails as {@link TenureException.CompareFailed}.
   *
   * @param id the id of the query
   * @param query what it becomes
   * @param revision the mod_revision
   * @return its mod_revision
   * @throws TenureException.NotFound if there is none with this id
   */
  public long updateIf(String id, Query query, long revision) {
    return Await.of(updateInner(id, query, revision));
  }

  /**
   * Replaces a query as a whole, if it has this mod_revision; see {@link #updateIf}.
   *
   * @param id the id of the query
   * @param query what it becomes
   * @param revision the mod_revision
   * @return a future of its mod_revision
   */
  public CompletableFuture<Long> updateIfAsync(String id, Query query, long revision) {
    return caller.client().loop.shown(updateInner(id, query, revision));
  }

  /**
   * {@return a query as it is stored}
   *
   * @param idOrName its id, or its exact name
   * @throws TenureException.NotFound if there is none; see {@link #find}
   */
  public Query get(String idOrName) {
    return Await.of(getInner(idOrName));
  }

  /**
   * {@return a future of a query as it is stored; see {@link #get}}
   *
   * @param idOrName its id, or its exact name
   */
  public CompletableFuture<Query> getAsync(String idOrName) {
    return caller.client().loop.shown(getInner(idOrName));
  }

  /**
   * {@return a query as it is stored, or empty if there is none}
   *
   * @param idOrName its id, or its exact name
   */
  public Optional<Query> find(String idOrName) {
    return Await.of(findInner(idOrName));
  }

  /**
   * {@return a future of a query as it is stored, or of empty if there is none}
   *
   * @param idOrName its id, or its exact name
   */
  public CompletableFuture<Optional<Query>> findAsync(String idOrName) {
    return caller.client().loop.shown(findInner(idOrName));
  }

  /**
   * {@return all queries whose name has a prefix, ordered by id; those of the session only, if these are a session's} They are read in
   * pages, all of one revision.
   *
   * @param namePrefix the prefix of the names
   */
  public List<Query> list(String namePrefix) {
    return Await.of(listInner(namePrefix));
  }

  /**
   * {@return a future of all queries whose name has a prefix; see {@link #list}}
   *
   * @param namePrefix the prefix of the names
   */
  public CompletableFuture<List<Query>> listAsync(String namePrefix) {
    return caller.client().loop.shown(listInner(namePrefix));
  }

  /**
   * Deletes a query.
   *
   * @param id its id
   * @return whether it existed
   */
  public boolean delete(String id) {
    return Await.of(deleteInner(id));
  }

  /**
   * Deletes a query; see {@link #delete}.
   *
   * @param id its id
   * @return a future of whether it existed
   */
  public CompletableFuture<Boolean> deleteAsync(String id) {
    return caller.client().loop.shown(deleteInner(id));
  }

  /**
   * Runs a query; see {@link #execute(String, ExecuteOptions)}.
   *
   * @param idOrName its id, or a name
   * @return the instances that it finds, which may be none
   */
  public QueryResult execute(String idOrName) {
    return execute(idOrName, ExecuteOptions.defaults());
  }

  /**
   * Runs a query: the one with this id or name, or else the one by prefix whose name is the longest with which this name starts.
   *
   * @param idOrName its id, or a name
   * @param options how it is run
   * @return the instances that it finds, which may be none
   * @throws TenureException.NotFound if there is no such query
   */
  public QueryResult execute(String idOrName, ExecuteOptions options) {
    return Await.of(executeInner(idOrName, options));
  }

  /**
   * Runs a query; see {@link #execute(String, ExecuteOptions)}.
   *
   * @param idOrName its id, or a name
   * @param options how it is run
   * @return a future of the instances that it finds
   */
  public CompletableFuture<QueryResult> executeAsync(String idOrName, ExecuteOptions options) {
    return caller.client().loop.shown(executeInner(idOrName, options));
  }

  /**
   * {@return the query that a run would use, with all texts filled in; its name is its own}
   *
   * @param idOrName its id, or a name
   * @throws TenureException.NotFound if there is no such query
   */
  public Query explain(String idOrName) {
    return Await.of(explainInner(idOrName));
  }

  /**
   * {@return a future of the query that a run would use; see {@link #explain}}
   *
   * @param idOrName its id, or a name
   */
  public CompletableFuture<Query> explainAsync(String idOrName) {
    return caller.client().loop.shown(explainInner(idOrName));
  }

  private CompletableFuture<String> createInner(Query query) {
    io.tenure.v1.Query message = query.message(caller.session());
    return Futures.map(caller.change(QueryServiceGrpc.getCreateQueryMethod(),
        options -> CreateQueryRequest.newBuilder().setQuery(message).setOptions(options).build()), r -> r.getQueryId());
  }

  private CompletableFuture<Long> updateInner(String id, Query query, Long ifRevision) {
    Objects.requireNonNull(id, "id");
    io.tenure.v1.Query message = query.message(caller.session());
    return Futures.map(caller.change(QueryServiceGrpc.getUpdateQueryMethod(), options -> {
      UpdateQueryRequest.Builder r = UpdateQueryRequest.newBuilder().setQueryId(id).setQuery(message).setOptions(options);
      if (ifRevision != null) {
        r.setIfRevision(ifRevision);
      }
      return r.build();
    }), r -> r.getModRevision());
  }

  private CompletableFuture<Query> getInner(String idOrName) {
    Objects.requireNonNull(idOrName, "idOrName");
    return Futures.map(caller.read(QueryServiceGrpc.getGetQueryMethod(),
        () -> GetQueryRequest.newBuilder().setIdOrName(idOrName).build()), r -> Query.of(r.getQuery()));
  }

  private CompletableFuture<Optional<Query>> findInner(String idOrName) {
    return Futures.unless(Futures.map(getInner(idOrName), Optional::of), ErrorKind.QUERY_NOT_FOUND, Optional.empty());
  }

  private CompletableFuture<List<Query>> listInner(String namePrefix) {
    Objects.requireNonNull(namePrefix, "namePrefix");
    String session = caller.session() == null ? "" : caller.session().id();
    List<Query> all = new ArrayList<>();
    return Futures.map(Futures.pages(token -> caller.read(QueryServiceGrpc.getListQueriesMethod(), () -> ListQueriesRequest.newBuilder()
        .setNamePrefix(namePrefix).setSessionId(session).setPageToken(token).build()), r -> {
      r.getQueriesList().forEach(q -> all.add(Query.of(q)));
      return r.getNextPageToken();
    }), v -> all);
  }

  private CompletableFuture<Boolean> deleteInner(String id) {
    Objects.requireNonNull(id, "id");
    return Futures.map(caller.change(QueryServiceGrpc.getDeleteQueryMethod(),
        options -> DeleteQueryRequest.newBuilder().setQueryId(id).setOptions(options).build()), r -> r.getDeleted());
  }

  private CompletableFuture<QueryResult> executeInner(String idOrName, ExecuteOptions options) {
    Objects.requireNonNull(idOrName, "idOrName");
    return Futures.map(caller.read(QueryServiceGrpc.getExecuteQueryMethod(), () -> options.of(idOrName)), QueryResult::of);
  }

  private CompletableFuture<Query> explainInner(String idOrName) {
    Objects.requireNonNull(idOrName, "idOrName");
    return Futures.map(caller.read(QueryServiceGrpc.getExplainQueryMethod(),
        () -> ExplainQueryRequest.newBuilder().setIdOrName(idOrName).build()), r -> Query.of(r.getQuery()));
  }
}
