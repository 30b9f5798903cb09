package io.tenure;

import com.google.protobuf.ByteString;
import io.tenure.internal.Namespace;
import io.tenure.v1.Compare;
import io.tenure.v1.CompareOperator;
import io.tenure.v1.DeleteRequest;
import io.tenure.v1.GetRequest;
import io.tenure.v1.Guard;
import io.tenure.v1.Op;
import io.tenure.v1.PutRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * A transaction: conditions on the state before it, and two lists of operations. If all conditions hold, the first list runs, otherwise
 * the second one ({@link #otherwise}): all of its operations take effect or none. Build it in one thread and give it to {@link
 * KV#commit}; changes after that have no effect on the commit.
 */
public final class Txn {
  private final List<Compare> compares = new ArrayList<>();
  private final List<Op> then = new ArrayList<>();
  private final List<Op> otherwise = new ArrayList<>();
  private final List<Guard> guards = new ArrayList<>();
  private final Namespace namespace;
  private List<Op> target = then;

  Txn(Namespace namespace) {
    this.namespace = namespace;
  }

  /**
   * Requires that the key has this mod_revision; 0: that it does not exist.
   *
   * @param key the key, without the namespace
   * @param revision the mod_revision
   * @return this transaction
   */
  public Txn ifRevision(String key, long revision) {
    compares.add(equal(key).setModRevision(revision).build());
    return this;
  }

  /**
   * Requires that the key has this version; 0: that it does not exist.
   *
   * @param key the key, without the namespace
   * @param version the version
   * @return this transaction
   */
  public Txn ifVersion(String key, long version) {
    compares.add(equal(key).setVersion(version).build());
    return this;
  }

  /**
   * Requires that the key has this value. A missing key does not have any.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @return this transaction
   */
  public Txn ifValue(String key, byte[] value) {
    compares.add(equal(key).setValue(ByteString.copyFrom(value)).build());
    return this;
  }

  /**
   * Requires that the lock is held. Otherwise neither list runs, and the commit fails as {@link TenureException.StaleToken}.
   *
   * @param held the hold
   * @return this transaction
   */
  public Txn guardedBy(Held held) {
    guards.add(held.core().guard());
    return this;
  }

  /**
   * Operations that are added after this run if a condition does not hold.
   *
   * @return this transaction
   */
  public Txn otherwise() {
    target = otherwise;
    return this;
  }

  /**
   * Writes a key.
   *
   * @param key the key, without the namespace
   * @param value the value
   * @return this transaction
   */
  public Txn put(String key, byte[] value) {
    target.add(Op.newBuilder().setPut(
        PutRequest.newBuilder().setKey(namespace.key(key)).setValue(ByteString.copyFrom(value))).build());
    return this;
  }

  /**
   * Deletes a key.
   *
   * @param key the key, without the namespace
   * @return this transaction
   */
  public Txn delete(String key) {
    target.add(Op.newBuilder().setDelete(DeleteRequest.newBuilder().setKey(namespace.key(key))).build());
    return this;
  }

  /**
   * Reads a key; see {@link TxnResult#gets}.
   *
   * @param key the key, without the namespace
   * @return this transaction
   */
  public Txn get(String key) {
    target.add(Op.newBuilder().setGet(GetRequest.newBuilder().setKey(namespace.key(key))).build());
    return this;
  }

  private Compare.Builder equal(String key) {
    return Compare.newBuilder().setKey(namespace.key(key)).setOperator(CompareOperator.COMPARE_OPERATOR_EQUAL);
  }

  List<Compare> compares() {
    return compares;
  }

  List<Op> then() {
    return then;
  }

  List<Op> otherwiseOps() {
    return otherwise;
  }

  List<Guard> guards() {
    return guards;
  }
}
