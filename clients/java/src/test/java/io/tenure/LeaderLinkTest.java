package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.line.LeaderLink;
import io.tenure.v1.CreateSessionRequest;
import io.tenure.v1.GetRequest;
import io.tenure.v1.ListMembersRequest;
import io.tenure.v1.ListMembersResponse;
import io.tenure.v1.Member;
import io.tenure.v1.PutRequest;
import io.tenure.v1.PutResponse;
import io.tenure.v1.ResponseHeader;
import io.tenure.v1.TryAcquireLockRequest;
import io.tenure.v1.TryAcquireLockResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Changes go straight to the leader. There are two members; the client's own one never leads. An attempt has an hour to be answered. */
final class LeaderLinkTest extends WithFakeMember {
  private final List<FakeMember> members = new ArrayList<>();
  private final List<Relay> relays = new ArrayList<>();
  /** The address of the leader, as both say; empty for none. */
  private volatile String leads = "";
  private FakeMember own;
  private FakeMember leader;
  private Relay toOwn;
  private Relay toLeader;

  @BeforeEach
  void two() throws Exception {
    members.addAll(List.of(member, new FakeMember()));
    for (FakeMember m : members) {
      relays.add(new Relay(m));
      m.listMembers = (r, o) -> FakeMember.reply(o, list(members.indexOf(m)));
    }
    connect(String.join(",", relays.stream().map(Relay::address).toList()));
  }

  /** Connects a client to the first of those members that answers, which is its own one from now on. */
  private void connect(String addresses) throws Exception {
    client.close();
    client = client("tenure://" + addresses);
    until(() -> !client.connectedTo().isEmpty());
    boolean first = client.connectedTo().equals(relays.get(0).address());
    own = members.get(first ? 0 : 1);
    leader = members.get(first ? 1 : 0);
    toOwn = relays.get(first ? 0 : 1);
    toLeader = relays.get(first ? 1 : 0);
  }

  @AfterEach
  void end() throws Exception {
    client.close();
    for (Relay r : relays) {
      r.close();
    }
    members.get(1).close();
  }

  private ListMembersResponse list(int asked) {
    ListMembersResponse.Builder all = ListMembersResponse.newBuilder().setHeader(ResponseHeader.newBuilder().setMemberId(asked + 1));
    for (int i = 0; i < relays.size(); i++) {
      String address = relays.get(i).address();
      all.addMembers(Member.newBuilder().setId(i + 1).setClientAddress(address).setLeader(address.equals(leads)));
    }
    if (!leads.isEmpty() && all.getMembersList().stream().noneMatch(Member::getLeader)) {
      all.addMembers(Member.newBuilder().setId(relays.size() + 1).setClientAddress(leads).setLeader(true));
    }
    return all.build();
  }

  /** Says who leads, and has the client ask. */
  private void lead(String address) throws Exception {
    leads = address;
    get(client.core().onLoop(() -> {
      client.core().leaderDoubted();
      return CompletableFuture.completedFuture(null);
    }));
  }

  /** Makes the other member lead, and waits until changes go there. */
  private void direct() throws Exception {
    lead(toLeader.address());
    until(() -> put() == leader);
  }

  /** Puts a key, and returns where that arrived, which is one member. */
  private FakeMember put() {
    members.forEach(FakeMember::seen);
    client.kv().put("k", "v");
    List<FakeMember> at = members.stream().filter(m -> m.seen().stream().anyMatch(PutRequest.class::isInstance)).toList();
    assertEquals(1, at.size());
    return at.get(0);
  }

  @Test
  void changesGoToTheOwnMemberAsLongAsNobodyIsKnownToLead() throws Exception {
    int before = toLeader.connections(); // The client may have tried that member first, and given up on a busy machine.
    for (int i = 0; i < 10; i++) {
      assertEquals(own, put());
    }
    lead(toOwn.address());
    for (int i = 0; i < 10; i++) {
      assertEquals(own, put());
    }
    assertEquals(before, toLeader.connections());
  }

  @Test
  void changesGoToTheLeaderAndEverythingElseToTheOwnMember() throws Exception {
    direct();
    // Attempts to connect that took too long, as they may on a busy machine, came before, and are closed.
    until(() -> toLeader.open() == 1);
    int before = toLeader.connections();
    members.forEach(FakeMember::seen);
    Session session = client.openSession();
    own.next(CreateSessionRequest.class);
    session.kv().put("k", "v");
    assertTrue(leader.next(PutRequest.class).getOptions().hasRequestId());
    leader.tryAcquire = (r, o) -> FakeMember.reply(o, TryAcquireLockResponse.getDefaultInstance());
    session.lock("l").tryAcquire();
    leader.next(TryAcquireLockRequest.class);
    session.kv().find("k");
    own.next(GetRequest.class);
    session.lock("l").acquireAsync();
    own.next(FakeMember.Acquire.class);
    own.next(FakeMember.Renewal.class);
    assertTrue(leader.seen().isEmpty());
    assertEquals(before, toLeader.connections());
  }

  @Test
  void aConnectionToWhoLeadsNoMoreIsClosedOnceItsCallsHaveEnded() throws Exception {
    direct();
    CompletableFuture<StreamObserver<PutResponse>> late = new CompletableFuture<>();
    leader.put = (r, o) -> late.complete(o);
    CompletableFuture<PutResult> put = client.kv().putAsync("late", "v");
    StreamObserver<PutResponse> out = get(late);
    leader.put = (r, o) -> FakeMember.reply(o, PutResponse.getDefaultInstance());
    lead("");
    until(() -> put() == own);
    FakeMember.reply(out, PutResponse.getDefaultInstance());
    get(put);
    closed(toLeader);
    assertEquals(1, toOwn.open());
  }

  @Test
  void aConnectionThatIsNotUsedForHalfAMinuteIsClosed() throws Exception {
    direct();
    look(LeaderLink.IDLE_NANOS / LeaderLink.LOOK_NANOS - 1);
    assertEquals(leader, put());
    look(LeaderLink.IDLE_NANOS / LeaderLink.LOOK_NANOS + 1);
    closed(toLeader);
    assertEquals(own, put());
    until(() -> put() == leader);
  }

  /** Lets the client look at the connection so often, as it does four times a second. */
  private void look(long times) throws Exception {
    get(client.core().onLoop(() -> {
      for (long i = 0; i < times; i++) {
        client.core().link.leader().look();
      }
      return CompletableFuture.completedFuture(null);
    }));
  }

  @Test
  void closingEndsBothConnections() throws Exception {
    direct();
    assertEquals(1, toLeader.open());
    client.close();
    closed(toLeader);
    closed(toOwn);
  }

  private static void closed(Relay relay) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(FakeMember.SOON_SECONDS);
    while (relay.open() > 0) {
      assertTrue(System.nanoTime() < end);
      Thread.onSpinWait();
    }
  }

  /** Something that happens to the leader. */
  private interface Fate {
    void happens() throws Exception;
  }

  /** Makes changes that the leader takes and does not answer, lets something happen to it, and finds them at the own member. */
  private void madeAgain(Fate fate) throws Exception {
    direct();
    Session session = client.openSession();
    members.forEach(FakeMember::seen);
    leader.put = (r, o) -> { };
    List<CompletableFuture<PutResult>> puts = List.of(client.kv().putAsync("a", "v"), session.kv().putAsync("b", "v"));
    List<PutRequest> first = List.of(leader.next(PutRequest.class), leader.next(PutRequest.class));
    fate.happens();
    for (CompletableFuture<PutResult> p : puts) {
      get(p);
    }
    List<PutRequest> again = List.of(own.next(PutRequest.class), own.next(PutRequest.class));
    for (PutRequest r : first) {
      assertTrue(again.contains(r), "other than before: " + again);
    }
    assertFalse(own.seen().stream().anyMatch(PutRequest.class::isInstance));
    assertFalse(leader.seen().stream().anyMatch(PutRequest.class::isInstance));
    assertEquals(own, put());
    assertEquals(SessionState.CONNECTED, session.state());
  }

  @Test
  void whatIsUnderWayWhenTheLeaderDiesIsMadeAgainUnderTheSameId() throws Exception {
    madeAgain(() -> {
      toLeader.close();
      leader.close();
    });
  }

  @Test
  void whatIsUnderWayWhenTheLeaderFallsSilentIsMadeAgainUnderTheSameId() throws Exception {
    madeAgain(() -> toLeader.hold(true));
  }

  @Test
  void whatIsUnderWayWhenAnotherOneLeadsByThenIsMadeAgainUnderTheSameId() throws Exception {
    // The one before is alive, and answers nothing else. Of what is asked every ten seconds alone, this many would not come in time.
    AtomicInteger asked = new AtomicInteger();
    madeAgain(() -> own.listMembers = (r, o) -> {
      if (asked.incrementAndGet() == 8) {
        leads = "";
      }
      FakeMember.reply(o, list(members.indexOf(own)));
    });
  }

  @Test
  void aMemberThatRefusesBecauseItLeadsNoMoreIsLeft() throws Exception {
    for (String reason : List.of("NOT_LEADER", "NO_LEADER", "STOPPING")) {
      direct();
      BiConsumer<PutRequest, StreamObserver<PutResponse>> before = leader.put;
      leader.put = (r, o) -> o.onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, reason));
      members.forEach(FakeMember::seen);
      client.kv().put("k", "v");
      PutRequest refused = leader.next(PutRequest.class);
      assertEquals(refused, own.next(PutRequest.class));
      leader.put = before;
      assertEquals(own, put());
    }
  }

  @Test
  void aChangeThatFailsAtTheLeaderIsMadeAgainAtTheOwnMemberThoughTheConnectionStands() throws Exception {
    direct();
    BiConsumer<PutRequest, StreamObserver<PutResponse>> before = leader.put;
    leader.put = (r, o) -> o.onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown"));
    members.forEach(FakeMember::seen);
    client.kv().put("k", "v");
    assertEquals(leader.next(PutRequest.class), own.next(PutRequest.class));
    assertTrue(leader.seen().isEmpty());
    leader.put = before;
    assertEquals(leader, put());
  }

  @Test
  void aChangeThatTheLeaderDecidesAgainstIsNotMadeAgain() throws Exception {
    direct();
    leader.put = (r, o) -> o.onError(FakeMember.refusal(Code.FAILED_PRECONDITION_VALUE, "COMPARE_FAILED"));
    members.forEach(FakeMember::seen);
    assertEquals(ErrorKind.COMPARE_FAILED, failure(client.kv().putAsync("k", "v")).kind());
    assertTrue(own.seen().isEmpty());
  }

  @Test
  void noCallWaitsForALeaderThatDoesNotTakeConnections() throws Exception {
    toLeader.hold(true);
    lead(toLeader.address());
    until(() -> {
      assertEquals(own, put());
      return toLeader.connections() > 0;
    });
    for (int i = 0; i < 100; i++) {
      assertEquals(own, put());
    }
  }

  /** What a member answers may be older than the doubt. */
  @Test
  void whoIsDoubtedWhileAMemberIsAskedIsAskedForAgain() throws Exception {
    BlockingQueue<Runnable> answers = new LinkedBlockingQueue<>();
    BiConsumer<ListMembersRequest, StreamObserver<ListMembersResponse>> atOnce = own.listMembers;
    own.listMembers = (r, o) -> {
      ListMembersResponse now = list(members.indexOf(own));
      answers.add(() -> FakeMember.reply(o, now));
    };
    lead("");
    Runnable older = next(answers);
    lead(toLeader.address());
    older.run();
    for (int i = 0; i < 100; i++) {
      assertEquals(own, put());
    }
    own.listMembers = atOnce;
    answers.remove().run(); // It was asked long before.
    until(() -> put() == leader);
  }

  @Test
  void aLeaderThatCannotBeReachedIsSeldomTried() throws Exception {
    AtomicInteger tried = new AtomicInteger();
    try (ServerSocket refusing = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
      Thread accepting = new Thread(() -> {
        while (!refusing.isClosed()) {
          try (Socket s = refusing.accept()) {
            tried.incrementAndGet();
          } catch (IOException e) {
            return; // It is closed.
          }
        }
      });
      accepting.start();
      String address = "127.0.0.1:" + refusing.getLocalPort();
      connect(String.join(",", relays.stream().map(Relay::address).toList()) + "," + address);
      int before = tried.get();
      lead(address);
      long begun = System.nanoTime();
      while (System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(4)) {
        assertEquals(own, put());
      }
      assertNotEquals(before, tried.get());
      // At once, after a pause of one second, and after one of two.
      assertTrue(tried.get() - before <= 3, tried.get() - before + " times");
    }
  }

  @Test
  void theLeaderGetsTheSameToken() throws Exception {
    client.close();
    members.forEach(m -> m.authorization = "Bearer t");
    client = Client.builder(String.join(",", relays.stream().map(Relay::address).toList())).token("t").connect();
    until(() -> !client.connectedTo().isEmpty());
    lead(relays.stream().map(Relay::address).filter(a -> !a.equals(client.connectedTo())).findFirst().orElseThrow());
    FakeMember other = members.get(leads.equals(relays.get(0).address()) ? 0 : 1);
    until(() -> put() == other);
  }
}
