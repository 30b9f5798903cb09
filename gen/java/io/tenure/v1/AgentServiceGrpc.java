package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * AgentService is what the agent of a machine serves: it registers the services and checks of the machine, runs the
 * checks, and keeps the catalog like itself. Headers of its responses have no revision and no term: an agent is not part
 * of the cluster.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class AgentServiceGrpc {

  private AgentServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.AgentService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetAgentRequest,
      io.tenure.v1.GetAgentResponse> getGetAgentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetAgent",
      requestType = io.tenure.v1.GetAgentRequest.class,
      responseType = io.tenure.v1.GetAgentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetAgentRequest,
      io.tenure.v1.GetAgentResponse> getGetAgentMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetAgentRequest, io.tenure.v1.GetAgentResponse> getGetAgentMethod;
    if ((getGetAgentMethod = AgentServiceGrpc.getGetAgentMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getGetAgentMethod = AgentServiceGrpc.getGetAgentMethod) == null) {
          AgentServiceGrpc.getGetAgentMethod = getGetAgentMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetAgentRequest, io.tenure.v1.GetAgentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetAgent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetAgentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetAgentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("GetAgent"))
              .build();
        }
      }
    }
    return getGetAgentMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.AddAgentServiceRequest,
      io.tenure.v1.AddAgentServiceResponse> getAddAgentServiceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddAgentService",
      requestType = io.tenure.v1.AddAgentServiceRequest.class,
      responseType = io.tenure.v1.AddAgentServiceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.AddAgentServiceRequest,
      io.tenure.v1.AddAgentServiceResponse> getAddAgentServiceMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.AddAgentServiceRequest, io.tenure.v1.AddAgentServiceResponse> getAddAgentServiceMethod;
    if ((getAddAgentServiceMethod = AgentServiceGrpc.getAddAgentServiceMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getAddAgentServiceMethod = AgentServiceGrpc.getAddAgentServiceMethod) == null) {
          AgentServiceGrpc.getAddAgentServiceMethod = getAddAgentServiceMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.AddAgentServiceRequest, io.tenure.v1.AddAgentServiceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddAgentService"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AddAgentServiceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AddAgentServiceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("AddAgentService"))
              .build();
        }
      }
    }
    return getAddAgentServiceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.RemoveAgentServiceRequest,
      io.tenure.v1.RemoveAgentServiceResponse> getRemoveAgentServiceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RemoveAgentService",
      requestType = io.tenure.v1.RemoveAgentServiceRequest.class,
      responseType = io.tenure.v1.RemoveAgentServiceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.RemoveAgentServiceRequest,
      io.tenure.v1.RemoveAgentServiceResponse> getRemoveAgentServiceMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.RemoveAgentServiceRequest, io.tenure.v1.RemoveAgentServiceResponse> getRemoveAgentServiceMethod;
    if ((getRemoveAgentServiceMethod = AgentServiceGrpc.getRemoveAgentServiceMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getRemoveAgentServiceMethod = AgentServiceGrpc.getRemoveAgentServiceMethod) == null) {
          AgentServiceGrpc.getRemoveAgentServiceMethod = getRemoveAgentServiceMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.RemoveAgentServiceRequest, io.tenure.v1.RemoveAgentServiceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RemoveAgentService"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RemoveAgentServiceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RemoveAgentServiceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("RemoveAgentService"))
              .build();
        }
      }
    }
    return getRemoveAgentServiceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.AddAgentCheckRequest,
      io.tenure.v1.AddAgentCheckResponse> getAddAgentCheckMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddAgentCheck",
      requestType = io.tenure.v1.AddAgentCheckRequest.class,
      responseType = io.tenure.v1.AddAgentCheckResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.AddAgentCheckRequest,
      io.tenure.v1.AddAgentCheckResponse> getAddAgentCheckMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.AddAgentCheckRequest, io.tenure.v1.AddAgentCheckResponse> getAddAgentCheckMethod;
    if ((getAddAgentCheckMethod = AgentServiceGrpc.getAddAgentCheckMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getAddAgentCheckMethod = AgentServiceGrpc.getAddAgentCheckMethod) == null) {
          AgentServiceGrpc.getAddAgentCheckMethod = getAddAgentCheckMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.AddAgentCheckRequest, io.tenure.v1.AddAgentCheckResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddAgentCheck"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AddAgentCheckRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AddAgentCheckResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("AddAgentCheck"))
              .build();
        }
      }
    }
    return getAddAgentCheckMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.RemoveAgentCheckRequest,
      io.tenure.v1.RemoveAgentCheckResponse> getRemoveAgentCheckMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RemoveAgentCheck",
      requestType = io.tenure.v1.RemoveAgentCheckRequest.class,
      responseType = io.tenure.v1.RemoveAgentCheckResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.RemoveAgentCheckRequest,
      io.tenure.v1.RemoveAgentCheckResponse> getRemoveAgentCheckMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.RemoveAgentCheckRequest, io.tenure.v1.RemoveAgentCheckResponse> getRemoveAgentCheckMethod;
    if ((getRemoveAgentCheckMethod = AgentServiceGrpc.getRemoveAgentCheckMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getRemoveAgentCheckMethod = AgentServiceGrpc.getRemoveAgentCheckMethod) == null) {
          AgentServiceGrpc.getRemoveAgentCheckMethod = getRemoveAgentCheckMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.RemoveAgentCheckRequest, io.tenure.v1.RemoveAgentCheckResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RemoveAgentCheck"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RemoveAgentCheckRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RemoveAgentCheckResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("RemoveAgentCheck"))
              .build();
        }
      }
    }
    return getRemoveAgentCheckMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListAgentServicesRequest,
      io.tenure.v1.ListAgentServicesResponse> getListAgentServicesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListAgentServices",
      requestType = io.tenure.v1.ListAgentServicesRequest.class,
      responseType = io.tenure.v1.ListAgentServicesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListAgentServicesRequest,
      io.tenure.v1.ListAgentServicesResponse> getListAgentServicesMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListAgentServicesRequest, io.tenure.v1.ListAgentServicesResponse> getListAgentServicesMethod;
    if ((getListAgentServicesMethod = AgentServiceGrpc.getListAgentServicesMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getListAgentServicesMethod = AgentServiceGrpc.getListAgentServicesMethod) == null) {
          AgentServiceGrpc.getListAgentServicesMethod = getListAgentServicesMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListAgentServicesRequest, io.tenure.v1.ListAgentServicesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListAgentServices"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListAgentServicesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListAgentServicesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("ListAgentServices"))
              .build();
        }
      }
    }
    return getListAgentServicesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListAgentChecksRequest,
      io.tenure.v1.ListAgentChecksResponse> getListAgentChecksMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListAgentChecks",
      requestType = io.tenure.v1.ListAgentChecksRequest.class,
      responseType = io.tenure.v1.ListAgentChecksResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListAgentChecksRequest,
      io.tenure.v1.ListAgentChecksResponse> getListAgentChecksMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListAgentChecksRequest, io.tenure.v1.ListAgentChecksResponse> getListAgentChecksMethod;
    if ((getListAgentChecksMethod = AgentServiceGrpc.getListAgentChecksMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getListAgentChecksMethod = AgentServiceGrpc.getListAgentChecksMethod) == null) {
          AgentServiceGrpc.getListAgentChecksMethod = getListAgentChecksMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListAgentChecksRequest, io.tenure.v1.ListAgentChecksResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListAgentChecks"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListAgentChecksRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListAgentChecksResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("ListAgentChecks"))
              .build();
        }
      }
    }
    return getListAgentChecksMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ReportCheckRequest,
      io.tenure.v1.ReportCheckResponse> getReportCheckMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReportCheck",
      requestType = io.tenure.v1.ReportCheckRequest.class,
      responseType = io.tenure.v1.ReportCheckResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ReportCheckRequest,
      io.tenure.v1.ReportCheckResponse> getReportCheckMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ReportCheckRequest, io.tenure.v1.ReportCheckResponse> getReportCheckMethod;
    if ((getReportCheckMethod = AgentServiceGrpc.getReportCheckMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getReportCheckMethod = AgentServiceGrpc.getReportCheckMethod) == null) {
          AgentServiceGrpc.getReportCheckMethod = getReportCheckMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ReportCheckRequest, io.tenure.v1.ReportCheckResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReportCheck"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ReportCheckRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ReportCheckResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("ReportCheck"))
              .build();
        }
      }
    }
    return getReportCheckMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.SetMaintenanceRequest,
      io.tenure.v1.SetMaintenanceResponse> getSetMaintenanceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetMaintenance",
      requestType = io.tenure.v1.SetMaintenanceRequest.class,
      responseType = io.tenure.v1.SetMaintenanceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.SetMaintenanceRequest,
      io.tenure.v1.SetMaintenanceResponse> getSetMaintenanceMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.SetMaintenanceRequest, io.tenure.v1.SetMaintenanceResponse> getSetMaintenanceMethod;
    if ((getSetMaintenanceMethod = AgentServiceGrpc.getSetMaintenanceMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getSetMaintenanceMethod = AgentServiceGrpc.getSetMaintenanceMethod) == null) {
          AgentServiceGrpc.getSetMaintenanceMethod = getSetMaintenanceMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.SetMaintenanceRequest, io.tenure.v1.SetMaintenanceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetMaintenance"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.SetMaintenanceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.SetMaintenanceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("SetMaintenance"))
              .build();
        }
      }
    }
    return getSetMaintenanceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ReloadAgentRequest,
      io.tenure.v1.ReloadAgentResponse> getReloadAgentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReloadAgent",
      requestType = io.tenure.v1.ReloadAgentRequest.class,
      responseType = io.tenure.v1.ReloadAgentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ReloadAgentRequest,
      io.tenure.v1.ReloadAgentResponse> getReloadAgentMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ReloadAgentRequest, io.tenure.v1.ReloadAgentResponse> getReloadAgentMethod;
    if ((getReloadAgentMethod = AgentServiceGrpc.getReloadAgentMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getReloadAgentMethod = AgentServiceGrpc.getReloadAgentMethod) == null) {
          AgentServiceGrpc.getReloadAgentMethod = getReloadAgentMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ReloadAgentRequest, io.tenure.v1.ReloadAgentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReloadAgent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ReloadAgentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ReloadAgentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("ReloadAgent"))
              .build();
        }
      }
    }
    return getReloadAgentMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.LeaveAgentRequest,
      io.tenure.v1.LeaveAgentResponse> getLeaveAgentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "LeaveAgent",
      requestType = io.tenure.v1.LeaveAgentRequest.class,
      responseType = io.tenure.v1.LeaveAgentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.LeaveAgentRequest,
      io.tenure.v1.LeaveAgentResponse> getLeaveAgentMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.LeaveAgentRequest, io.tenure.v1.LeaveAgentResponse> getLeaveAgentMethod;
    if ((getLeaveAgentMethod = AgentServiceGrpc.getLeaveAgentMethod) == null) {
      synchronized (AgentServiceGrpc.class) {
        if ((getLeaveAgentMethod = AgentServiceGrpc.getLeaveAgentMethod) == null) {
          AgentServiceGrpc.getLeaveAgentMethod = getLeaveAgentMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.LeaveAgentRequest, io.tenure.v1.LeaveAgentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "LeaveAgent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.LeaveAgentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.LeaveAgentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AgentServiceMethodDescriptorSupplier("LeaveAgent"))
              .build();
        }
      }
    }
    return getLeaveAgentMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static AgentServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AgentServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AgentServiceStub>() {
        @java.lang.Override
        public AgentServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AgentServiceStub(channel, callOptions);
        }
      };
    return AgentServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static AgentServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AgentServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AgentServiceBlockingV2Stub>() {
        @java.lang.Override
        public AgentServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AgentServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return AgentServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static AgentServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AgentServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AgentServiceBlockingStub>() {
        @java.lang.Override
        public AgentServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AgentServiceBlockingStub(channel, callOptions);
        }
      };
    return AgentServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static AgentServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AgentServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AgentServiceFutureStub>() {
        @java.lang.Override
        public AgentServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AgentServiceFutureStub(channel, callOptions);
        }
      };
    return AgentServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * AgentService is what the agent of a machine serves: it registers the services and checks of the machine, runs the
   * checks, and keeps the catalog like itself. Headers of its responses have no revision and no term: an agent is not part
   * of the cluster.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * GetAgent returns what the agent is and how it does.
     * </pre>
     */
    default void getAgent(io.tenure.v1.GetAgentRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetAgentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetAgentMethod(), responseObserver);
    }

    /**
     * <pre>
     * AddAgentService registers an instance of a service, with checks. One with the same id is replaced, unless it is from
     * a file. Errors: INVALID_ARGUMENT, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    default void addAgentService(io.tenure.v1.AddAgentServiceRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AddAgentServiceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddAgentServiceMethod(), responseObserver);
    }

    /**
     * <pre>
     * RemoveAgentService deregisters an instance and its checks. A missing one is not an error. Errors: INVALID_ARGUMENT,
     * PERMISSION_DENIED for one from a file.
     * </pre>
     */
    default void removeAgentService(io.tenure.v1.RemoveAgentServiceRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RemoveAgentServiceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRemoveAgentServiceMethod(), responseObserver);
    }

    /**
     * <pre>
     * AddAgentCheck registers a check of the node or of an instance. One with the same id is replaced, unless it is from a
     * file. Errors: INVALID_ARGUMENT, SERVICE_NOT_FOUND, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    default void addAgentCheck(io.tenure.v1.AddAgentCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AddAgentCheckResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddAgentCheckMethod(), responseObserver);
    }

    /**
     * <pre>
     * RemoveAgentCheck deregisters a check. A missing one is not an error. Errors: INVALID_ARGUMENT, PERMISSION_DENIED for
     * one from a file.
     * </pre>
     */
    default void removeAgentCheck(io.tenure.v1.RemoveAgentCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RemoveAgentCheckResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRemoveAgentCheckMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListAgentServices lists the instances that the agent registers, ordered by id.
     * </pre>
     */
    default void listAgentServices(io.tenure.v1.ListAgentServicesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListAgentServicesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListAgentServicesMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListAgentChecks lists the checks that the agent runs, ordered by id.
     * </pre>
     */
    default void listAgentChecks(io.tenure.v1.ListAgentChecksRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListAgentChecksResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListAgentChecksMethod(), responseObserver);
    }

    /**
     * <pre>
     * ReportCheck reports the status of a check of the kind ttl. Errors: CHECK_NOT_FOUND, INVALID_ARGUMENT for another kind.
     * </pre>
     */
    default void reportCheck(io.tenure.v1.ReportCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ReportCheckResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReportCheckMethod(), responseObserver);
    }

    /**
     * <pre>
     * SetMaintenance adds or removes the critical check that takes the node or an instance out of use. Errors:
     * SERVICE_NOT_FOUND; INVALID_ARGUMENT for an instance whose id has more than 242 bytes, since the check is named after it;
     * LIMIT_EXCEEDED if the agent has 2 048 checks.
     * </pre>
     */
    default void setMaintenance(io.tenure.v1.SetMaintenanceRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.SetMaintenanceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetMaintenanceMethod(), responseObserver);
    }

    /**
     * <pre>
     * ReloadAgent reads the agent's files again. A mistake in one keeps all as it was. Errors: INVALID_ARGUMENT, which names
     * every mistake with its file and line.
     * </pre>
     */
    default void reloadAgent(io.tenure.v1.ReloadAgentRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ReloadAgentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReloadAgentMethod(), responseObserver);
    }

    /**
     * <pre>
     * LeaveAgent leaves the pool and stops the agent. The node goes, unless a session is bound to it. Errors:
     * FEATURE_NOT_ENABLED if the agent takes no part in gossip.
     * </pre>
     */
    default void leaveAgent(io.tenure.v1.LeaveAgentRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.LeaveAgentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getLeaveAgentMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service AgentService.
   * <pre>
   * AgentService is what the agent of a machine serves: it registers the services and checks of the machine, runs the
   * checks, and keeps the catalog like itself. Headers of its responses have no revision and no term: an agent is not part
   * of the cluster.
   * </pre>
   */
  public static abstract class AgentServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return AgentServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service AgentService.
   * <pre>
   * AgentService is what the agent of a machine serves: it registers the services and checks of the machine, runs the
   * checks, and keeps the catalog like itself. Headers of its responses have no revision and no term: an agent is not part
   * of the cluster.
   * </pre>
   */
  public static final class AgentServiceStub
      extends io.grpc.stub.AbstractAsyncStub<AgentServiceStub> {
    private AgentServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AgentServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AgentServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetAgent returns what the agent is and how it does.
     * </pre>
     */
    public void getAgent(io.tenure.v1.GetAgentRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetAgentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetAgentMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * AddAgentService registers an instance of a service, with checks. One with the same id is replaced, unless it is from
     * a file. Errors: INVALID_ARGUMENT, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    public void addAgentService(io.tenure.v1.AddAgentServiceRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AddAgentServiceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddAgentServiceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * RemoveAgentService deregisters an instance and its checks. A missing one is not an error. Errors: INVALID_ARGUMENT,
     * PERMISSION_DENIED for one from a file.
     * </pre>
     */
    public void removeAgentService(io.tenure.v1.RemoveAgentServiceRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RemoveAgentServiceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRemoveAgentServiceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * AddAgentCheck registers a check of the node or of an instance. One with the same id is replaced, unless it is from a
     * file. Errors: INVALID_ARGUMENT, SERVICE_NOT_FOUND, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    public void addAgentCheck(io.tenure.v1.AddAgentCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AddAgentCheckResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddAgentCheckMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * RemoveAgentCheck deregisters a check. A missing one is not an error. Errors: INVALID_ARGUMENT, PERMISSION_DENIED for
     * one from a file.
     * </pre>
     */
    public void removeAgentCheck(io.tenure.v1.RemoveAgentCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RemoveAgentCheckResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRemoveAgentCheckMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListAgentServices lists the instances that the agent registers, ordered by id.
     * </pre>
     */
    public void listAgentServices(io.tenure.v1.ListAgentServicesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListAgentServicesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListAgentServicesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListAgentChecks lists the checks that the agent runs, ordered by id.
     * </pre>
     */
    public void listAgentChecks(io.tenure.v1.ListAgentChecksRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListAgentChecksResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListAgentChecksMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ReportCheck reports the status of a check of the kind ttl. Errors: CHECK_NOT_FOUND, INVALID_ARGUMENT for another kind.
     * </pre>
     */
    public void reportCheck(io.tenure.v1.ReportCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ReportCheckResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReportCheckMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * SetMaintenance adds or removes the critical check that takes the node or an instance out of use. Errors:
     * SERVICE_NOT_FOUND; INVALID_ARGUMENT for an instance whose id has more than 242 bytes, since the check is named after it;
     * LIMIT_EXCEEDED if the agent has 2 048 checks.
     * </pre>
     */
    public void setMaintenance(io.tenure.v1.SetMaintenanceRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.SetMaintenanceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetMaintenanceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ReloadAgent reads the agent's files again. A mistake in one keeps all as it was. Errors: INVALID_ARGUMENT, which names
     * every mistake with its file and line.
     * </pre>
     */
    public void reloadAgent(io.tenure.v1.ReloadAgentRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ReloadAgentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReloadAgentMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * LeaveAgent leaves the pool and stops the agent. The node goes, unless a session is bound to it. Errors:
     * FEATURE_NOT_ENABLED if the agent takes no part in gossip.
     * </pre>
     */
    public void leaveAgent(io.tenure.v1.LeaveAgentRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.LeaveAgentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getLeaveAgentMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service AgentService.
   * <pre>
   * AgentService is what the agent of a machine serves: it registers the services and checks of the machine, runs the
   * checks, and keeps the catalog like itself. Headers of its responses have no revision and no term: an agent is not part
   * of the cluster.
   * </pre>
   */
  public static final class AgentServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<AgentServiceBlockingV2Stub> {
    private AgentServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AgentServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AgentServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * GetAgent returns what the agent is and how it does.
     * </pre>
     */
    public io.tenure.v1.GetAgentResponse getAgent(io.tenure.v1.GetAgentRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetAgentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AddAgentService registers an instance of a service, with checks. One with the same id is replaced, unless it is from
     * a file. Errors: INVALID_ARGUMENT, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    public io.tenure.v1.AddAgentServiceResponse addAgentService(io.tenure.v1.AddAgentServiceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAddAgentServiceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RemoveAgentService deregisters an instance and its checks. A missing one is not an error. Errors: INVALID_ARGUMENT,
     * PERMISSION_DENIED for one from a file.
     * </pre>
     */
    public io.tenure.v1.RemoveAgentServiceResponse removeAgentService(io.tenure.v1.RemoveAgentServiceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRemoveAgentServiceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AddAgentCheck registers a check of the node or of an instance. One with the same id is replaced, unless it is from a
     * file. Errors: INVALID_ARGUMENT, SERVICE_NOT_FOUND, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    public io.tenure.v1.AddAgentCheckResponse addAgentCheck(io.tenure.v1.AddAgentCheckRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAddAgentCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RemoveAgentCheck deregisters a check. A missing one is not an error. Errors: INVALID_ARGUMENT, PERMISSION_DENIED for
     * one from a file.
     * </pre>
     */
    public io.tenure.v1.RemoveAgentCheckResponse removeAgentCheck(io.tenure.v1.RemoveAgentCheckRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRemoveAgentCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListAgentServices lists the instances that the agent registers, ordered by id.
     * </pre>
     */
    public io.tenure.v1.ListAgentServicesResponse listAgentServices(io.tenure.v1.ListAgentServicesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListAgentServicesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListAgentChecks lists the checks that the agent runs, ordered by id.
     * </pre>
     */
    public io.tenure.v1.ListAgentChecksResponse listAgentChecks(io.tenure.v1.ListAgentChecksRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListAgentChecksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReportCheck reports the status of a check of the kind ttl. Errors: CHECK_NOT_FOUND, INVALID_ARGUMENT for another kind.
     * </pre>
     */
    public io.tenure.v1.ReportCheckResponse reportCheck(io.tenure.v1.ReportCheckRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReportCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SetMaintenance adds or removes the critical check that takes the node or an instance out of use. Errors:
     * SERVICE_NOT_FOUND; INVALID_ARGUMENT for an instance whose id has more than 242 bytes, since the check is named after it;
     * LIMIT_EXCEEDED if the agent has 2 048 checks.
     * </pre>
     */
    public io.tenure.v1.SetMaintenanceResponse setMaintenance(io.tenure.v1.SetMaintenanceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetMaintenanceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReloadAgent reads the agent's files again. A mistake in one keeps all as it was. Errors: INVALID_ARGUMENT, which names
     * every mistake with its file and line.
     * </pre>
     */
    public io.tenure.v1.ReloadAgentResponse reloadAgent(io.tenure.v1.ReloadAgentRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReloadAgentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * LeaveAgent leaves the pool and stops the agent. The node goes, unless a session is bound to it. Errors:
     * FEATURE_NOT_ENABLED if the agent takes no part in gossip.
     * </pre>
     */
    public io.tenure.v1.LeaveAgentResponse leaveAgent(io.tenure.v1.LeaveAgentRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getLeaveAgentMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service AgentService.
   * <pre>
   * AgentService is what the agent of a machine serves: it registers the services and checks of the machine, runs the
   * checks, and keeps the catalog like itself. Headers of its responses have no revision and no term: an agent is not part
   * of the cluster.
   * </pre>
   */
  public static final class AgentServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<AgentServiceBlockingStub> {
    private AgentServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AgentServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AgentServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetAgent returns what the agent is and how it does.
     * </pre>
     */
    public io.tenure.v1.GetAgentResponse getAgent(io.tenure.v1.GetAgentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetAgentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AddAgentService registers an instance of a service, with checks. One with the same id is replaced, unless it is from
     * a file. Errors: INVALID_ARGUMENT, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    public io.tenure.v1.AddAgentServiceResponse addAgentService(io.tenure.v1.AddAgentServiceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddAgentServiceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RemoveAgentService deregisters an instance and its checks. A missing one is not an error. Errors: INVALID_ARGUMENT,
     * PERMISSION_DENIED for one from a file.
     * </pre>
     */
    public io.tenure.v1.RemoveAgentServiceResponse removeAgentService(io.tenure.v1.RemoveAgentServiceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRemoveAgentServiceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AddAgentCheck registers a check of the node or of an instance. One with the same id is replaced, unless it is from a
     * file. Errors: INVALID_ARGUMENT, SERVICE_NOT_FOUND, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    public io.tenure.v1.AddAgentCheckResponse addAgentCheck(io.tenure.v1.AddAgentCheckRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddAgentCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RemoveAgentCheck deregisters a check. A missing one is not an error. Errors: INVALID_ARGUMENT, PERMISSION_DENIED for
     * one from a file.
     * </pre>
     */
    public io.tenure.v1.RemoveAgentCheckResponse removeAgentCheck(io.tenure.v1.RemoveAgentCheckRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRemoveAgentCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListAgentServices lists the instances that the agent registers, ordered by id.
     * </pre>
     */
    public io.tenure.v1.ListAgentServicesResponse listAgentServices(io.tenure.v1.ListAgentServicesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListAgentServicesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListAgentChecks lists the checks that the agent runs, ordered by id.
     * </pre>
     */
    public io.tenure.v1.ListAgentChecksResponse listAgentChecks(io.tenure.v1.ListAgentChecksRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListAgentChecksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReportCheck reports the status of a check of the kind ttl. Errors: CHECK_NOT_FOUND, INVALID_ARGUMENT for another kind.
     * </pre>
     */
    public io.tenure.v1.ReportCheckResponse reportCheck(io.tenure.v1.ReportCheckRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReportCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SetMaintenance adds or removes the critical check that takes the node or an instance out of use. Errors:
     * SERVICE_NOT_FOUND; INVALID_ARGUMENT for an instance whose id has more than 242 bytes, since the check is named after it;
     * LIMIT_EXCEEDED if the agent has 2 048 checks.
     * </pre>
     */
    public io.tenure.v1.SetMaintenanceResponse setMaintenance(io.tenure.v1.SetMaintenanceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetMaintenanceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReloadAgent reads the agent's files again. A mistake in one keeps all as it was. Errors: INVALID_ARGUMENT, which names
     * every mistake with its file and line.
     * </pre>
     */
    public io.tenure.v1.ReloadAgentResponse reloadAgent(io.tenure.v1.ReloadAgentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReloadAgentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * LeaveAgent leaves the pool and stops the agent. The node goes, unless a session is bound to it. Errors:
     * FEATURE_NOT_ENABLED if the agent takes no part in gossip.
     * </pre>
     */
    public io.tenure.v1.LeaveAgentResponse leaveAgent(io.tenure.v1.LeaveAgentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getLeaveAgentMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service AgentService.
   * <pre>
   * AgentService is what the agent of a machine serves: it registers the services and checks of the machine, runs the
   * checks, and keeps the catalog like itself. Headers of its responses have no revision and no term: an agent is not part
   * of the cluster.
   * </pre>
   */
  public static final class AgentServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<AgentServiceFutureStub> {
    private AgentServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AgentServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AgentServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetAgent returns what the agent is and how it does.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetAgentResponse> getAgent(
        io.tenure.v1.GetAgentRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetAgentMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * AddAgentService registers an instance of a service, with checks. One with the same id is replaced, unless it is from
     * a file. Errors: INVALID_ARGUMENT, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.AddAgentServiceResponse> addAgentService(
        io.tenure.v1.AddAgentServiceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddAgentServiceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * RemoveAgentService deregisters an instance and its checks. A missing one is not an error. Errors: INVALID_ARGUMENT,
     * PERMISSION_DENIED for one from a file.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.RemoveAgentServiceResponse> removeAgentService(
        io.tenure.v1.RemoveAgentServiceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRemoveAgentServiceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * AddAgentCheck registers a check of the node or of an instance. One with the same id is replaced, unless it is from a
     * file. Errors: INVALID_ARGUMENT, SERVICE_NOT_FOUND, LIMIT_EXCEEDED, PERMISSION_DENIED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.AddAgentCheckResponse> addAgentCheck(
        io.tenure.v1.AddAgentCheckRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddAgentCheckMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * RemoveAgentCheck deregisters a check. A missing one is not an error. Errors: INVALID_ARGUMENT, PERMISSION_DENIED for
     * one from a file.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.RemoveAgentCheckResponse> removeAgentCheck(
        io.tenure.v1.RemoveAgentCheckRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRemoveAgentCheckMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListAgentServices lists the instances that the agent registers, ordered by id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListAgentServicesResponse> listAgentServices(
        io.tenure.v1.ListAgentServicesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListAgentServicesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListAgentChecks lists the checks that the agent runs, ordered by id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListAgentChecksResponse> listAgentChecks(
        io.tenure.v1.ListAgentChecksRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListAgentChecksMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ReportCheck reports the status of a check of the kind ttl. Errors: CHECK_NOT_FOUND, INVALID_ARGUMENT for another kind.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ReportCheckResponse> reportCheck(
        io.tenure.v1.ReportCheckRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReportCheckMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * SetMaintenance adds or removes the critical check that takes the node or an instance out of use. Errors:
     * SERVICE_NOT_FOUND; INVALID_ARGUMENT for an instance whose id has more than 242 bytes, since the check is named after it;
     * LIMIT_EXCEEDED if the agent has 2 048 checks.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.SetMaintenanceResponse> setMaintenance(
        io.tenure.v1.SetMaintenanceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetMaintenanceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ReloadAgent reads the agent's files again. A mistake in one keeps all as it was. Errors: INVALID_ARGUMENT, which names
     * every mistake with its file and line.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ReloadAgentResponse> reloadAgent(
        io.tenure.v1.ReloadAgentRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReloadAgentMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * LeaveAgent leaves the pool and stops the agent. The node goes, unless a session is bound to it. Errors:
     * FEATURE_NOT_ENABLED if the agent takes no part in gossip.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.LeaveAgentResponse> leaveAgent(
        io.tenure.v1.LeaveAgentRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getLeaveAgentMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_AGENT = 0;
  private static final int METHODID_ADD_AGENT_SERVICE = 1;
  private static final int METHODID_REMOVE_AGENT_SERVICE = 2;
  private static final int METHODID_ADD_AGENT_CHECK = 3;
  private static final int METHODID_REMOVE_AGENT_CHECK = 4;
  private static final int METHODID_LIST_AGENT_SERVICES = 5;
  private static final int METHODID_LIST_AGENT_CHECKS = 6;
  private static final int METHODID_REPORT_CHECK = 7;
  private static final int METHODID_SET_MAINTENANCE = 8;
  private static final int METHODID_RELOAD_AGENT = 9;
  private static final int METHODID_LEAVE_AGENT = 10;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_GET_AGENT:
          serviceImpl.getAgent((io.tenure.v1.GetAgentRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetAgentResponse>) responseObserver);
          break;
        case METHODID_ADD_AGENT_SERVICE:
          serviceImpl.addAgentService((io.tenure.v1.AddAgentServiceRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.AddAgentServiceResponse>) responseObserver);
          break;
        case METHODID_REMOVE_AGENT_SERVICE:
          serviceImpl.removeAgentService((io.tenure.v1.RemoveAgentServiceRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.RemoveAgentServiceResponse>) responseObserver);
          break;
        case METHODID_ADD_AGENT_CHECK:
          serviceImpl.addAgentCheck((io.tenure.v1.AddAgentCheckRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.AddAgentCheckResponse>) responseObserver);
          break;
        case METHODID_REMOVE_AGENT_CHECK:
          serviceImpl.removeAgentCheck((io.tenure.v1.RemoveAgentCheckRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.RemoveAgentCheckResponse>) responseObserver);
          break;
        case METHODID_LIST_AGENT_SERVICES:
          serviceImpl.listAgentServices((io.tenure.v1.ListAgentServicesRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListAgentServicesResponse>) responseObserver);
          break;
        case METHODID_LIST_AGENT_CHECKS:
          serviceImpl.listAgentChecks((io.tenure.v1.ListAgentChecksRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListAgentChecksResponse>) responseObserver);
          break;
        case METHODID_REPORT_CHECK:
          serviceImpl.reportCheck((io.tenure.v1.ReportCheckRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ReportCheckResponse>) responseObserver);
          break;
        case METHODID_SET_MAINTENANCE:
          serviceImpl.setMaintenance((io.tenure.v1.SetMaintenanceRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.SetMaintenanceResponse>) responseObserver);
          break;
        case METHODID_RELOAD_AGENT:
          serviceImpl.reloadAgent((io.tenure.v1.ReloadAgentRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ReloadAgentResponse>) responseObserver);
          break;
        case METHODID_LEAVE_AGENT:
          serviceImpl.leaveAgent((io.tenure.v1.LeaveAgentRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.LeaveAgentResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGetAgentMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetAgentRequest,
              io.tenure.v1.GetAgentResponse>(
                service, METHODID_GET_AGENT)))
        .addMethod(
          getAddAgentServiceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.AddAgentServiceRequest,
              io.tenure.v1.AddAgentServiceResponse>(
                service, METHODID_ADD_AGENT_SERVICE)))
        .addMethod(
          getRemoveAgentServiceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.RemoveAgentServiceRequest,
              io.tenure.v1.RemoveAgentServiceResponse>(
                service, METHODID_REMOVE_AGENT_SERVICE)))
        .addMethod(
          getAddAgentCheckMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.AddAgentCheckRequest,
              io.tenure.v1.AddAgentCheckResponse>(
                service, METHODID_ADD_AGENT_CHECK)))
        .addMethod(
          getRemoveAgentCheckMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.RemoveAgentCheckRequest,
              io.tenure.v1.RemoveAgentCheckResponse>(
                service, METHODID_REMOVE_AGENT_CHECK)))
        .addMethod(
          getListAgentServicesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListAgentServicesRequest,
              io.tenure.v1.ListAgentServicesResponse>(
                service, METHODID_LIST_AGENT_SERVICES)))
        .addMethod(
          getListAgentChecksMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListAgentChecksRequest,
              io.tenure.v1.ListAgentChecksResponse>(
                service, METHODID_LIST_AGENT_CHECKS)))
        .addMethod(
          getReportCheckMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ReportCheckRequest,
              io.tenure.v1.ReportCheckResponse>(
                service, METHODID_REPORT_CHECK)))
        .addMethod(
          getSetMaintenanceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.SetMaintenanceRequest,
              io.tenure.v1.SetMaintenanceResponse>(
                service, METHODID_SET_MAINTENANCE)))
        .addMethod(
          getReloadAgentMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ReloadAgentRequest,
              io.tenure.v1.ReloadAgentResponse>(
                service, METHODID_RELOAD_AGENT)))
        .addMethod(
          getLeaveAgentMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.LeaveAgentRequest,
              io.tenure.v1.LeaveAgentResponse>(
                service, METHODID_LEAVE_AGENT)))
        .build();
  }

  private static abstract class AgentServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    AgentServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.AgentProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("AgentService");
    }
  }

  private static final class AgentServiceFileDescriptorSupplier
      extends AgentServiceBaseDescriptorSupplier {
    AgentServiceFileDescriptorSupplier() {}
  }

  private static final class AgentServiceMethodDescriptorSupplier
      extends AgentServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    AgentServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (AgentServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new AgentServiceFileDescriptorSupplier())
              .addMethod(getGetAgentMethod())
              .addMethod(getAddAgentServiceMethod())
              .addMethod(getRemoveAgentServiceMethod())
              .addMethod(getAddAgentCheckMethod())
              .addMethod(getRemoveAgentCheckMethod())
              .addMethod(getListAgentServicesMethod())
              .addMethod(getListAgentChecksMethod())
              .addMethod(getReportCheckMethod())
              .addMethod(getSetMaintenanceMethod())
              .addMethod(getReloadAgentMethod())
              .addMethod(getLeaveAgentMethod())
              .build();
        }
      }
    }
    return result;
  }
}
