package io.tenure;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** A group whose members are those whose sessions live. */
public final class Presence {
  private final ClientCore core;
  private final SessionCore session;
  private final String prefix;

  Presence(ClientCore core, SessionCore session, String group) {
    this.core = core;
    this.session = session;
    this.prefix = Objects.requireNonNull(group) + "/";
  }

  /**
   * Joins the group; the membership ends when it is closed, or with the session.
   *
   * @param name the name of the member in the group
   * @param value what others see of the member
   * @return the membership
   */
  public Membership join(String name, String value) {
    if (session == null) {
      throw TenureException.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
          "to join a group needs a session: take it from session.presence()");
    }
    Objects.requireNonNull(name);
    KV kv = new KV(core, session);
    PutResult put =
        kv.put(prefix + name, value.getBytes(StandardCharsets.UTF_8), PutOptions.defaults().ephemeral());
    return new Membership(kv, put);
  }

  /** {@return the members' values by name} */
  public Map<String, String> members() {
    Map<String, String> all = new TreeMap<>();
    for (KeyValue kv : new KV(core, session).list(prefix)) {
      all.put(kv.key().substring(prefix.length()), kv.text());
    }
    return all;
  }

  /** {@return a copy of the group that is kept up to date; its keys begin with the group's name and a slash} */
  public Cache watch() {
    return new Cache(core, prefix);
  }

  /** One's own membership of a group. */
  public static final class Membership implements AutoCloseable {
    private final KV kv;
    private final PutResult put;

    private Membership(KV kv, PutResult put) {
      this.kv = kv;
      this.put = put;
    }

    /**
     * Leaves the group. A membership of the same name that somebody else took since stays. An interrupt ends the waiting for the
     * answer, not the leaving.
     */
    @Override
    public void close() {
      try {
        Await.ending(kv.deleteInner(put.key(), put.revision(), null));
      } catch (TenureException.CompareFailed | TenureException.SessionOver e) {
        // Gone already.
        return;
      } catch (TenureException e) {
        if (e.kind() != ErrorKind.CLIENT_CLOSED) {
          throw e;
        }
        // Gone with its session.
      }
    }
  }
}
