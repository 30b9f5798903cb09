package io.tenure.internal.session;

import io.grpc.CallOptions;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.tenure.CloseCause;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Backoff;
import io.tenure.internal.BootClock;
import io.tenure.internal.Futures;
import io.tenure.internal.Loop;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Errors;
import io.tenure.internal.line.Link;
import io.tenure.internal.line.Token;
import io.tenure.v1.KeepAliveRequest;
import io.tenure.v1.KeepAliveResponse;
import io.tenure.v1.RenewalVerdict;
import io.tenure.v1.SessionHint;
import io.tenure.v1.SessionRenewal;
import io.tenure.v1.SessionServiceGrpc;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Keeps the sessions of a client alive over one KeepAlive stream. One renewal of each is under way at a time; one that
 * stays without verdict too long breaks the link, so that another member is tried. Only the loop touches it.
 */
public final class Keeper implements Link.Listener {
  private static final long TICK_NANOS = 25_000_000L;
  /** How many sessions one client can keep: what a member renews over one stream. */
  static final int SESSIONS_MAX = 131_072;

  private static final int RENEWALS_MAX = 1024;
  private static final long SILENCE_MIN_NANOS = 250_000_000L;
  private static final long SILENCE_MAX_NANOS = 5_000_000_000L;
  private static final long AGAIN_NANOS = 50_000_000L;
  /** How often the cluster is asked what a session still holds, in case the hint that a lock was lost never came. */
  public static final long RECONCILE_NANOS = 30_000_000_000L;

  private final Loop loop;
  private final Link link;
  private final BootClock clock;
  private final Random random;
  private final Map<String, Kept> sessions = new HashMap<>();
  private Stream stream;
  private Stream leaving;
  /** Whether the token is being read, to see whether there is another one than the stream's. */
  private boolean reading;
  /** The number of the last renewal, of whatever session: one of the same id before must not have its verdicts taken for ours. */
  private long renewals;

  Keeper(Loop loop, Link link, BootClock clock, Random random) {
    this.loop = loop;
    this.link = link;
    this.clock = clock;
    this.random = random;
    link.listen(this);
    loop.every(TICK_NANOS, this::tick);
  }

  /** A session that is kept. */
  private static final class Kept {
    final SessionCore session;
    long due;
    long number;
    long sentAt;
    boolean underWay;
    /** Since when nothing was acknowledged; 0 when something was since the last renewal was sent. */
    long silentSince;
    boolean attaching;
    /** How many times in a row the cluster refused it for want of a right or of a credential, and since when. */
    int denials;
    long deniedSince;
    /** When the cluster is asked next what the session still holds; before a stream has renewed the session, it is not. */
    long reconcileAt;

    Kept(SessionCore session) {
      this.session = session;
    }
  }

  /**
   * Begins to renew the session, at once: only of what a stream has renewed does it tell what happens. Of those that were
   * taken over by one another here, the latest is kept and the others are over.
   */
  void add(SessionCore session) {
    Kept old = sessions.get(session.id());
    if (old != null && old.session.epoch() >= session.epoch()) {
      session.over(CloseCause.SUPERSEDED);
      return;
    }
    Kept k = new Kept(session);
    k.due = clock.nanos();
    sessions.put(session.id(), k);
    if (old != null) {
      old.session.over(CloseCause.SUPERSEDED);
    }
    if (stream == null && link.current() != null) {
      up(link.current());
    }
  }

  public int size() {
    return sessions.size();
  }

  void remove(SessionCore session) {
    if (kept(session) != null) {
      sessions.remove(session.id());
    }
    if (sessions.isEmpty()) {
      endStreams();
    }
  }

  /** Renews the session at once: something made its life doubtful. */
  public void hurry(SessionCore session) {
    Kept k = kept(session);
    if (k != null) {
      k.due = clock.nanos();
    }
  }

  /** Returns what is kept of this session; null when it is not, though another one of the same id may be. */
  private Kept kept(SessionCore session) {
    Kept k = sessions.get(session.id());
    return k != null && k.session == session ? k : null;
  }

  public void close() {
    sessions.clear();
    endStreams();
  }

  private void endStreams() {
    Stream s = stream;
    Stream l = leaving;
    stream = null;
    leaving = null;
    if (s != null) {
      s.end();
    }
    if (l != null) {
      l.end();
    }
  }

  @Override
  public void up(Connection c) {
    if (sessions.isEmpty()) {
      return;
    }
    stream = new Stream(c);
    for (Kept k : List.copyOf(sessions.values())) {
      k.underWay = false;
      k.silentSince = 0;
      k.attaching = false;
      k.due = clock.nanos();
    }
    tick();
  }

  @Override
  public void down(Connection c) {
    endStreams();
    for (Kept k : List.copyOf(sessions.values())) {
      k.underWay = false;
      k.attaching = false;
      k.session.linkDown();
    }
  }

  @Override
  public void doubted(Connection c) {
    // A member that says nothing to renewals is left.
  }

  @Override
  public void moved(Connection from, Connection to) {
    if (stream == null) {
      return;
    }
    // The old stream goes on until the new one has answered: nobody notices the move.
    if (leaving != null) {
      leaving.end();
    }
    leaving = stream;
    stream = new Stream(to);
    renewAll();
    tick();
  }

  /** Has all sessions renewed over the stream that is new, those that were denied not sooner than before. */
  private void renewAll() {
    long now = clock.nanos();
    for (Kept k : sessions.values()) {
      k.underWay = false;
      k.attaching = false;
      k.due = k.denials > 0 ? Math.max(k.due, now) : now;
    }
  }

  /**
   * The stream's token was denied a session, and a stream keeps the token with which it began: if there is another one by now, a new
   * stream over the same connection takes its place.
   */
  private void tryOtherToken() {
    Stream denied = stream;
    String now = link.door().token();
    if (now != null) {
      replace(denied, now);
    } else if (!reading) {
      reading = true; // It may take its time.
      link.door().readToken(loop, token -> {
        reading = false;
        replace(denied, token);
      }, why -> reading = false);
    }
  }

  private void replace(Stream denied, String token) {
    if (stream == denied && denied != null && !denied.token.get().equals(token)) {
      moved(denied.connection, denied.connection);
    }
  }

  /** Goes back to the stream before, if the one that failed was to take its place over the same connection; returns whether it did. */
  private boolean goBack(Stream failed) {
    if (leaving == null || leaving.ended || leaving.connection != failed.connection) {
      return false;
    }
    stream = leaving; // Its token is good for other sessions.
    leaving = null;
    renewAll();
    return true;
  }

  private long interval(SessionCore s) {
    long nanos = s.renewEvery().toNanos();
    return nanos - nanos / 10 + random.nextLong(Math.max(1, nanos / 5));
  }

  private static long silence(SessionCore s) {
    long third = s.ttl().isZero() ? SILENCE_MAX_NANOS : s.ttl().toNanos() / 3;
    return Math.min(SILENCE_MAX_NANOS, Math.max(SILENCE_MIN_NANOS, third));
  }

  private void tick() {
    long now = clock.nanos();
    List<Kept> due = new ArrayList<>();
    boolean silent = false;
    for (Kept k : List.copyOf(sessions.values())) {
      k.session.look(now);
      if (k.silentSince != 0 && now - k.silentSince > silence(k.session)) {
        silent = true;
      }
      if (stream != null && !k.underWay && k.due <= now) {
        due.add(k);
      }
      if (stream != null && k.reconcileAt <= now && stream.introduced.contains(k.session.id())) {
        reconcile(k);
      }
    }
    if (silent && stream != null) {
      link.broken(stream.connection);
      return;
    }
    for (Kept k : due) {
      if (k.session.life.needsAttach()) {
        attach(k);
      }
    }
    due.removeIf(k -> k.session.life.needsAttach());
    for (int from = 0; from < due.size() && stream != null; from += RENEWALS_MAX) {
      send(due.subList(from, Math.min(due.size(), from + RENEWALS_MAX)), now);
    }
  }

  /** Learns the truth about the session first, as after every break. */
  private void attach(Kept k) {
    if (k.attaching) {
      return;
    }
    k.attaching = true;
    Stream s = stream;
    if (k.silentSince == 0) {
      k.silentSince = clock.nanos();
    }
    k.session.attaching.attach(s.connection, () -> {
      if (k.attaching && stream == s) {
        k.silentSince = clock.nanos(); // Each page is a word of the member.
      }
    }).whenComplete((ok, error) -> {
      if (sessions.get(k.session.id()) != k) {
        return;
      }
      if (stream != s) {
        // Told over a connection that is given up: what happened since is told by nobody.
        if (error == null) {
          k.session.attaching.again();
        }
        return;
      }
      k.attaching = false;
      if (error != null && isDenied(error)) {
        denied(k);
      } else if (error != null) {
        k.due = clock.nanos() + AGAIN_NANOS + Backoff.pauseNanos(2, random);
      } else {
        k.due = clock.nanos();
        tick();
      }
    });
  }

  /** Asks what the session still holds. What fails is tried again after a while. */
  private void reconcile(Kept k) {
    k.reconcileAt = clock.nanos() + RECONCILE_NANOS - random.nextLong(RECONCILE_NANOS / 10);
    if (k.session.holds.isLosable()) {
      k.session.attaching.reconcile(stream.connection);
    }
  }

  private void send(List<Kept> due, long now) {
    KeepAliveRequest.Builder request = KeepAliveRequest.newBuilder();
    for (Kept k : due) {
      k.underWay = true;
      k.sentAt = now;
      k.number = ++renewals;
      if (k.silentSince == 0) {
        k.silentSince = now;
      }
      SessionRenewal.Builder r = SessionRenewal.newBuilder()
          .setSessionId(k.session.id()).setEpoch(k.session.epoch()).setNumber(k.number);
      if (!stream.introduced.contains(k.session.id())) {
        r.setSecret(k.session.secret());
      }
      request.addRenewals(r);
    }
    stream.send(request.build());
  }

  private void answer(Stream s, KeepAliveResponse response) {
    link.answered(s.connection);
    if (s == stream && leaving != null) {
      leaving.end();
      leaving = null;
    }
    boolean denied = false;
    for (RenewalVerdict v : response.getVerdictsList()) {
      Kept k = sessions.get(v.getSessionId());
      if (k != null && s == stream && k.underWay && v.getNumber() == k.number) {
        verdict(k, v);
        denied |= k.denials > 0;
      }
    }
    for (SessionHint h : response.getHintsList()) {
      Kept k = sessions.get(h.getSessionId());
      if (k != null) {
        k.session.hint(h);
      }
    }
    if (denied && s == stream) {
      tryOtherToken();
    }
  }

  private void verdict(Kept k, RenewalVerdict v) {
    k.underWay = false;
    long now = clock.nanos();
    switch (v.getRefused()) {
      case ERROR_REASON_UNSPECIFIED -> {
        k.silentSince = 0;
        k.denials = 0;
        if (stream.introduced.add(k.session.id())) { // Until then the secret goes along: a refusal may be for want of a leader.
          reconcile(k); // No stream told what was lost before.
        }
        k.due = now + interval(k.session);
        k.session.renewed(k.sentAt);
      }
      case ERROR_REASON_SESSION_NOT_FOUND, ERROR_REASON_SESSION_EXPIRED, ERROR_REASON_SESSION_ID_INVALID -> k.session.over(CloseCause.EXPIRED);
      case ERROR_REASON_SESSION_SUPERSEDED -> k.session.over(CloseCause.SUPERSEDED);
      case ERROR_REASON_SESSION_SECRET_WRONG -> k.session.over(CloseCause.AUTH_FAILED);
      default -> {
        TenureException why = Errors.verdict(v.getRefused());
        k.session.notRenewed(why);
        if (isDenied(why)) {
          denied(k);
        } else {
          k.due = now + AGAIN_NANOS + Backoff.pauseNanos(1, random);
        }
      }
    }
  }

  private static boolean isDenied(Throwable error) {
    return Futures.error(error) instanceof TenureException e && e.kind() == ErrorKind.AUTH_FAILED;
  }

  /**
   * The cluster refused a session for want of a right or of a credential. All members say the same, so the connection, which the others
   * use, too, is as good as any. If the right comes back, or another token has it, the session is renewed in time.
   */
  private void denied(Kept k) {
    long now = clock.nanos();
    k.silentSince = 0;
    if (k.denials++ == 0) {
      k.deniedSince = now;
    } else if (now - k.deniedSince > silence(k.session)) {
      k.session.denied();
    }
    long pause = Math.min(interval(k.session), AGAIN_NANOS + Backoff.pauseNanos(k.denials, random));
    long left = k.session.safeFor().toNanos();
    if (left > 0) { // Never past the middle of what is left: the right may come back until the end.
      pause = Math.min(pause, Math.max(AGAIN_NANOS, left / 2));
    }
    k.due = now + pause;
  }

  /** One KeepAlive stream. */
  private final class Stream implements ClientResponseObserver<KeepAliveRequest, KeepAliveResponse> {
    private final Connection connection;
    private final Set<String> introduced = new HashSet<>();
    private final AtomicReference<String> token = new AtomicReference<>("");
    private ClientCallStreamObserver<KeepAliveRequest> out;
    private boolean ended;

    Stream(Connection c) {
      this.connection = c;
      ClientCalls.asyncBidiStreamingCall(
          c.call(SessionServiceGrpc.getKeepAliveMethod(), CallOptions.DEFAULT.withOption(Token.USED, token)), this);
    }

    void send(KeepAliveRequest request) {
      if (!ended) {
        out.onNext(request);
      }
    }

    void end() {
      if (!ended) {
        ended = true;
        out.cancel("no longer needed", null);
      }
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<KeepAliveRequest> requests) {
      out = requests;
    }

    @Override
    public void onNext(KeepAliveResponse response) {
      if (!ended) {
        answer(this, response);
      }
    }

    @Override
    public void onError(Throwable t) {
      if (!ended && this == stream && !goBack(this)) {
        TenureException why = Errors.read(t).error();
        sessions.values().forEach(k -> k.session.notRenewed(why));
      }
      over();
    }

    @Override
    public void onCompleted() {
      over();
    }

    private void over() {
      if (ended) {
        return;
      }
      ended = true;
      if (this == stream && !goBack(this)) {
        stream = null;
        link.broken(connection);
      }
    }
  }
}
