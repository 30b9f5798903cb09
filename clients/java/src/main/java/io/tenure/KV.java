package io.tenure;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.grpc.MethodDescriptor;
import io.tenure.v1.CallOptions;
import io.tenure.v1.DeletePrefixRequest;
import io.tenure.v1.DeleteRequest;
import io.tenure.v1.GetRequest;
import io.tenure.v1.Guard;
import io.tenure.v1.KVServiceGrpc;
import io.tenure.v1.ListRequest;
import io.tenure.v1.OpResponse;
import io.tenure.v1.PutRequest;
import io.tenure.v1.TxnRequest;
import io.tenure.v1.TxnResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Keys and values. Every change happens once, whatever is lost on the way: that of a session's KV by the session's request
 * ids, that of a client's KV by an idempotency key.
 *
 * <p>A key has 1 to 1 024 bytes in UTF-8 with its namespace, a value at most 512 KiB. Calls of a client's KV fail as {@link
 * TenureException.Unavailable} when no member answers for 30 s; those of a session's KV go on as long as its lease is good and some
 * time after, and fail as {@link TenureException.SessionOver} when it ended. Cancelling a future ends
 * the attempts; it does not undo a change, nor an attempt that is on its way.
 */
public final class KV {
  private final ClientCore client;
  private final SessionCore session;

  KV(ClientCore client, SessionCore session) {
    this.client = client;
    this.session = session;
  }

  /**
   * {@return a key}
   *
   * @param key the key, without the namespace
   * @throws TenureException.NotFound when it does not exist
   */
  public KeyValue get(String key) {
    return Await.of(getInner(key));
  }

  /**
   * {@return a key; see {@link #get}}
   *
   * @param key the key, without the namespace
   */
  public CompletableFuture<KeyValue> getAsync(String key) {
    return client.loop.shown(getInner(key));
  }

  /**
   * {@return a key, or nothing when it does not exist}
   *
   * @param key the key, without the namespace
   */
  public Optional<KeyValue> find(String key) {
    return Await.of(findInner(key));
  }

  /**
   * {@return a key, or nothing when it does not exist}
   *
   * @param key the key, without the namespace
   */
  public CompletableFuture<Optional<KeyValue>> findAsync(String key) {
    return client.loop.shown(findInner(key));
  }

  /**
   * {@return all keys that begin so, in byte order} Beyond one page the pages are of different revisions.
   *
   * @param prefix how the keys begin, without the namespace
   */
  public List<KeyValue> list(String prefix) {
    return Await.of(listInner(prefix));
  }

  /**
   * {@return all keys that begin so; see {@link #list}}
   *
   * @param prefix how the keys begin, without the namespace
   */
  public CompletableFuture<List<KeyValue>> listAsync(String prefix) {
    return client.loop.shown(listInner(prefix));
  }

  /**
   * Writes a key.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @return the final key and its revision
   */
  public PutResult put(String key, byte[] value) {
    return put(key, value, PutOptions.defaults());
  }

  /**
   * Writes a key, as UTF-8.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @return the final key and its revision
   */
  public PutResult put(String key, String value) {
    return put(key, value.getBytes(StandardCharsets.UTF_8), PutOptions.defaults());
  }

  /**
   * Writes a key.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @param options how it is written
   * @return the final key and its revision
   */
  public PutResult put(String key, byte[] value, PutOptions options) {
    return Await.of(putInner(key, value, options));
  }

  /**
   * Writes a key.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @return a future of the final key and its revision
   */
  public CompletableFuture<PutResult> putAsync(String key, byte[] value) {
    return putAsync(key, value, PutOptions.defaults());
  }

  /**
   * Writes a key, as UTF-8.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @return a future of the final key and its revision
   */
  public CompletableFuture<PutResult> putAsync(String key, String value) {
    return putAsync(key, value.getBytes(StandardCharsets.UTF_8), PutOptions.defaults());
  }

  /**
   * Writes a key.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @param options how it is written
   * @return a future of the final key and its revision
   */
  public CompletableFuture<PutResult> putAsync(String key, byte[] value, PutOptions options) {
    return client.loop.shown(putInner(key, value, options));
  }

  /**
   * Deletes a key.
   *
   * @param key the key, without the namespace
   * @return whether it existed
   */
  public boolean delete(String key) {
    return Await.of(deleteInner(key, null, null));
  }

  /**
   * Deletes a key if its mod_revision is this; else COMPARE_FAILED.
   *
   * @param key the key, without the namespace
   * @param revision the mod_revision
   * @return whether it existed
   */
  public boolean deleteIf(String key, long revision) {
    return Await.of(deleteInner(key, revision, null));
  }

  /**
   * Deletes a key if its mod_revision is this; see {@link #deleteIf}.
   *
   * @param key the key, without the namespace
   * @param revision the mod_revision
   * @return a future that tells whether it existed
   */
  public CompletableFuture<Boolean> deleteIfAsync(String key, long revision) {
    return client.loop.shown(deleteInner(key, revision, null));
  }

  /**
   * Deletes a key while this lock is held; else STALE_TOKEN.
   *
   * @param key the key, without the namespace
   * @param guard the hold
   * @return whether it existed
   */
  public boolean delete(String key, Held guard) {
    return Await.of(deleteInner(key, null, Objects.requireNonNull(guard)));
  }

  /**
   * Deletes a key.
   *
   * @param key the key, without the namespace
   * @return a future that tells whether it existed
   */
  public CompletableFuture<Boolean> deleteAsync(String key) {
    return client.loop.shown(deleteInner(key, null, null));
  }

  /**
   * Deletes a key while this lock is held; see {@link #delete(String, Held)}.
   *
   * @param key the key, without the namespace
   * @param guard the hold
   * @return a future that tells whether it existed
   */
  public CompletableFuture<Boolean> deleteAsync(String key, Held guard) {
    return client.loop.shown(deleteInner(key, null, Objects.requireNonNull(guard)));
  }

  /**
   * Deletes all keys that begin so, at most 10 000, or none.
   *
   * @param prefix how the keys begin, without the namespace
   * @return how many
   */
  public int deletePrefix(String prefix) {
    return Await.of(deletePrefixInner(prefix));
  }

  /**
   * Deletes all keys that begin so; see {@link #deletePrefix}.
   *
   * @param prefix how the keys begin, without the namespace
   * @return a future of how many
   */
  public CompletableFuture<Integer> deletePrefixAsync(String prefix) {
    return client.loop.shown(deletePrefixInner(prefix));
  }

  /**
   * Begins to build a transaction.
   *
   * @return the transaction
   */
  public Txn txn() {
    return new Txn(client.namespace);
  }

  /**
   * Commits a transaction. That the conditions do not hold is an answer.
   *
   * @param txn the transaction
   * @return what came of it
   */
  public TxnResult commit(Txn txn) {
    return Await.of(commitInner(txn));
  }

  /**
   * Commits a transaction.
   *
   * @param txn the transaction
   * @return a future of what came of it
   */
  public CompletableFuture<TxnResult> commitAsync(Txn txn) {
    return client.loop.shown(commitInner(txn));
  }

  ClientCore client() {
    return client;
  }

  /** Returns the session whose keys and values these are; null for a client's. */
  SessionCore session() {
    return session;
  }

  CompletableFuture<Optional<KeyValue>> findInner(String key) {
    return Futures.unless(Futures.map(getInner(key), Optional::of), ErrorKind.KEY_NOT_FOUND, Optional.empty());
  }

  CompletableFuture<KeyValue> getInner(String key) {
    Objects.requireNonNull(key);
    return Futures.map(
        read(KVServiceGrpc.getGetMethod(), () -> GetRequest.newBuilder().setKey(client.namespace.key(key)).build()),
        r -> KeyValue.of(r.getKv(), client.namespace));
  }

  CompletableFuture<List<KeyValue>> listInner(String prefix) {
    return page(Objects.requireNonNull(prefix), "", new ArrayList<>());
  }

  private CompletableFuture<List<KeyValue>> page(String prefix, String token, List<KeyValue> all) {
    return Futures.compose(read(KVServiceGrpc.getListMethod(), () -> ListRequest.newBuilder()
        .setPrefix(client.namespace.full(prefix)).setPageToken(token).build()), r -> {
      r.getKvsList().forEach(kv -> all.add(KeyValue.of(kv, client.namespace)));
      return r.getNextPageToken().isEmpty()
          ? CompletableFuture.completedFuture(all) : page(prefix, r.getNextPageToken(), all);
    });
  }

  CompletableFuture<PutResult> putInner(String key, byte[] value, PutOptions o) {
    Objects.requireNonNull(key);
    if (o.bound() && session == null) {
      return CompletableFuture.failedFuture(TenureException.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
          "an ephemeral key needs a session: put it through session.kv()"));
    }
    ByteString bytes = ByteString.copyFrom(value);
    return Futures.map(change(KVServiceGrpc.getPutMethod(), options -> {
      o.guard().ifPresent(g -> options.addGuards(g.guard()));
      PutRequest.Builder r = PutRequest.newBuilder()
          .setKey(client.namespace.key(key)).setValue(bytes).setFlags(o.flags())
          .setSequential(o.isSequential()).setOptions(options);
      o.ifRevision().ifPresent(r::setIfRevision);
      if (o.bound()) {
        r.setBindSession(session.id());
      }
      return r.build();
    }), r -> new PutResult(client.namespace.strip(r.getKv().getKey()), r.getKv().getModRevision()));
  }

  CompletableFuture<Boolean> deleteInner(String key, Long ifRevision, Held guard) {
    Objects.requireNonNull(key);
    return Futures.map(change(KVServiceGrpc.getDeleteMethod(), options -> {
      if (guard != null) {
        options.addGuards(guard.guard());
      }
      DeleteRequest.Builder r =
          DeleteRequest.newBuilder().setKey(client.namespace.key(key)).setOptions(options);
      if (ifRevision != null) {
        r.setIfRevision(ifRevision);
      }
      return r.build();
    }), r -> r.getDeleted());
  }

  private CompletableFuture<Integer> deletePrefixInner(String prefix) {
    Objects.requireNonNull(prefix);
    return Futures.map(change(KVServiceGrpc.getDeletePrefixMethod(), options -> DeletePrefixRequest.newBuilder()
        .setPrefix(client.namespace.full(prefix)).setOptions(options).build()), r -> r.getDeleted());
  }

  CompletableFuture<TxnResult> commitInner(Txn txn) {
    // As it is now: its builder may go on to add to it.
    TxnRequest now = TxnRequest.newBuilder()
        .addAllCompares(txn.compares()).addAllThen(txn.then()).addAllOtherwise(txn.otherwiseOps()).build();
    List<Guard> guards = List.copyOf(txn.guards());
    return Futures.map(change(KVServiceGrpc.getTxnMethod(), options -> now.toBuilder()
        .setOptions(options.addAllGuards(guards)).build()), this::result);
  }

  private TxnResult result(TxnResponse r) {
    List<Optional<KeyValue>> gets = new ArrayList<>();
    for (OpResponse o : r.getResponsesList()) {
      if (o.hasGet()) {
        gets.add(o.getGet().hasKv() ? Optional.of(KeyValue.of(o.getGet().getKv(), client.namespace)) : Optional.empty());
      }
    }
    return new TxnResult(r.getSucceeded(), List.copyOf(gets), r.getHeader().getRevision());
  }

  private <Q, R> CompletableFuture<R> read(MethodDescriptor<Q, R> method, Supplier<Q> request) {
    return session != null
        ? client.onLoop(() -> session.read(method, request.get())) : client.read(method, request);
  }

  private <Q extends MessageLite, R> CompletableFuture<R> change(
      MethodDescriptor<Q, R> method, Function<CallOptions.Builder, Q> request) {
    return session != null
        ? client.onLoop(() -> session.change(method, request)) : client.change(method, request);
  }
}
