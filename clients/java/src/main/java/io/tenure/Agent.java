package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.catalog.Registrar;
import io.tenure.internal.catalog.RegistrationCore;
import io.tenure.internal.session.ClientCore;
import io.tenure.v1.AgentServiceGrpc;
import io.tenure.v1.GetAgentRequest;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The agent of a machine: it times the checks of what is registered there. Any thread can use it. */
public final class Agent implements AutoCloseable {
  private static final String ADDRESS = "127.0.0.1:7404";

  private final Client client;

  Agent(Client client) {
    this.client = client;
  }

  /**
   * Returns the agent of this machine, at the address that the environment variable TENURE_AGENT has, or at 127.0.0.1:7404. It does not
   * wait for the agent.
   *
   * @return the agent
   */
  public static Agent open() {
    return open(Optional.ofNullable(System.getenv("TENURE_AGENT")).filter(a -> !a.isEmpty()).orElse(ADDRESS));
  }

  /**
   * Returns an agent, which is called without a token, and without TLS unless the address starts with {@code tenures://}: then the
   * variables of the environment for TLS (TENURE_CA_FILE and so on) count for the agent. It does not wait for the agent.
   *
   * @param address where it serves gRPC, host:port, or {@code tenures://host:port} for an agent with TLS
   * @return the agent
   * @throws TenureException of kind INVALID_ARGUMENT if that is not an address, or TLS_FAILED if a file of TLS cannot be used
   */
  public static Agent open(String address) {
    return builder(address).open();
  }

  /**
   * Returns an agent; see {@link #open(String)}.
   *
   * @param address where it serves gRPC, host:port, or {@code tenures://host:port} for an agent with TLS
   * @param callTimeout how long calls wait for the agent
   * @return the agent
   * @throws TenureException of kind INVALID_ARGUMENT if that is not an address, or TLS_FAILED if a file of TLS cannot be used
   */
  public static Agent open(String address, Duration callTimeout) {
    return builder(address).callTimeout(callTimeout).open();
  }

  /**
   * Returns what opens an agent with settings of its own, such as certificates.
   *
   * @param address where it serves gRPC, host:port, or {@code tenures://host:port} for an agent with TLS
   * @return the builder
   * @throws TenureException of kind INVALID_ARGUMENT if that is not an address
   */
  public static AgentBuilder builder(String address) {
    if (address.replaceFirst("^tenures?://", "").chars().anyMatch(c -> "/?,".indexOf(c) >= 0)) {
      throw Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
          "\"" + address + "\" is not the address of an agent, host:port or tenures://host:port");
    }
    return new AgentBuilder(ConnectionString.parse(address), System.getenv());
  }

  /**
   * Registers an instance of a service, until the registration or this is closed. The library keeps its check passing, until {@link
   * Registration#set} says otherwise. The agent turns the check critical if it gets no report within {@link ServiceOptions#withTtl}:
   * when the process died, is stopped, or hangs in {@link ServiceOptions#withHealth}. It waits up to 5 s for the catalog to have it, and
   * succeeds even if the agent cannot reach the cluster.
   *
   * @param service what is registered
   * @return the registration
   */
  public Registration register(ServiceOptions service) {
    return new Registration(Await.of(registerInner(service)));
  }

  /**
   * Registers an instance of a service; see {@link #register}.
   *
   * @param service what is registered
   * @return a future of the registration
   */
  public CompletableFuture<Registration> registerAsync(ServiceOptions service) {
    return client.core().loop.shown(registerInner(service), Registration::new, RegistrationCore::closeAsync);
  }

  private CompletableFuture<RegistrationCore> registerInner(ServiceOptions service) {
    ClientCore core = client.core();
    return Futures.compose(core.read(AgentServiceGrpc.getGetAgentMethod(), GetAgentRequest::getDefaultInstance), r ->
        RegistrationCore.open(core, new Registrar.AtAgent(core), service.withNode(r.getNode()).plan()));
  }

  /** Deregisters what was registered through it, and ends its threads. Closing it again does nothing. */
  @Override
  public void close() {
    client.close();
  }
}
