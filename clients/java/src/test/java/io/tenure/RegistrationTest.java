package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import io.grpc.InsecureServerCredentials;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.catalog.Registrar;
import io.tenure.internal.catalog.RegistrationCore;
import io.tenure.internal.catalog.ServicePlan;
import io.tenure.internal.line.Calls;
import io.tenure.v1.AddAgentServiceRequest;
import io.tenure.v1.AddAgentServiceResponse;
import io.tenure.v1.AgentServiceGrpc;
import io.tenure.v1.CatalogServiceGrpc;
import io.tenure.v1.DeregisterServiceRequest;
import io.tenure.v1.DeregisterServiceResponse;
import io.tenure.v1.GetAgentRequest;
import io.tenure.v1.GetAgentResponse;
import io.tenure.v1.RegisterNodeRequest;
import io.tenure.v1.RegisterNodeResponse;
import io.tenure.v1.RemoveAgentServiceRequest;
import io.tenure.v1.RemoveAgentServiceResponse;
import io.tenure.v1.ReportCheckRequest;
import io.tenure.v1.ReportCheckResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A registration that nobody has must not stay in the catalog. */
final class RegistrationTest extends WithFakeMember {
  private final BlockingQueue<StreamObserver<RegisterNodeResponse>> registers = new LinkedBlockingQueue<>();
  private final BlockingQueue<ByteString> keys = new LinkedBlockingQueue<>();
  private final BlockingQueue<String> deregistered = new LinkedBlockingQueue<>();

  private final class Catalog extends CatalogServiceGrpc.CatalogServiceImplBase {
    @Override
    public void registerNode(RegisterNodeRequest r, StreamObserver<RegisterNodeResponse> o) {
      keys.add(r.getOptions().getIdempotencyKey());
      registers.add(o);
    }

    @Override
    public void deregisterService(DeregisterServiceRequest r, StreamObserver<DeregisterServiceResponse> o) {
      deregistered.add(registers.isEmpty() ? r.getServiceId() : "after the next registration");
      FakeMember.reply(o, DeregisterServiceResponse.getDefaultInstance());
    }
  }

  /** An agent that takes an instance, and no report about it. */
  private final class HalfAnAgent extends AgentServiceGrpc.AgentServiceImplBase {
    @Override
    public void getAgent(GetAgentRequest r, StreamObserver<GetAgentResponse> o) {
      FakeMember.reply(o, GetAgentResponse.newBuilder().setNode("n1").build());
    }

    @Override
    public void addAgentService(AddAgentServiceRequest r, StreamObserver<AddAgentServiceResponse> o) {
      FakeMember.reply(o, AddAgentServiceResponse.getDefaultInstance());
    }

    @Override
    public void reportCheck(ReportCheckRequest r, StreamObserver<ReportCheckResponse> o) {
      o.onError(FakeMember.refusal(Code.INVALID_ARGUMENT_VALUE, "INVALID_ARGUMENT"));
    }

    @Override
    public void removeAgentService(RemoveAgentServiceRequest r, StreamObserver<RemoveAgentServiceResponse> o) {
      deregistered.add(r.getServiceId());
      FakeMember.reply(o, RemoveAgentServiceResponse.getDefaultInstance());
    }
  }

  @Override
  @BeforeEach
  void start() throws IOException {
    member = new FakeMember(InsecureServerCredentials.create(), new Catalog(), new HalfAnAgent());
    client = client(member.uri());
  }

  private static ServiceOptions service(String id) {
    return ServiceOptions.named("web").withId(id).withNode("n1");
  }

  private static void answer(StreamObserver<RegisterNodeResponse> o) {
    FakeMember.reply(o, RegisterNodeResponse.getDefaultInstance());
  }

  @Test
  void oneThatIsCancelledIsTakenBack() throws Exception {
    CompletableFuture<Registration> registration = client.registerAsync(service("a"));
    StreamObserver<RegisterNodeResponse> written = next(registers);
    registration.cancel(true);
    answer(written);
    assertEquals("a", next(deregistered));
  }

  @Test
  void oneThatIsInterruptedIsTakenBack() throws Exception {
    CompletableFuture<Boolean> flag = new CompletableFuture<>();
    CompletableFuture<ErrorKind> kind = new CompletableFuture<>();
    Thread caller = new Thread(() -> {
      kind.complete(assertThrows(TenureException.class, () -> client.register(service("a"))).kind());
      flag.complete(Thread.interrupted());
    });
    caller.start();
    StreamObserver<RegisterNodeResponse> written = next(registers);
    caller.interrupt(); // Before it is sent, an interrupt drops the request.
    assertEquals(ErrorKind.CANCELLED, get(kind));
    assertTrue(get(flag));
    answer(written);
    assertEquals("a", next(deregistered));
  }

  @Test
  void oneWhoseAnswerIsLostIsTakenBack() throws Exception {
    CompletableFuture<Registration> registration = client.registerAsync(service("a"));
    assertNotNull(next(registers));
    passes(Client.DEFAULT_CALL_TIMEOUT.toSeconds() + 1);
    answer(next(registers)); // A member may have the first one still, and write it after the instance is deleted.
    assertEquals(next(keys), next(keys));
    assertEquals(Applied.UNKNOWN, failure(registration).applied());
    assertEquals("a", next(deregistered));
  }

  @Test
  void oneThatIsRefusedAfterAnAnswerWasLostIsTakenBack() throws Exception {
    CompletableFuture<Registration> registration = client.registerAsync(service("a"));
    next(registers).onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "OUTCOME_UNKNOWN", "applied", "unknown"));
    next(registers).onError(FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, "PERMISSION_DENIED"));
    next(registers).onError(FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, "PERMISSION_DENIED")); // Asked for to be certain.
    assertEquals("a", next(deregistered));
    assertEquals(Applied.UNKNOWN, failure(registration).applied());
  }

  @Test
  void oneThatIsRefusedLeavesTheCatalogAsItIs() throws Exception {
    CompletableFuture<Registration> refused = client.registerAsync(service("a"));
    next(registers).onError(FakeMember.refusal(Code.INVALID_ARGUMENT_VALUE, "INVALID_ARGUMENT"));
    assertEquals(Applied.NO, failure(refused).applied());
    CompletableFuture<Registration> other = client.registerAsync(service("b"));
    answer(next(registers));
    get(other).close();
    assertEquals("b", next(deregistered));
  }

  @Test
  void theNextOneOfTheSameInstanceComesAfterThat() throws Exception {
    CompletableFuture<Registration> first = client.registerAsync(service("a"));
    StreamObserver<RegisterNodeResponse> written = next(registers);
    first.cancel(true);
    CompletableFuture<Registration> second = client.registerAsync(service("a"));
    answer(written);
    assertEquals("a", next(deregistered));
    answer(next(registers));
    get(second);
    assertEquals(0, deregistered.size());
  }

  @Test
  void oneThatAnAgentTookInPartIsTakenBack() throws Exception {
    try (Agent agent = Agent.open("127.0.0.1:" + member.port())) {
      assertEquals(Applied.UNKNOWN, failure(agent.registerAsync(ServiceOptions.named("web").withId("a"))).applied());
      assertEquals("a", next(deregistered));
    }
  }

  /** A place for registrations in whose calls our own code fails as it is told. */
  private static final class Faulty implements Registrar {
    final BlockingQueue<Health> reports = new LinkedBlockingQueue<>();
    final AtomicReference<RuntimeException> fault = new AtomicReference<>();

    private CompletableFuture<Void> end() {
      if (fault.get() != null) {
        throw fault.get();
      }
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public Duration repeat() {
      return Duration.ZERO;
    }

    @Override
    public CompletableFuture<Void> register(ServicePlan s, Health h, ByteString key, Calls.Patience patience) {
      return end();
    }

    @Override
    public CompletableFuture<Void> settle(ServicePlan s, Health h, ByteString key, Duration wait) {
      return end();
    }

    @Override
    public CompletableFuture<Void> report(ServicePlan s, Health h, Duration wait) {
      reports.add(h);
      return end();
    }

    @Override
    public CompletableFuture<Void> deregister(ServicePlan s, Duration wait) {
      return end();
    }
  }

  @Test
  void aFaultInAReportStopsNeitherTheNextNorItsCaller() throws Exception {
    Faulty at = new Faulty();
    ServicePlan often = service("a").withTtl(Duration.ofSeconds(1)).plan();
    RegistrationCore r = new RegistrationCore(client.core(), at, often, Health.passing());
    at.fault.set(new IllegalStateException("a fault"));
    r.begin();
    next(at.reports);
    next(at.reports);
    assertThrows(ExecutionException.class, () -> get(r.setAsync(Health.passing())));
    assertThrows(ExecutionException.class, () -> get(r.closeAsync()));
  }

  @Test
  void theEndOfTheClientWaitsUntilItIsTakenBack() throws Exception {
    CompletableFuture<Registration> registration = client.registerAsync(service("a"));
    StreamObserver<RegisterNodeResponse> written = next(registers);
    registration.cancel(true);
    CompletableFuture<Void> closed = CompletableFuture.runAsync(client::close);
    until(() -> client.core().closing);
    answer(written);
    get(closed);
    assertEquals("a", deregistered.poll());
  }
}
