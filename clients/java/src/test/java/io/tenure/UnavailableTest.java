package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.tenure.internal.line.Unreachable;
import io.tenure.testing.TenureServer;
import io.tenure.v1.CreateSessionRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a program is told when no member answers. */
@Timeout(600)
final class UnavailableTest {
  private static final long SOON_MINUTES = 5;
  private static final Duration SHORT = Duration.ofMillis(200);

  /** Opens a session again and again, until the error says this. */
  private static void tells(String uri, String what) {
    long until = System.nanoTime() + TimeUnit.MINUTES.toNanos(SOON_MINUTES);
    try (Client client = Client.connect(ConnectionString.parse(uri), SHORT)) {
      while (true) {
        TenureException e = assertThrows(TenureException.Unavailable.class, client::openSession);
        if (e.getMessage().contains(what)) {
          return;
        }
        assertTrue(System.nanoTime() < until, e.getMessage());
      }
    }
  }

  @Test
  void thatNobodyListens() {
    tells("tenure://127.0.0.1:1,127.0.0.1:2", "127.0.0.1:1 (connection refused)");
  }

  @Test
  void thatThePortIsForHttp() throws Exception {
    try (TenureServer server = TenureServer.start()) {
      tells("tenure://" + server.httpAddress(), server.httpAddress() + " (it speaks HTTP/1: is this an HTTP port?");
    }
  }

  @Test
  void thatTheMemberDemandsTls() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
      Thread accepting = new Thread(() -> {
        while (!socket.isClosed()) {
          try (Socket client = socket.accept()) {
            client.getInputStream().read();
            client.getOutputStream().write(new byte[] {0x15, 3, 3, 0, 2, 2, 40}); // A fatal alert.
            client.shutdownOutput();
            client.getInputStream().readAllBytes();
          } catch (IOException e) {
            continue; // The client left, or the test is over.
          }
        }
      });
      accepting.start();
      tells("tenure://127.0.0.1:" + socket.getLocalPort(), "it demands TLS: use tenures://");
    }
  }

  @Test
  void thatTheMemberHasNoTls() throws Exception {
    try (FakeMember member = new FakeMember()) {
      tells(member.uri().replace("tenure:", "tenures:"), "it has no TLS: use tenure://");
    }
  }

  @Test
  void thatThePortIsForPeers() throws Exception {
    try (FakeMember member = new FakeMember()) {
      member.create = (r, o) -> o.onError(
          Status.UNIMPLEMENTED.withDescription("unknown service tenure.v1.SessionService").asRuntimeException());
      tells(member.uri(), "it does not serve Tenure's API: is this a peer port?");
    }
  }

  @Test
  void anAddressThatIsNoMembersIsLeftForOneThatIs() throws Exception {
    try (FakeMember member = new FakeMember(); FakeMember peers = new FakeMember()) {
      peers.create = (r, o) -> o.onError(
          Status.UNIMPLEMENTED.withDescription("unknown service tenure.v1.SessionService").asRuntimeException());
      for (int i = 0; i < 10; i++) {
        try (Client client = Client.connect(peers.uri() + "," + member.uri().substring("tenure://".length()))) {
          client.openSession();
          member.next(CreateSessionRequest.class);
        }
      }
    }
  }

  @Test
  void thatAnAddressHasNoSuchName() {
    Throwable unknown = new RuntimeException(new UnknownHostException("h9: Name or service not known"));
    assertEquals("its name is not known",
        Unreachable.why(Status.UNAVAILABLE.withDescription("Unable to resolve host h9").withCause(unknown).asRuntimeException()));
  }

  @Test
  void howLongACallWaitsIsForTheProgramToSay() {
    ConnectionString nobody = ConnectionString.parse("tenure://127.0.0.1:1");
    try (Client client = Client.connect(nobody, SHORT)) {
      TenureException e = assertThrows(TenureException.Unavailable.class, () -> client.kv().find("k"));
      assertTrue(e.getMessage().contains("within 0.2 s; tried "), e.getMessage());
    }
    for (Duration none : new Duration[] {Duration.ZERO, SHORT.negated()}) {
      assertEquals(ErrorKind.INVALID_ARGUMENT,
          assertThrows(TenureException.class, () -> Client.connect(nobody, none)).kind());
    }
  }
}
