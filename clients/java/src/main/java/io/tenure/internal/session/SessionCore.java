package io.tenure.internal.session;

import com.google.protobuf.ByteString;
import io.tenure.Applied;
import io.tenure.CloseCause;
import io.tenure.EndCause;
import io.tenure.ErrorKind;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Loop;
import io.tenure.v1.SessionHint;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;

/** The state of one session. Only the loop changes it; the volatile parts may be read by anybody. */
public final class SessionCore {
  /** When a process before may believe in what the session holds for as long as it runs. */
  static final long NEVER = Long.MAX_VALUE;

  public final ClientCore client;
  public final SessionCalls calls = new SessionCalls(this);
  public final Listeners listeners = new Listeners(this);
  public final Holds holds = new Holds(this);
  public final Returns returns = new Returns(this);
  public final Inheritance inheritance = new Inheritance(this);
  public final SessionEnd end = new SessionEnd(this);
  /** What the loop does when the session is over; who adds to it takes it back. */
  public final List<Runnable> atEnd = new ArrayList<>();
  final Attaching attaching = new Attaching(this);
  final LeaseWaits waits = new LeaseWaits(this);
  /** Decides in which state it is. What follows from an event is carried out here. */
  final SessionLife life;
  private final String id;
  private final Identity who;
  private final Executor events;
  private long lapses;
  private volatile TenureException refusal;

  /** What makes a session what it is. */
  record Identity(
      String id, ByteString secret, ByteString instance, long epoch, Duration ttl, Duration renewEvery) {}

  SessionCore(ClientCore client, Identity who, Executor events) {
    this.client = client;
    this.who = who;
    this.id = who.id();
    this.life = new SessionLife(who.ttl());
    this.events = events;
  }

  public String id() {
    return id;
  }

  ByteString instance() {
    return who.instance();
  }

  ByteString secret() {
    return who.secret();
  }

  public long epoch() {
    return who.epoch();
  }

  public Duration ttl() {
    return who.ttl();
  }

  Duration renewEvery() {
    return who.renewEvery();
  }

  public SessionState state() {
    return life.state();
  }

  /** The state as the clock has it, which the loop may not have looked at yet. */
  public SessionState stateNow() {
    return life.state(client.clock.nanos());
  }

  public Optional<CloseCause> cause() {
    return Optional.ofNullable(life.cause());
  }

  Executor events() {
    return events;
  }

  public boolean isSafe() {
    return life.isSafe(client.clock.nanos());
  }

  public Duration safeFor() {
    return life.safeFor(client.clock.nanos());
  }

  /** Why the cluster refuses to renew it; empty if the last attempt was not refused for want of a right or of a credential. */
  public Optional<TenureException> refusal() {
    return Optional.ofNullable(refusal);
  }

  // What happens to the session.

  /** An attempt to renew it failed. */
  void notRenewed(TenureException why) {
    refusal = why.kind() == ErrorKind.AUTH_FAILED ? Exceptions.withoutSession(why) : null;
  }

  /** The cluster made the session, on a request that was sent at that time. */
  void created(long sentAt) {
    client.sessions.add(this);
    client.keeper.add(this);
    follow(life.created(sentAt, client.clock.nanos()));
  }

  /** The session was taken over from another process; the next renewal begins its lease here. */
  void takenOver(Truth had, boolean mayRun) {
    inheritance.begin(had, !mayRun ? Long.MIN_VALUE : ttl().isZero() ? NEVER : client.clock.nanos() + ttl().toNanos());
    attaching.takenOver();
    client.sessions.add(this);
    client.keeper.add(this);
    client.keeper.hurry(this);
  }

  void linkDown() {
    follow(life.linkDown(client.clock.nanos()));
  }

  /** The cluster has refused to renew it for so long that its life is doubtful; the connection stands. */
  void denied() {
    follow(life.denied(client.clock.nanos()));
  }

  void renewed(long sentAt) {
    refusal = null;
    long now = client.clock.nanos();
    follow(life.renewed(sentAt, now));
    waits.run(now);
    holds.look(now);
  }

  /** Looks at the clock. */
  public void look(long now) {
    follow(life.look(now));
    waits.run(now);
    holds.look(now);
  }

  /** The session is over. */
  void over(CloseCause why) {
    if (life.state() == SessionState.CLOSED) {
      return;
    }
    long now = client.clock.nanos();
    look(now); // What ended before this is told so.
    SessionLife.Effects effects = life.close(why, now);
    client.keeper.remove(this);
    client.sessions.remove(this);
    holds.over(Causes.ofHolds(why));
    follow(effects);
    holds.fail(calls.overError(Applied.UNKNOWN));
    waits.over();
    List.copyOf(atEnd).forEach(Loop::guarded);
  }

  /** Carries out what follows from an event. */
  private void follow(SessionLife.Effects effects) {
    if (effects.ranOut()) {
      lapses++;
      holds.ranOut();
    }
    effects.changes().forEach(listeners::tell);
    if (effects.hurry()) {
      client.keeper.hurry(this);
    }
  }

  /** Returns how often its lease has run out. */
  long lapses() {
    return lapses;
  }

  /** Returns why nothing is held any more at this moment, by what is known and by the clock; null while something may be. */
  EndCause whyOver() {
    boolean safe = isSafe(); // Before the cause: a session that is over has one first, and no lease then.
    CloseCause why = life.cause();
    if (why != null) {
      return Causes.ofHolds(why);
    }
    return safe ? null : EndCause.LEASE_RAN_OUT;
  }

  void hint(SessionHint hint) {
    if (hint.hasLost()) {
      look(client.clock.nanos());
      holds.lost(hint.getLost());
    }
  }

  /** Stops using the session without ending it: whoever has its token may go on with it. */
  public void detach() {
    over(CloseCause.EXPORTED);
  }
}
