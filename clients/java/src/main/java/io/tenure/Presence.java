package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.session.SessionCore;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** A group whose members are those whose sessions live. */
public final class Presence {
  private final ClientCore core;
  private final SessionCore session;
  private final String prefix;

  Presence(ClientCore core, SessionCore session, String group) {
    this.core = core;
    this.session = session;
    this.prefix = Objects.requireNonNull(group, "group") + "/";
  }

  /**
   * Joins the group. The membership ends when it is closed, or with the session.
   *
   * @param name the name of the member in the group
   * @param value the member's value, which other clients see
   * @return the membership
   */
  public Membership join(String name, String value) {
    return Await.of(joinInner(name, value));
  }

  /**
   * Joins the group; see {@link #join}.
   *
   * @param name the name of the member in the group
   * @param value the member's value, which other clients see
   * @return a future of the membership; if it is cancelled, this member leaves
   */
  public CompletableFuture<Membership> joinAsync(String name, String value) {
    return core.loop.shown(joinInner(name, value), Membership::closeInner);
  }

  /** {@return the values of the members by name} */
  public Map<String, String> members() {
    return Await.of(membersInner());
  }

  /** {@return a future of the values of the members by name} */
  public CompletableFuture<Map<String, String>> membersAsync() {
    return core.loop.shown(membersInner());
  }

  /** {@return a local copy of the group; {@link Cache#begin} fills it, and its keys are {@code group/name}} */
  public Cache watch() {
    return new Cache(core, prefix);
  }

  private CompletableFuture<Membership> joinInner(String name, String value) {
    Objects.requireNonNull(name, "name");
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    if (session == null) {
      return CompletableFuture.failedFuture(Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
          "joining a group needs a session: use session.presence()"));
    }
    KV kv = new KV(core, session);
    CompletableFuture<Membership> joined = new CompletableFuture<>();
    // Who gives up waiting does not cancel it: what is not known to be there cannot be left.
    kv.putInner(prefix + name, bytes, PutOptions.defaults().ephemeral()).whenComplete((put, error) -> {
      if (error != null) {
        joined.completeExceptionally(Futures.error(error));
        return;
      }
      Membership m = new Membership(kv, put);
      if (!joined.complete(m)) {
        m.closeInner();
      }
    });
    return joined;
  }

  private CompletableFuture<Map<String, String>> membersInner() {
    return Futures.map(new KV(core, session).listInner(prefix), list -> {
      Map<String, String> all = new TreeMap<>();
      for (KeyValue kv : list) {
        all.put(kv.key().substring(prefix.length()), kv.text());
      }
      return all;
    });
  }

  /** A membership in a group. */
  public static final class Membership implements AutoCloseable {
    private final KV kv;
    private final PutResult put;

    private Membership(KV kv, PutResult put) {
      this.kv = kv;
      this.put = put;
    }

    /**
     * Leaves the group. A member that has taken the same name since remains. If the thread is interrupted, this returns, and the
     * leaving continues.
     */
    @Override
    public void close() {
      Await.ending(closeInner());
    }

    /**
     * Leaves the group; see {@link #close}.
     *
     * @return a future that completes when that is done
     */
    public CompletableFuture<Void> closeAsync() {
      return kv.client().loop.shown(closeInner());
    }

    private CompletableFuture<Void> closeInner() {
      return Futures.unlessCompareFails(kv.deleteInner(put.key(), put.revision(), null)).exceptionally(error -> {
        if (Futures.error(error) instanceof TenureException e
            && (e instanceof TenureException.SessionOver || e.kind() == ErrorKind.CLIENT_CLOSED)) {
          return null; // Gone with its session.
        }
        throw Futures.rethrow(error);
      });
    }
  }
}
