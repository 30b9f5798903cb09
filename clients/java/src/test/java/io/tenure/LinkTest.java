package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Link;
import io.tenure.internal.line.Waits;
import io.tenure.v1.GetRequest;
import io.tenure.v1.KeepAliveResponse;
import io.tenure.v1.ListMembersResponse;
import io.tenure.v1.Member;
import io.tenure.v1.WatchRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** How a client stays connected. */
final class LinkTest extends WithFakeMember {
  /** Does something in one turn of the loop after the connection broke, and before another one stands. */
  private void whileDown(Runnable what) throws Exception {
    client.kv().find("connected");
    get(client.core().onLoop(() -> {
      Link link = client.core().link;
      link.broken(link.current());
      what.run();
      return CompletableFuture.completedFuture(null);
    }));
  }

  @Test
  void whatFailsWhenAConnectionStandsKeepsNothingElseFromIt() throws Exception {
    CompletableFuture<Void> next = new CompletableFuture<>();
    whileDown(() -> {
      client.core().link.whenUp(() -> {
        throw new IllegalStateException("meant to be seen in the log of this test");
      });
      client.core().link.whenUp(() -> next.complete(null));
    });
    get(next);
  }

  @Test
  void whatFailsWhenAConnectionBreaksKeepsTheClientFromNothing() throws Exception {
    client.kv().find("connected");
    get(client.core().onLoop(() -> {
      client.core().link.listen(new Link.Listener() {
        @Override
        public void up(Connection c) {
          throw new OutOfMemoryError("meant to be seen in the log of this test");
        }

        @Override
        public void down(Connection c) {
          throw new OutOfMemoryError("meant to be seen in the log of this test");
        }

        @Override
        public void doubted(Connection c) {
          // It happens without this test.
        }

        @Override
        public void moved(Connection from, Connection to) {
          // Nothing moves.
        }
      });
      return CompletableFuture.completedFuture(null);
    }));
    client.core().loop.execute(() -> client.core().link.broken(client.core().link.current()));
    get(client.kv().findAsync("k"));
  }

  @Test
  void anElectionWithoutAKeyCannotBeObservedThoughNoMemberCanBeAsked() throws Exception {
    AtomicReference<Signals<LeaderChange>> told = new AtomicReference<>();
    whileDown(() -> told.set(Signals.of(client.election("").observe())));
    assertEquals(ErrorKind.INVALID_ARGUMENT, told.get().failure().kind());
  }

  @Test
  void aMemberThatEndsEveryStreamOfRenewalsIsComeBackToInGrowingPauses() throws Exception {
    client.openSession();
    member.next(FakeMember.Renewal.class);
    CountDownLatch back = new CountDownLatch(3);
    CountDownLatch storm = new CountDownLatch(40);
    BlockingQueue<StreamObserver<KeepAliveResponse>> renewals = new LinkedBlockingQueue<>();
    member.fallSilent();
    member.keepAlive = renewals::add;
    member.attach = (r, o) -> {
      // It answers, as long as it is asked one thing at a time.
      FakeMember.reply(o, member.truth(r));
      back.countDown();
      storm.countDown();
      try {
        next(renewals).onCompleted();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    };
    member.breakOff();
    assertTrue(back.await(FakeMember.SOON_SECONDS, TimeUnit.SECONDS));
    assertFalse(storm.await(2, TimeUnit.SECONDS));
  }

  @Test
  void theSessionsOfAClientShareAStreamOfRenewals() throws Exception {
    AtomicInteger streams = new AtomicInteger();
    member.keepAlive = o -> streams.incrementAndGet();
    Set<String> sessions = new HashSet<>();
    for (int i = 0; i < 20; i++) {
      sessions.add(client.openSession().id());
    }
    while (!sessions.isEmpty()) {
      sessions.remove(member.next(FakeMember.Renewal.class).session());
    }
    assertEquals(1, streams.get());
  }

  @Test
  void streamsShareChannelsOfTheirOwn() throws Exception {
    int streams = 2 * Waits.STREAMS_MAX + 1;
    List<Watch> watches = new ArrayList<>();
    for (int i = 0; i < streams; i++) {
      Watch w = client.watch(WatchOptions.all());
      watches.add(w);
      w.beginAsync();
    }
    for (int i = 0; i < streams; i++) {
      member.next(WatchRequest.class);
    }
    assertEquals(3, channels());
    watches.forEach(Watch::close);
    // Their room is used again.
    for (int i = 0; i < streams; i++) {
      client.watch(WatchOptions.all()).beginAsync();
      member.next(WatchRequest.class);
    }
    assertEquals(3, channels());
  }

  private int channels() throws Exception {
    return get(client.core().onLoop(() -> CompletableFuture.completedFuture(client.core().link.current().waitChannels())));
  }

  @Test
  void aMemberThatNeitherKeepsAWatchNorAnswersIsLeft() throws Exception {
    try (FakeMember second = new FakeMember()) {
      List<FakeMember> members = connectAmong(second);
      members.get(0).listMembers = (r, o) -> o.onError(Status.UNAVAILABLE.asRuntimeException());
      members.get(0).watch = (r, o) -> o.onError(Status.UNAVAILABLE.asRuntimeException());
      client.watch(WatchOptions.all()).beginAsync();
      members.get(1).next(WatchRequest.class);
    }
  }

  @Test
  void aMemberThatIsCutOffFromTheOthersIsLeftWithoutASessionToo() throws Exception {
    try (FakeMember second = new FakeMember()) {
      List<FakeMember> members = connectAmong(second);
      members.get(0).get = (r, o) -> o.onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "NO_LEADER"));
      get(client.kv().findAsync("k"));
      members.get(1).next(GetRequest.class);
    }
  }

  @Test
  void whereTheMembersThatTheClusterToldCannotBeReachedThoseThatTheUserNamedAreTried() throws Exception {
    try (Relay named = new Relay(member)) {
      // Nothing listens on port 1.
      member.listMembers = (r, o) -> FakeMember.reply(o, ListMembersResponse.newBuilder()
          .addMembers(Member.newBuilder().setClientAddress("127.0.0.1:1")).build());
      client.close();
      client = client("tenure://" + named.address());
      until(() -> told().equals(List.of("127.0.0.1:1")));
      named.cut();
      until(() -> named.connections() > 1);
      client.kv().find("k");
      assertEquals(named.address(), client.connectedTo());
    }
  }

  private List<String> told() {
    try {
      return get(client.core().onLoop(() -> CompletableFuture.completedFuture(client.core().link.members())));
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  /** A member that ends every connection, and says so. */
  private static final class Refusing implements AutoCloseable {
    private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    private final Thread accepting;

    Refusing(Set<String> asked) throws IOException {
      accepting = new Thread(() -> {
        while (!socket.isClosed()) {
          try (Socket client = socket.accept()) {
            asked.add(address());
          } catch (IOException e) {
            return; // It is closed.
          }
        }
      });
      accepting.start();
    }

    String address() {
      return "127.0.0.1:" + socket.getLocalPort();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  @Test
  void whoMovesAsksTheNewMembersThenAnotherOldOneAndStaysConnected() throws Exception {
    Set<String> asked = ConcurrentHashMap.newKeySet();
    try (FakeMember second = new FakeMember(); FakeMember third = new FakeMember();
        Refusing fourth = new Refusing(asked); Refusing fifth = new Refusing(asked)) {
      List<FakeMember> members = connectAmong(second, third);
      List<String> old = members.stream().map(FakeMember::address).toList();
      BlockingQueue<SessionChange> told = new LinkedBlockingQueue<>();
      Session session = client.openSession(SessionOptions.defaults(), Duration.ofMinutes(5), told::add);
      String before = client.connectedTo();
      List<String> all = new ArrayList<>(old);
      all.addAll(List.of(fourth.address(), fifth.address()));
      get(client.core().onLoop(() -> {
        client.core().link.update(all, 0);
        return CompletableFuture.completedFuture(null);
      }));
      until(() -> !client.connectedTo().equals(before));
      String now = client.connectedTo();
      // Whoever refuses may notice later.
      until(() -> asked.equals(Set.of(fourth.address(), fifth.address())));
      assertTrue(old.contains(now), now);
      assertNotEquals(before, now);
      // It renews there, and nobody noticed.
      FakeMember there = members.get(old.indexOf(now));
      assertEquals(session.id(), there.next(FakeMember.Renewal.class).session());
      assertEquals(SessionState.CONNECTED, session.state());
      assertEquals(SessionState.CONNECTING, next(told).to());
      assertEquals(SessionState.CONNECTED, next(told).to());
      assertTrue(told.isEmpty());
    }
  }
}
