package io.tenure.internal.catalog;

import com.google.protobuf.ByteString;
import io.grpc.MethodDescriptor;
import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.Health;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Calls;
import io.tenure.internal.session.ClientCore;
import io.tenure.v1.AddAgentServiceRequest;
import io.tenure.v1.AgentServiceGrpc;
import io.tenure.v1.CatalogServiceGrpc;
import io.tenure.v1.DeregisterServiceRequest;
import io.tenure.v1.ListAgentChecksRequest;
import io.tenure.v1.Node;
import io.tenure.v1.RegisterNodeRequest;
import io.tenure.v1.RemoveAgentServiceRequest;
import io.tenure.v1.ReportCheckRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Where a registration is kept: an agent or the catalog. */
public interface Registrar {
  /** How often a report is due that says nothing new. */
  Duration repeat();

  /** Writes instance and check, once for each key. If an error says that nothing was applied, neither was written. */
  CompletableFuture<Void> register(ServicePlan s, Health h, ByteString key, Calls.Patience patience);

  /** Ends when a register whose answer is lost will not be applied any more. */
  CompletableFuture<Void> settle(ServicePlan s, Health h, ByteString key, Duration wait);

  /** Writes how the check is, and whatever else is missing, within a time. */
  CompletableFuture<Void> report(ServicePlan s, Health h, Duration wait);

  /** Deletes instance and check. */
  CompletableFuture<Void> deregister(ServicePlan s, Duration wait);

  /** Registers in the catalog itself. What is there already changes nothing. */
  record Catalog(ClientCore core) implements Registrar {
    /** In case another client removed it. */
    private static final Duration REPEAT = Duration.ofMinutes(1);

    @Override
    public Duration repeat() {
      return REPEAT;
    }

    @Override
    public CompletableFuture<Void> register(ServicePlan s, Health h, ByteString key, Calls.Patience patience) {
      RegisterNodeRequest request = RegisterNodeRequest.newBuilder().setNode(Node.newBuilder().setName(s.node()))
          .setSkipNodeUpdate(true).addServices(s.service()).addChecks(s.check(h)).setOptions(once(key)).build();
      return change(CatalogServiceGrpc.getRegisterNodeMethod(), request, patience);
    }

    /** Asks the same again: then the cluster has written it for certain, and does not do so later. */
    @Override
    public CompletableFuture<Void> settle(ServicePlan s, Health h, ByteString key, Duration wait) {
      return register(s, h, key, core.patience(wait));
    }

    @Override
    public CompletableFuture<Void> report(ServicePlan s, Health h, Duration wait) {
      return register(s, h, ClientCore.randomBytes(ClientCore.ID_BYTES), core.patience(wait));
    }

    @Override
    public CompletableFuture<Void> deregister(ServicePlan s, Duration wait) {
      return change(CatalogServiceGrpc.getDeregisterServiceMethod(), DeregisterServiceRequest.newBuilder()
          .setNode(s.node()).setServiceId(s.id()).setOptions(once(ClientCore.randomBytes(ClientCore.ID_BYTES))).build(), core.patience(wait));
    }

    private <Q, R> CompletableFuture<Void> change(MethodDescriptor<Q, R> method, Q request, Calls.Patience patience) {
      return Futures.map(core.onLoop(() -> core.calls.change(method, request, patience)), r -> null);
    }

    private static io.tenure.v1.CallOptions once(ByteString key) {
      return io.tenure.v1.CallOptions.newBuilder().setIdempotencyKey(key).build();
    }
  }

  /** Registers at an agent. Its calls can all be made again. */
  record AtAgent(ClientCore core) implements Registrar {
    /** How long a registration waits for the catalog to have it, and how often it looks. */
    private static final Duration SETTLE = Duration.ofSeconds(5);
    private static final Duration LOOK = Duration.ofMillis(20);

    @Override
    public Duration repeat() {
      return Duration.ZERO;
    }

    @Override
    public CompletableFuture<Void> register(ServicePlan s, Health h, ByteString key, Calls.Patience patience) {
      CompletableFuture<Void> added = call(core, AgentServiceGrpc.getAddAgentServiceMethod(),
          AddAgentServiceRequest.newBuilder().setService(s.service()).addChecks(s.check(h)).build(), patience);
      // An agent keeps the status of a check that it had before.
      return Futures.compose(added, v -> applied(
          Futures.compose(reportOnce(s, h, patience), reported -> settled(s, core.clock.nanos()))));
    }

    @Override
    public CompletableFuture<Void> settle(ServicePlan s, Health h, ByteString key, Duration wait) {
      return CompletableFuture.completedFuture(null); // What is removed at an agent is removed after what was added there.
    }

    /** Returns the end of something that follows what was applied. */
    private static CompletableFuture<Void> applied(CompletableFuture<Void> rest) {
      CompletableFuture<Void> told = new CompletableFuture<>();
      rest.whenComplete((v, error) -> {
        if (error == null) {
          told.complete(null);
        } else {
          told.completeExceptionally(Futures.error(error) instanceof TenureException e ? Exceptions.with(e, Applied.UNKNOWN) : error);
        }
      });
      return told;
    }

    /** Ends when the catalog has the check. An agent that is cut off from the cluster writes it later. */
    private CompletableFuture<Void> settled(ServicePlan s, long since) {
      return Futures.repeat(() -> Futures.compose(core.read(AgentServiceGrpc.getListAgentChecksMethod(),
          () -> ListAgentChecksRequest.newBuilder().setServiceId(s.id()).build()), r -> {
            boolean in = r.getChecksList().stream()
                .anyMatch(c -> c.getInSync() && c.getCheck().getCheckId().equals(s.checkId()));
            CompletableFuture<Boolean> again = new CompletableFuture<>();
            if (in || core.clock.nanos() - since >= SETTLE.toNanos()) {
              again.complete(false);
            } else {
              core.loop.after(LOOK.toNanos(), () -> again.complete(true));
            }
            return again;
          }), again -> again);
    }

    private CompletableFuture<Void> reportOnce(ServicePlan s, Health h, Calls.Patience patience) {
      return call(core, AgentServiceGrpc.getReportCheckMethod(), ReportCheckRequest.newBuilder()
          .setCheckId(s.checkId()).setStatus(Wire.status(h.status())).setOutput(h.output()).build(), patience);
    }

    @Override
    public CompletableFuture<Void> report(ServicePlan s, Health h, Duration wait) {
      CompletableFuture<Void> told = new CompletableFuture<>();
      reportOnce(s, h, core.patience(wait)).whenComplete((v, error) -> {
        if (error != null && Futures.error(error) instanceof TenureException e && e.kind() == ErrorKind.CHECK_NOT_FOUND) {
          Futures.connect(register(s, h, ByteString.EMPTY, core.patience(wait)), told); // The agent has lost it.
        } else if (error != null) {
          told.completeExceptionally(Futures.error(error));
        } else {
          told.complete(null);
        }
      });
      return told;
    }

    @Override
    public CompletableFuture<Void> deregister(ServicePlan s, Duration wait) {
      return call(core, AgentServiceGrpc.getRemoveAgentServiceMethod(),
          RemoveAgentServiceRequest.newBuilder().setServiceId(s.id()).build(), core.patience(wait));
    }
  }

  /** Makes a call that may be made again. */
  private static <Q, R> CompletableFuture<Void> call(
      ClientCore core, MethodDescriptor<Q, R> method, Q request, Calls.Patience patience) {
    return Futures.map(core.onLoop(() -> core.calls.call(method, request, patience)), r -> null);
  }
}
