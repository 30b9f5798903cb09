package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.InsecureServerCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettySslContextServerCredentials;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.AgentServiceGrpc;
import io.tenure.v1.GetAgentRequest;
import io.tenure.v1.GetAgentResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** TLS: whom a client trusts, what it says when that fails, and files that are replaced while it runs. */
@Timeout(600)
final class TlsTest {
  /** Certificates for tests; see main.go there. */
  private static final Path CERTS = Path.of("..", "..", "test", "certs").toAbsolutePath().normalize();
  private static final String CA = "ca_file=" + CERTS.resolve("one/ca.crt");
  private static final Duration LONG = Duration.ofMinutes(5);

  /** Returns how a member of an authority speaks TLS; {@code demand} is for clients with a certificate of the same. */
  private static ServerCredentials member(String folder, String pair, boolean demand) throws IOException {
    TlsServerCredentials.Builder builder = TlsServerCredentials.newBuilder()
        .keyManager(CERTS.resolve(folder + "/" + pair + ".crt").toFile(), CERTS.resolve(folder + "/" + pair + ".key").toFile());
    if (demand) {
      builder.trustManager(CERTS.resolve(folder + "/ca.crt").toFile())
          .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
    }
    return builder.build();
  }

  private static String pair(String folder) {
    return "&cert_file=" + CERTS.resolve(folder + "/client.crt") + "&key_file=" + CERTS.resolve(folder + "/client.key");
  }

  private static void succeeds(ClientBuilder builder) {
    try (Client client = builder.callTimeout(LONG).connect()) {
      client.kv().put("k", "v");
    }
  }

  private static void succeeds(String uri) {
    succeeds(Client.builder(uri));
  }

  private static void fails(String uri, String why) {
    TenureException e = assertThrows(TenureException.class, () -> succeeds(uri));
    assertEquals(ErrorKind.TLS_FAILED, e.kind(), e.getMessage());
    assertEquals(Applied.NO, e.applied());
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  @Test
  void aMemberIsTrustedByItsAuthority() throws Exception {
    try (FakeMember m = new FakeMember(member("one", "member", false))) {
      String at = "127.0.0.1:" + m.port();
      succeeds("tenures://" + at + "/app?" + CA);
      succeeds(at + "?" + CA + "&server_name=localhost");
      succeeds(at + "?" + CA + pair("one"));
      succeeds(Client.builder(at).caFile(CERTS.resolve("one/ca.crt")));
      succeeds(Client.builder(at).credentials(
          TlsChannelCredentials.newBuilder().trustManager(CERTS.resolve("one/ca.crt").toFile()).build()));
      fails("tenures://" + at, "is not signed by a trusted authority: set ca_file");
      fails(at + "?ca_file=" + CERTS.resolve("two/ca.crt"), "is not signed by a trusted authority: set ca_file");
      fails(at + "?" + CA + "&server_name=h1", "is for another name: connect by a name that it has, or set server_name");
    }
  }

  @Test
  void anotherName() throws Exception {
    try (FakeMember m = new FakeMember(member("one", "elsewhere", false))) {
      succeeds("127.0.0.1:" + m.port() + "?" + CA + "&server_name=elsewhere.test");
      fails("127.0.0.1:" + m.port() + "?" + CA, "is for another name: connect by a name that it has, or set server_name");
    }
  }

  @Test
  void everyCallLearnsThatTlsFails() throws Exception {
    try (FakeMember old = new FakeMember(member("one", "expired", false)); Relay relay = new Relay(old);
        Client client = Client.builder(relay.address() + "?" + CA).callTimeout(LONG).connect()) {
      expired(assertThrows(TenureException.class, () -> client.kv().find("k")));
      expired(assertThrows(TenureException.class, client::openSession));
      expired(assertThrows(TenureException.class, () -> client.watch(WatchOptions.key("k")).begin()));
      try (FakeMember renewed = new FakeMember(member("one", "member", false))) {
        relay.to(renewed);
        client.kv().put("k", "v");
      }
    }
  }

  private static void expired(TenureException e) {
    assertEquals(ErrorKind.TLS_FAILED, e.kind(), e.getMessage());
    assertTrue(e.getMessage().contains("has expired or is not valid yet"), e.getMessage());
  }

  @Test
  void aMemberMayDemandACertificate() throws Exception {
    try (FakeMember m = new FakeMember(member("one", "member", true))) {
      String at = "127.0.0.1:" + m.port() + "?" + CA;
      succeeds(at + pair("one"));
      fails(at, "demands a client certificate: set cert_file and key_file");
      fails(at + pair("two"), "refuses the client certificate");
    }
  }

  @Test
  void anOldVersionOfTlsIsNotSpoken() throws Exception {
    SslContext old = GrpcSslContexts.configure(SslContextBuilder.forServer(
        CERTS.resolve("one/member.crt").toFile(), CERTS.resolve("one/member.key").toFile())).protocols("TLSv1.2").build();
    try (FakeMember m = new FakeMember(NettySslContextServerCredentials.create(old)); Client client =
        Client.builder("127.0.0.1:" + m.port() + "?" + CA).callTimeout(Duration.ofSeconds(2)).connect()) {
      TenureException e = assertThrows(TenureException.class, () -> client.kv().put("k", "v"));
      assertEquals(ErrorKind.UNAVAILABLE, e.kind(), e.getMessage());
    }
  }

  @ParameterizedTest
  @CsvSource({
      "ca_file=/there/is/none, ca_file /there/is/none: no such file",
      "ca_file=CERTS/one/member.key, has no certificate in PEM form",
      "cert_file=CERTS/one/client.crt&key_file=CERTS/two/client.key, are not a pair",
      "cert_file=CERTS/one/client.crt&key_file=CERTS/one/client.crt, are not a pair"
  })
  void filesOfNoUse(String query, String why) {
    TenureException e = assertThrows(
        TenureException.class, () -> Client.connect("h1?" + query.replace("CERTS", CERTS.toString())));
    assertEquals(ErrorKind.TLS_FAILED, e.kind());
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  private static void copy(String folder, Path to) throws IOException {
    for (String name : new String[] {"ca.crt", "client.crt", "client.key"}) {
      Path fresh = Files.copy(CERTS.resolve(folder).resolve(name), to.resolve(name + ".new"));
      Files.move(fresh, to.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }
  }

  /** Returns a member that demands certificates, whose sessions outlast a slow machine. */
  private static FakeMember strict(String folder) throws IOException {
    FakeMember m = new FakeMember(member(folder, "member", true));
    m.ttl = Duration.ofMinutes(10);
    return m;
  }

  @Test
  void filesAreReadForEachConnection(@TempDir Path dir) throws Exception {
    copy("one", dir);
    LinkedBlockingQueue<SessionState> states = new LinkedBlockingQueue<>();
    try (FakeMember one = strict("one"); FakeMember two = strict("two"); Relay relay = new Relay(one);
        Client client = Client.builder(relay.address() + "?ttl=10m&ca_file=" + dir.resolve("ca.crt")
            + "&cert_file=" + dir.resolve("client.crt") + "&key_file=" + dir.resolve("client.key")).callTimeout(LONG).connect()) {
      Session session = client.openSession(SessionOptions.defaults(), LONG, change -> states.add(change.to()));
      for (String folder : new String[] {"two", "one"}) {
        await(states, SessionState.CONNECTED);
        copy(folder, dir);
        relay.to(folder.equals("two") ? two : one);
        await(states, SessionState.SUSPENDED);
        session.kv().put("k", "v");
      }
      await(states, SessionState.CONNECTED);
      Files.delete(dir.resolve("client.key"));
      relay.to(one);
      await(states, SessionState.SUSPENDED); // What fails later is a link that is down.
      copy("one", dir);
      await(states, SessionState.CONNECTED);
    }
  }

  private static void await(LinkedBlockingQueue<SessionState> states, SessionState wanted) throws InterruptedException {
    SessionState state;
    do {
      state = states.poll(LONG.toSeconds(), TimeUnit.SECONDS);
      assertTrue(state != null, "waited for " + wanted);
    } while (state != wanted);
  }

  /** An agent that says who it is, and takes nothing. */
  private static final class Nameless extends AgentServiceGrpc.AgentServiceImplBase {
    @Override
    public void getAgent(GetAgentRequest r, StreamObserver<GetAgentResponse> o) {
      FakeMember.reply(o, GetAgentResponse.newBuilder().setNode("n1").build());
    }
  }

  /** Returns why a registration fails: an agent that is reached refuses it, as it does not know the call. */
  private static ErrorKind registering(AgentBuilder builder) {
    return assertThrows(TenureException.class, () -> {
      try (Agent agent = builder.callTimeout(LONG).open()) {
        agent.register(ServiceOptions.named("web"));
      }
    }).kind();
  }

  @Test
  void anAgentIsReachedWithTls() throws Exception {
    try (FakeMember m = new FakeMember(member("one", "member", true), new Nameless());
        FakeMember clear = new FakeMember(InsecureServerCredentials.create(), new Nameless())) {
      String at = "127.0.0.1:" + m.port();
      Path ca = CERTS.resolve("one/ca.crt");
      Path cert = CERTS.resolve("one/client.crt");
      Path key = CERTS.resolve("one/client.key");
      ErrorKind reached = registering(Agent.builder("127.0.0.1:" + clear.port()));
      assertNotEquals(ErrorKind.TLS_FAILED, reached);
      assertEquals(reached, registering(Agent.builder(at).caFile(ca).certificateFiles(cert, key)));
      assertEquals(reached, registering(Agent.builder("tenures://" + at).caFile(ca).certificateFiles(cert, key)));
      assertEquals(ErrorKind.TLS_FAILED, registering(Agent.builder("tenures://" + at)));
      assertEquals(ErrorKind.TLS_FAILED, registering(Agent.builder(at).caFile(ca)));
      assertEquals(ErrorKind.TLS_FAILED, registering(Agent.builder(at).caFile(Path.of("not/there"))));
      assertEquals(ErrorKind.INVALID_ARGUMENT, registering(Agent.builder("tenure://" + at).caFile(ca)));
      for (String none : List.of("tenures://" + at + "/app", "tenures://" + at + "?" + CA, "a,b", "https://" + at)) {
        assertEquals(ErrorKind.INVALID_ARGUMENT,
            assertThrows(TenureException.class, () -> Agent.builder(none)).kind(), none);
      }

      // The environment says the rest once the address asks for TLS. By itself, and a token in it, are about members.
      Map<String, String> environment = Map.of("TENURE_CA_FILE", ca.toString(), "TENURE_CERT_FILE", cert.toString(),
          "TENURE_KEY_FILE", key.toString(), "TENURE_TOKEN_FILE", "not/there");
      assertEquals(reached, registering(new AgentBuilder(ConnectionString.parse("tenures://" + at), environment)));
      assertEquals(reached, registering(new AgentBuilder(ConnectionString.parse("127.0.0.1:" + clear.port()), environment)));
    }
  }
}
