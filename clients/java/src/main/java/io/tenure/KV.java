package io.tenure;

import com.google.protobuf.ByteString;
import io.tenure.internal.Await;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.session.Caller;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.session.SessionCore;
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

/**
 * Keys and values: {@link Client#kv}, or {@link Session#kv} for changes that belong to a session. A change is applied once, however
 * often the library has to send it. Any thread can use it.
 *
 * <p>A key has 1 to 1 024 bytes in UTF-8, with its namespace, and a value at most 512 KiB. A call of a client's KV fails as {@link
 * TenureException.Unavailable} if no member answers within the client's timeout, 30 s by default. A call of a session's KV does so
 * once the lease has ended and up to twice the TTL (at most 45 s) has elapsed, and fails as {@link TenureException.SessionOver} if the
 * session has ended. Cancelling a future stops the attempts; it does not undo a change, and an attempt in transit may still be applied.
 */
public final class KV {
  private final ClientCore client;
  private final SessionCore session;
  private final Caller caller;

  KV(ClientCore client, SessionCore session) {
    this.client = client;
    this.session = session;
    this.caller = new Caller(client, session);
  }

  /**
   * {@return a key}
   *
   * @param key the key, without the namespace
   * @throws TenureException.NotFound if it does not exist; see {@link #find}
   */
  public KeyValue get(String key) {
    return Await.of(getInner(key));
  }

  /**
   * {@return a future of a key; see {@link #get}}
   *
   * @param key the key, without the namespace
   */
  public CompletableFuture<KeyValue> getAsync(String key) {
    return client.loop.shown(getInner(key));
  }

  /**
   * {@return a key, or empty if it does not exist}
   *
   * @param key the key, without the namespace
   */
  public Optional<KeyValue> find(String key) {
    return Await.of(findInner(key));
  }

  /**
   * {@return a future of a key, or of empty if it does not exist}
   *
   * @param key the key, without the namespace
   */
  public CompletableFuture<Optional<KeyValue>> findAsync(String key) {
    return client.loop.shown(findInner(key));
  }

  /**
   * {@return all keys with a prefix, in byte order} They are read in pages of 1 000 keys; all keys of one page are of one revision.
   *
   * @param prefix the prefix of the keys, without the namespace
   */
  public List<KeyValue> list(String prefix) {
    return Await.of(listInner(prefix));
  }

  /**
   * {@return a future of all keys with a prefix; see {@link #list}}
   *
   * @param prefix the prefix of the keys, without the namespace
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
   * Writes a key, with a text value, which is stored as UTF-8.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @return the final key and its revision
   */
  public PutResult put(String key, String value) {
    return put(key, Objects.requireNonNull(value, "value").getBytes(StandardCharsets.UTF_8), PutOptions.defaults());
  }

  /**
   * Writes a key.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @param options conditions and properties of the write
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
   * Writes a key, with a text value, which is stored as UTF-8.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @return a future of the final key and its revision
   */
  public CompletableFuture<PutResult> putAsync(String key, String value) {
    return putAsync(key, Objects.requireNonNull(value, "value").getBytes(StandardCharsets.UTF_8), PutOptions.defaults());
  }

  /**
   * Writes a key.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @param options conditions and properties of the write
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
   * Deletes a key if it has this mod_revision. Otherwise it fails as {@link TenureException.CompareFailed}.
   *
   * @param key the key, without the namespace
   * @param revision the mod_revision
   * @return whether it existed
   */
  public boolean deleteIf(String key, long revision) {
    return Await.of(deleteInner(key, revision, null));
  }

  /**
   * Deletes a key if it has this mod_revision; see {@link #deleteIf}.
   *
   * @param key the key, without the namespace
   * @param revision the mod_revision
   * @return a future of whether it existed
   */
  public CompletableFuture<Boolean> deleteIfAsync(String key, long revision) {
    return client.loop.shown(deleteInner(key, revision, null));
  }

  /**
   * Deletes a key if this lock is held. Otherwise it fails as {@link TenureException.StaleToken}.
   *
   * @param key the key, without the namespace
   * @param guard the hold
   * @return whether it existed
   */
  public boolean delete(String key, Held guard) {
    return Await.of(deleteInner(key, null, Objects.requireNonNull(guard, "guard")));
  }

  /**
   * Deletes a key.
   *
   * @param key the key, without the namespace
   * @return a future of whether it existed
   */
  public CompletableFuture<Boolean> deleteAsync(String key) {
    return client.loop.shown(deleteInner(key, null, null));
  }

  /**
   * Deletes a key if this lock is held; see {@link #delete(String, Held)}.
   *
   * @param key the key, without the namespace
   * @param guard the hold
   * @return a future of whether it existed
   */
  public CompletableFuture<Boolean> deleteAsync(String key, Held guard) {
    return client.loop.shown(deleteInner(key, null, Objects.requireNonNull(guard, "guard")));
  }

  /**
   * Deletes all keys with a prefix. If there are more than 10 000, it deletes none and fails as LIMIT.
   *
   * @param prefix the prefix of the keys, without the namespace
   * @return the number of deleted keys
   */
  public int deletePrefix(String prefix) {
    return Await.of(deletePrefixInner(prefix));
  }

  /**
   * Deletes all keys with a prefix; see {@link #deletePrefix}.
   *
   * @param prefix the prefix of the keys, without the namespace
   * @return a future of the number of deleted keys
   */
  public CompletableFuture<Integer> deletePrefixAsync(String prefix) {
    return client.loop.shown(deletePrefixInner(prefix));
  }

  /**
   * {@return an empty transaction, to be built and then given to {@link #commit}}
   */
  public Txn txn() {
    return new Txn(client.namespace);
  }

  /**
   * Commits a transaction. That its conditions do not hold is not an error.
   *
   * @param txn the transaction
   * @return its result
   */
  public TxnResult commit(Txn txn) {
    return Await.of(commitInner(txn));
  }

  /**
   * Commits a transaction.
   *
   * @param txn the transaction
   * @return a future of its result
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
    Objects.requireNonNull(key, "key");
    return Futures.map(
        caller.read(KVServiceGrpc.getGetMethod(), () -> GetRequest.newBuilder().setKey(client.namespace.key(key)).build()),
        r -> Wire.keyValue(r.getKv(), client.namespace));
  }

  CompletableFuture<List<KeyValue>> listInner(String prefix) {
    Objects.requireNonNull(prefix, "prefix");
    List<KeyValue> all = new ArrayList<>();
    return Futures.map(Futures.pages(token -> caller.read(KVServiceGrpc.getListMethod(), () -> ListRequest.newBuilder()
        .setPrefix(client.namespace.full(prefix)).setPageToken(token).build()), r -> {
      r.getKvsList().forEach(kv -> all.add(Wire.keyValue(kv, client.namespace)));
      return r.getNextPageToken();
    }), v -> all);
  }

  CompletableFuture<PutResult> putInner(String key, byte[] value, PutOptions o) {
    Objects.requireNonNull(key, "key");
    if (o.bound() && session == null) {
      return CompletableFuture.failedFuture(Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
          "an ephemeral key needs a session: put it through session.kv()"));
    }
    ByteString bytes = ByteString.copyFrom(Objects.requireNonNull(value, "value"));
    return Futures.map(caller.change(KVServiceGrpc.getPutMethod(), options -> {
      o.guard().ifPresent(g -> options.addGuards(g.core().guard()));
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
    Objects.requireNonNull(key, "key");
    return Futures.map(caller.change(KVServiceGrpc.getDeleteMethod(), options -> {
      if (guard != null) {
        options.addGuards(guard.core().guard());
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
    Objects.requireNonNull(prefix, "prefix");
    return Futures.map(caller.change(KVServiceGrpc.getDeletePrefixMethod(), options -> DeletePrefixRequest.newBuilder()
        .setPrefix(client.namespace.full(prefix)).setOptions(options).build()), r -> r.getDeleted());
  }

  CompletableFuture<TxnResult> commitInner(Txn txn) {
    // As it is now: its builder may go on to add to it.
    TxnRequest now = TxnRequest.newBuilder()
        .addAllCompares(txn.compares()).addAllThen(txn.then()).addAllOtherwise(txn.otherwiseOps()).build();
    List<Guard> guards = List.copyOf(txn.guards());
    return Futures.map(caller.change(KVServiceGrpc.getTxnMethod(), options -> now.toBuilder()
        .setOptions(options.addAllGuards(guards)).build()), this::result);
  }

  private TxnResult result(TxnResponse r) {
    List<Optional<KeyValue>> gets = new ArrayList<>();
    for (OpResponse o : r.getResponsesList()) {
      if (o.hasGet()) {
        gets.add(o.getGet().hasKv() ? Optional.of(Wire.keyValue(o.getGet().getKv(), client.namespace)) : Optional.empty());
      }
    }
    return new TxnResult(r.getSucceeded(), List.copyOf(gets), r.getHeader().getRevision());
  }
}
