package io.tenure.internal.session;

import io.tenure.SessionChange;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Who is told of the changes of one session's state. */
public final class Listeners {
  private final SessionCore session;
  private final List<Consumer<SessionChange>> all = new ArrayList<>();

  Listeners(SessionCore session) {
    this.session = session;
  }

  /** Tells all of a change. */
  void tell(SessionChange change) {
    for (Consumer<SessionChange> l : all) {
      session.events().execute(() -> l.accept(change));
    }
  }

  /** Tells the listener the state now, and every change from now on. Any thread may call it. */
  public void listen(Consumer<SessionChange> l) {
    session.client.onLoop(() -> {
      all.add(l);
      tellNow(l);
      return CompletableFuture.completedFuture(null);
    }).exceptionally(closed -> {
      tellNow(l); // There will be no other.
      return null;
    });
  }

  private void tellNow(Consumer<SessionChange> l) {
    SessionChange now = new SessionChange(session.state(), session.state(), session.cause());
    session.events().execute(() -> l.accept(now));
  }

  /** Likewise for one that knows the state now. The loop calls it. */
  void listenLater(Consumer<SessionChange> l) {
    all.add(l);
  }

  public void forget(Consumer<SessionChange> l) {
    all.remove(l);
  }
}
