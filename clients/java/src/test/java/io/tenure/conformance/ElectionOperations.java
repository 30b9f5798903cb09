package io.tenure.conformance;

import com.google.gson.JsonObject;
import io.tenure.Client;
import io.tenure.Election;
import io.tenure.ElectionRun;
import io.tenure.LeaderChange;
import io.tenure.Leadership;
import io.tenure.Session;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/** What an agent can be told to do with elections. */
final class ElectionOperations {
  private final Things things;

  ElectionOperations(Things things) {
    this.things = things;
  }

  CompletableFuture<JsonObject> run(Request r) {
    Args a = r.args();
    switch (r.op()) {
      case "election.campaign": {
        Election e = things.on(r, Session.class).election(a.text("key"));
        CompletableFuture<Leadership> f = e.campaignAsync(
            a.maybe("value").orElse(""), a.maybe("owner"), a.duration("wait_ms"),
            p -> things.event("held.queued", r.as(), Json.of("position", p)));
        a.finish(r.op());
        return Things.reply(f, l -> {
          JsonObject o = things.hold(r.as(), l.held());
          things.put(r.as(), l);
          return o;
        });
      }
      case "election.proclaim": {
        byte[] value = a.bytes("value");
        a.finish(r.op());
        return Things.reply(things.on(r, Leadership.class).proclaimAsync(value), v -> new JsonObject());
      }
      case "election.resign": {
        String session = a.maybe("to_session").orElse("");
        String owner = a.maybe("to_owner").orElse("");
        a.finish(r.op());
        return Things.reply(things.on(r, Leadership.class).resignToAsync(session, owner), b -> Json.of("resigned", b));
      }
      case "election.leader": {
        Election e = things.on(r, Client.class).election(a.text("key"));
        a.finish(r.op());
        return Things.reply(e.leaderAsync(), l -> Json.of("leader", Json.leader(l.orElse(null))));
      }
      case "election.observe": {
        Election e = things.on(r, Client.class).election(a.text("key"));
        a.finish(r.op());
        Observer o = new Observer(r.as());
        things.put(r.as(), o);
        e.observe().subscribe(o);
        return Things.done(new JsonObject());
      }
      case "election.run": {
        Election e = things.on(r, Session.class).election(a.text("key"));
        String value = a.maybe("value").orElse("");
        a.finish(r.op());
        ElectionRun run = e.run(value, l -> {
          things.event("run.begun", r.as(), Json.of("token", l.held().token()));
          l.held().ended().join();
          things.event("run.ended", r.as(), Json.of("token", l.held().token()));
        });
        things.put(r.as(), run);
        return Things.done(new JsonObject());
      }
      default:
        throw r.unknown();
    }
  }

  /** Tells who leads. */
  private final class Observer implements Flow.Subscriber<LeaderChange>, AutoCloseable {
    private final String as;
    private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();

    Observer(String as) {
      this.as = as;
    }

    @Override
    public void onSubscribe(Flow.Subscription s) {
      subscription.complete(s);
      s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(LeaderChange c) {
      things.event("observe.leader", as, Json.of("leader", Json.leader(c.leader().orElse(null)), "gap", c.gap()));
    }

    @Override
    public void onError(Throwable t) {
      t.printStackTrace();
    }

    @Override
    public void onComplete() {
      // The client was closed.
    }

    @Override
    public void close() {
      subscription.join().cancel(); // It is told of the subscription by another thread.
    }
  }
}
