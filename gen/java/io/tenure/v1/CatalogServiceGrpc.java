package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * CatalogService keeps the catalog: which machines there are (nodes), which instances of services run on them, and how
 * checks say that they are. Sessions can be bound to a node and to checks: they end when a check turns critical, or when
 * the node or a check is deregistered. Members never run a check; programs outside of the cluster do, and report.
 * Ids, names and tags are valid UTF-8 without control characters, 1 to 255 bytes. The catalog holds at most 10 000 nodes,
 * 100 000 instances of services and 200 000 checks; one node has at most 1 024 instances and 2 048 checks, together at
 * most 2 MiB without the output of checks. All methods that write need the
 * cluster version that knows the catalog; before, they fail with FEATURE_NOT_ENABLED.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class CatalogServiceGrpc {

  private CatalogServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.CatalogService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.RegisterNodeRequest,
      io.tenure.v1.RegisterNodeResponse> getRegisterNodeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RegisterNode",
      requestType = io.tenure.v1.RegisterNodeRequest.class,
      responseType = io.tenure.v1.RegisterNodeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.RegisterNodeRequest,
      io.tenure.v1.RegisterNodeResponse> getRegisterNodeMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.RegisterNodeRequest, io.tenure.v1.RegisterNodeResponse> getRegisterNodeMethod;
    if ((getRegisterNodeMethod = CatalogServiceGrpc.getRegisterNodeMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getRegisterNodeMethod = CatalogServiceGrpc.getRegisterNodeMethod) == null) {
          CatalogServiceGrpc.getRegisterNodeMethod = getRegisterNodeMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.RegisterNodeRequest, io.tenure.v1.RegisterNodeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RegisterNode"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RegisterNodeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RegisterNodeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("RegisterNode"))
              .build();
        }
      }
    }
    return getRegisterNodeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.SyncNodeRequest,
      io.tenure.v1.SyncNodeResponse> getSyncNodeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SyncNode",
      requestType = io.tenure.v1.SyncNodeRequest.class,
      responseType = io.tenure.v1.SyncNodeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.SyncNodeRequest,
      io.tenure.v1.SyncNodeResponse> getSyncNodeMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.SyncNodeRequest, io.tenure.v1.SyncNodeResponse> getSyncNodeMethod;
    if ((getSyncNodeMethod = CatalogServiceGrpc.getSyncNodeMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getSyncNodeMethod = CatalogServiceGrpc.getSyncNodeMethod) == null) {
          CatalogServiceGrpc.getSyncNodeMethod = getSyncNodeMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.SyncNodeRequest, io.tenure.v1.SyncNodeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SyncNode"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.SyncNodeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.SyncNodeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("SyncNode"))
              .build();
        }
      }
    }
    return getSyncNodeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.UpdateCheckRequest,
      io.tenure.v1.UpdateCheckResponse> getUpdateCheckMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateCheck",
      requestType = io.tenure.v1.UpdateCheckRequest.class,
      responseType = io.tenure.v1.UpdateCheckResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.UpdateCheckRequest,
      io.tenure.v1.UpdateCheckResponse> getUpdateCheckMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.UpdateCheckRequest, io.tenure.v1.UpdateCheckResponse> getUpdateCheckMethod;
    if ((getUpdateCheckMethod = CatalogServiceGrpc.getUpdateCheckMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getUpdateCheckMethod = CatalogServiceGrpc.getUpdateCheckMethod) == null) {
          CatalogServiceGrpc.getUpdateCheckMethod = getUpdateCheckMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.UpdateCheckRequest, io.tenure.v1.UpdateCheckResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateCheck"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.UpdateCheckRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.UpdateCheckResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("UpdateCheck"))
              .build();
        }
      }
    }
    return getUpdateCheckMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeregisterNodeRequest,
      io.tenure.v1.DeregisterNodeResponse> getDeregisterNodeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeregisterNode",
      requestType = io.tenure.v1.DeregisterNodeRequest.class,
      responseType = io.tenure.v1.DeregisterNodeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeregisterNodeRequest,
      io.tenure.v1.DeregisterNodeResponse> getDeregisterNodeMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeregisterNodeRequest, io.tenure.v1.DeregisterNodeResponse> getDeregisterNodeMethod;
    if ((getDeregisterNodeMethod = CatalogServiceGrpc.getDeregisterNodeMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getDeregisterNodeMethod = CatalogServiceGrpc.getDeregisterNodeMethod) == null) {
          CatalogServiceGrpc.getDeregisterNodeMethod = getDeregisterNodeMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeregisterNodeRequest, io.tenure.v1.DeregisterNodeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeregisterNode"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeregisterNodeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeregisterNodeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("DeregisterNode"))
              .build();
        }
      }
    }
    return getDeregisterNodeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeregisterServiceRequest,
      io.tenure.v1.DeregisterServiceResponse> getDeregisterServiceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeregisterService",
      requestType = io.tenure.v1.DeregisterServiceRequest.class,
      responseType = io.tenure.v1.DeregisterServiceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeregisterServiceRequest,
      io.tenure.v1.DeregisterServiceResponse> getDeregisterServiceMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeregisterServiceRequest, io.tenure.v1.DeregisterServiceResponse> getDeregisterServiceMethod;
    if ((getDeregisterServiceMethod = CatalogServiceGrpc.getDeregisterServiceMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getDeregisterServiceMethod = CatalogServiceGrpc.getDeregisterServiceMethod) == null) {
          CatalogServiceGrpc.getDeregisterServiceMethod = getDeregisterServiceMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeregisterServiceRequest, io.tenure.v1.DeregisterServiceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeregisterService"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeregisterServiceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeregisterServiceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("DeregisterService"))
              .build();
        }
      }
    }
    return getDeregisterServiceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeregisterCheckRequest,
      io.tenure.v1.DeregisterCheckResponse> getDeregisterCheckMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeregisterCheck",
      requestType = io.tenure.v1.DeregisterCheckRequest.class,
      responseType = io.tenure.v1.DeregisterCheckResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeregisterCheckRequest,
      io.tenure.v1.DeregisterCheckResponse> getDeregisterCheckMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeregisterCheckRequest, io.tenure.v1.DeregisterCheckResponse> getDeregisterCheckMethod;
    if ((getDeregisterCheckMethod = CatalogServiceGrpc.getDeregisterCheckMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getDeregisterCheckMethod = CatalogServiceGrpc.getDeregisterCheckMethod) == null) {
          CatalogServiceGrpc.getDeregisterCheckMethod = getDeregisterCheckMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeregisterCheckRequest, io.tenure.v1.DeregisterCheckResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeregisterCheck"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeregisterCheckRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeregisterCheckResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("DeregisterCheck"))
              .build();
        }
      }
    }
    return getDeregisterCheckMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetNodeRequest,
      io.tenure.v1.GetNodeResponse> getGetNodeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetNode",
      requestType = io.tenure.v1.GetNodeRequest.class,
      responseType = io.tenure.v1.GetNodeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetNodeRequest,
      io.tenure.v1.GetNodeResponse> getGetNodeMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetNodeRequest, io.tenure.v1.GetNodeResponse> getGetNodeMethod;
    if ((getGetNodeMethod = CatalogServiceGrpc.getGetNodeMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getGetNodeMethod = CatalogServiceGrpc.getGetNodeMethod) == null) {
          CatalogServiceGrpc.getGetNodeMethod = getGetNodeMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetNodeRequest, io.tenure.v1.GetNodeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetNode"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetNodeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetNodeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("GetNode"))
              .build();
        }
      }
    }
    return getGetNodeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListNodesRequest,
      io.tenure.v1.ListNodesResponse> getListNodesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListNodes",
      requestType = io.tenure.v1.ListNodesRequest.class,
      responseType = io.tenure.v1.ListNodesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListNodesRequest,
      io.tenure.v1.ListNodesResponse> getListNodesMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListNodesRequest, io.tenure.v1.ListNodesResponse> getListNodesMethod;
    if ((getListNodesMethod = CatalogServiceGrpc.getListNodesMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListNodesMethod = CatalogServiceGrpc.getListNodesMethod) == null) {
          CatalogServiceGrpc.getListNodesMethod = getListNodesMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListNodesRequest, io.tenure.v1.ListNodesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListNodes"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListNodesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListNodesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListNodes"))
              .build();
        }
      }
    }
    return getListNodesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListServicesRequest,
      io.tenure.v1.ListServicesResponse> getListServicesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListServices",
      requestType = io.tenure.v1.ListServicesRequest.class,
      responseType = io.tenure.v1.ListServicesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListServicesRequest,
      io.tenure.v1.ListServicesResponse> getListServicesMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListServicesRequest, io.tenure.v1.ListServicesResponse> getListServicesMethod;
    if ((getListServicesMethod = CatalogServiceGrpc.getListServicesMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListServicesMethod = CatalogServiceGrpc.getListServicesMethod) == null) {
          CatalogServiceGrpc.getListServicesMethod = getListServicesMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListServicesRequest, io.tenure.v1.ListServicesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListServices"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListServicesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListServicesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListServices"))
              .build();
        }
      }
    }
    return getListServicesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListInstancesRequest,
      io.tenure.v1.ListInstancesResponse> getListInstancesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListInstances",
      requestType = io.tenure.v1.ListInstancesRequest.class,
      responseType = io.tenure.v1.ListInstancesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListInstancesRequest,
      io.tenure.v1.ListInstancesResponse> getListInstancesMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListInstancesRequest, io.tenure.v1.ListInstancesResponse> getListInstancesMethod;
    if ((getListInstancesMethod = CatalogServiceGrpc.getListInstancesMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListInstancesMethod = CatalogServiceGrpc.getListInstancesMethod) == null) {
          CatalogServiceGrpc.getListInstancesMethod = getListInstancesMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListInstancesRequest, io.tenure.v1.ListInstancesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListInstances"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListInstancesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListInstancesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListInstances"))
              .build();
        }
      }
    }
    return getListInstancesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListChecksRequest,
      io.tenure.v1.ListChecksResponse> getListChecksMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListChecks",
      requestType = io.tenure.v1.ListChecksRequest.class,
      responseType = io.tenure.v1.ListChecksResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListChecksRequest,
      io.tenure.v1.ListChecksResponse> getListChecksMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListChecksRequest, io.tenure.v1.ListChecksResponse> getListChecksMethod;
    if ((getListChecksMethod = CatalogServiceGrpc.getListChecksMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListChecksMethod = CatalogServiceGrpc.getListChecksMethod) == null) {
          CatalogServiceGrpc.getListChecksMethod = getListChecksMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListChecksRequest, io.tenure.v1.ListChecksResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListChecks"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListChecksRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListChecksResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListChecks"))
              .build();
        }
      }
    }
    return getListChecksMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static CatalogServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceStub>() {
        @java.lang.Override
        public CatalogServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceStub(channel, callOptions);
        }
      };
    return CatalogServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static CatalogServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingV2Stub>() {
        @java.lang.Override
        public CatalogServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return CatalogServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static CatalogServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingStub>() {
        @java.lang.Override
        public CatalogServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceBlockingStub(channel, callOptions);
        }
      };
    return CatalogServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static CatalogServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceFutureStub>() {
        @java.lang.Override
        public CatalogServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceFutureStub(channel, callOptions);
        }
      };
    return CatalogServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * CatalogService keeps the catalog: which machines there are (nodes), which instances of services run on them, and how
   * checks say that they are. Sessions can be bound to a node and to checks: they end when a check turns critical, or when
   * the node or a check is deregistered. Members never run a check; programs outside of the cluster do, and report.
   * Ids, names and tags are valid UTF-8 without control characters, 1 to 255 bytes. The catalog holds at most 10 000 nodes,
   * 100 000 instances of services and 200 000 checks; one node has at most 1 024 instances and 2 048 checks, together at
   * most 2 MiB without the output of checks. All methods that write need the
   * cluster version that knows the catalog; before, they fail with FEATURE_NOT_ENABLED.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * RegisterNode writes a node, and services and checks on it, completely or not at all. What exists is replaced;
     * registering what is there already changes nothing. A check that is registered as critical, or that already was, ends
     * the sessions that are bound to it. Errors: INVALID_ARGUMENT, NODE_ID_CONFLICT, NODE_NOT_FOUND, SERVICE_NOT_FOUND,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    default void registerNode(io.tenure.v1.RegisterNodeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RegisterNodeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRegisterNodeMethod(), responseObserver);
    }

    /**
     * <pre>
     * SyncNode writes and deletes what the agent of a node registers. Calls are numbered, and a late one is refused.
     * Errors: INVALID_ARGUMENT, NODE_NOT_FOUND, NODE_ID_CONFLICT, SERVICE_NOT_FOUND, SYNC_OUTDATED, LIMIT_EXCEEDED.
     * </pre>
     */
    default void syncNode(io.tenure.v1.SyncNodeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.SyncNodeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSyncNodeMethod(), responseObserver);
    }

    /**
     * <pre>
     * UpdateCheck reports the status of a check. Errors: INVALID_ARGUMENT, CHECK_NOT_FOUND.
     * </pre>
     */
    default void updateCheck(io.tenure.v1.UpdateCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.UpdateCheckResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateCheckMethod(), responseObserver);
    }

    /**
     * <pre>
     * DeregisterNode deletes a node with all its services and checks, and ends all sessions that are bound to the node. A
     * missing node is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    default void deregisterNode(io.tenure.v1.DeregisterNodeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterNodeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeregisterNodeMethod(), responseObserver);
    }

    /**
     * <pre>
     * DeregisterService deletes an instance of a service with its checks, and ends the sessions that are bound to these
     * checks. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    default void deregisterService(io.tenure.v1.DeregisterServiceRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterServiceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeregisterServiceMethod(), responseObserver);
    }

    /**
     * <pre>
     * DeregisterCheck deletes a check and ends the sessions that are bound to it. A missing one is not an error. Errors:
     * INVALID_ARGUMENT.
     * </pre>
     */
    default void deregisterCheck(io.tenure.v1.DeregisterCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterCheckResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeregisterCheckMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetNode returns a node with its services and checks, in pages. Errors: NODE_NOT_FOUND, PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void getNode(io.tenure.v1.GetNodeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetNodeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetNodeMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListNodes lists nodes, ordered by the lower case of their names, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listNodes(io.tenure.v1.ListNodesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListNodesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListNodesMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListServices lists the names of services, in order, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listServices(io.tenure.v1.ListServicesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListServicesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListServicesMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListInstances lists the instances of a service with their nodes and checks, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listInstances(io.tenure.v1.ListInstancesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListInstancesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListInstancesMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListChecks lists checks, ordered by node and id, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listChecks(io.tenure.v1.ListChecksRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListChecksResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListChecksMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service CatalogService.
   * <pre>
   * CatalogService keeps the catalog: which machines there are (nodes), which instances of services run on them, and how
   * checks say that they are. Sessions can be bound to a node and to checks: they end when a check turns critical, or when
   * the node or a check is deregistered. Members never run a check; programs outside of the cluster do, and report.
   * Ids, names and tags are valid UTF-8 without control characters, 1 to 255 bytes. The catalog holds at most 10 000 nodes,
   * 100 000 instances of services and 200 000 checks; one node has at most 1 024 instances and 2 048 checks, together at
   * most 2 MiB without the output of checks. All methods that write need the
   * cluster version that knows the catalog; before, they fail with FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static abstract class CatalogServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return CatalogServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service CatalogService.
   * <pre>
   * CatalogService keeps the catalog: which machines there are (nodes), which instances of services run on them, and how
   * checks say that they are. Sessions can be bound to a node and to checks: they end when a check turns critical, or when
   * the node or a check is deregistered. Members never run a check; programs outside of the cluster do, and report.
   * Ids, names and tags are valid UTF-8 without control characters, 1 to 255 bytes. The catalog holds at most 10 000 nodes,
   * 100 000 instances of services and 200 000 checks; one node has at most 1 024 instances and 2 048 checks, together at
   * most 2 MiB without the output of checks. All methods that write need the
   * cluster version that knows the catalog; before, they fail with FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static final class CatalogServiceStub
      extends io.grpc.stub.AbstractAsyncStub<CatalogServiceStub> {
    private CatalogServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * RegisterNode writes a node, and services and checks on it, completely or not at all. What exists is replaced;
     * registering what is there already changes nothing. A check that is registered as critical, or that already was, ends
     * the sessions that are bound to it. Errors: INVALID_ARGUMENT, NODE_ID_CONFLICT, NODE_NOT_FOUND, SERVICE_NOT_FOUND,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    public void registerNode(io.tenure.v1.RegisterNodeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RegisterNodeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRegisterNodeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * SyncNode writes and deletes what the agent of a node registers. Calls are numbered, and a late one is refused.
     * Errors: INVALID_ARGUMENT, NODE_NOT_FOUND, NODE_ID_CONFLICT, SERVICE_NOT_FOUND, SYNC_OUTDATED, LIMIT_EXCEEDED.
     * </pre>
     */
    public void syncNode(io.tenure.v1.SyncNodeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.SyncNodeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSyncNodeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * UpdateCheck reports the status of a check. Errors: INVALID_ARGUMENT, CHECK_NOT_FOUND.
     * </pre>
     */
    public void updateCheck(io.tenure.v1.UpdateCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.UpdateCheckResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateCheckMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DeregisterNode deletes a node with all its services and checks, and ends all sessions that are bound to the node. A
     * missing node is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public void deregisterNode(io.tenure.v1.DeregisterNodeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterNodeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeregisterNodeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DeregisterService deletes an instance of a service with its checks, and ends the sessions that are bound to these
     * checks. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public void deregisterService(io.tenure.v1.DeregisterServiceRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterServiceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeregisterServiceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DeregisterCheck deletes a check and ends the sessions that are bound to it. A missing one is not an error. Errors:
     * INVALID_ARGUMENT.
     * </pre>
     */
    public void deregisterCheck(io.tenure.v1.DeregisterCheckRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterCheckResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeregisterCheckMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetNode returns a node with its services and checks, in pages. Errors: NODE_NOT_FOUND, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void getNode(io.tenure.v1.GetNodeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetNodeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetNodeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListNodes lists nodes, ordered by the lower case of their names, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listNodes(io.tenure.v1.ListNodesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListNodesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListNodesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListServices lists the names of services, in order, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listServices(io.tenure.v1.ListServicesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListServicesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListServicesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListInstances lists the instances of a service with their nodes and checks, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listInstances(io.tenure.v1.ListInstancesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListInstancesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListInstancesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListChecks lists checks, ordered by node and id, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listChecks(io.tenure.v1.ListChecksRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListChecksResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListChecksMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service CatalogService.
   * <pre>
   * CatalogService keeps the catalog: which machines there are (nodes), which instances of services run on them, and how
   * checks say that they are. Sessions can be bound to a node and to checks: they end when a check turns critical, or when
   * the node or a check is deregistered. Members never run a check; programs outside of the cluster do, and report.
   * Ids, names and tags are valid UTF-8 without control characters, 1 to 255 bytes. The catalog holds at most 10 000 nodes,
   * 100 000 instances of services and 200 000 checks; one node has at most 1 024 instances and 2 048 checks, together at
   * most 2 MiB without the output of checks. All methods that write need the
   * cluster version that knows the catalog; before, they fail with FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static final class CatalogServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<CatalogServiceBlockingV2Stub> {
    private CatalogServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * RegisterNode writes a node, and services and checks on it, completely or not at all. What exists is replaced;
     * registering what is there already changes nothing. A check that is registered as critical, or that already was, ends
     * the sessions that are bound to it. Errors: INVALID_ARGUMENT, NODE_ID_CONFLICT, NODE_NOT_FOUND, SERVICE_NOT_FOUND,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.RegisterNodeResponse registerNode(io.tenure.v1.RegisterNodeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRegisterNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SyncNode writes and deletes what the agent of a node registers. Calls are numbered, and a late one is refused.
     * Errors: INVALID_ARGUMENT, NODE_NOT_FOUND, NODE_ID_CONFLICT, SERVICE_NOT_FOUND, SYNC_OUTDATED, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.SyncNodeResponse syncNode(io.tenure.v1.SyncNodeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSyncNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * UpdateCheck reports the status of a check. Errors: INVALID_ARGUMENT, CHECK_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.UpdateCheckResponse updateCheck(io.tenure.v1.UpdateCheckRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeregisterNode deletes a node with all its services and checks, and ends all sessions that are bound to the node. A
     * missing node is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.DeregisterNodeResponse deregisterNode(io.tenure.v1.DeregisterNodeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeregisterNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeregisterService deletes an instance of a service with its checks, and ends the sessions that are bound to these
     * checks. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.DeregisterServiceResponse deregisterService(io.tenure.v1.DeregisterServiceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeregisterServiceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeregisterCheck deletes a check and ends the sessions that are bound to it. A missing one is not an error. Errors:
     * INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.DeregisterCheckResponse deregisterCheck(io.tenure.v1.DeregisterCheckRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeregisterCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetNode returns a node with its services and checks, in pages. Errors: NODE_NOT_FOUND, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.GetNodeResponse getNode(io.tenure.v1.GetNodeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListNodes lists nodes, ordered by the lower case of their names, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListNodesResponse listNodes(io.tenure.v1.ListNodesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListNodesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListServices lists the names of services, in order, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListServicesResponse listServices(io.tenure.v1.ListServicesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListServicesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListInstances lists the instances of a service with their nodes and checks, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListInstancesResponse listInstances(io.tenure.v1.ListInstancesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListInstancesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListChecks lists checks, ordered by node and id, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListChecksResponse listChecks(io.tenure.v1.ListChecksRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListChecksMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service CatalogService.
   * <pre>
   * CatalogService keeps the catalog: which machines there are (nodes), which instances of services run on them, and how
   * checks say that they are. Sessions can be bound to a node and to checks: they end when a check turns critical, or when
   * the node or a check is deregistered. Members never run a check; programs outside of the cluster do, and report.
   * Ids, names and tags are valid UTF-8 without control characters, 1 to 255 bytes. The catalog holds at most 10 000 nodes,
   * 100 000 instances of services and 200 000 checks; one node has at most 1 024 instances and 2 048 checks, together at
   * most 2 MiB without the output of checks. All methods that write need the
   * cluster version that knows the catalog; before, they fail with FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static final class CatalogServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<CatalogServiceBlockingStub> {
    private CatalogServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * RegisterNode writes a node, and services and checks on it, completely or not at all. What exists is replaced;
     * registering what is there already changes nothing. A check that is registered as critical, or that already was, ends
     * the sessions that are bound to it. Errors: INVALID_ARGUMENT, NODE_ID_CONFLICT, NODE_NOT_FOUND, SERVICE_NOT_FOUND,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.RegisterNodeResponse registerNode(io.tenure.v1.RegisterNodeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRegisterNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SyncNode writes and deletes what the agent of a node registers. Calls are numbered, and a late one is refused.
     * Errors: INVALID_ARGUMENT, NODE_NOT_FOUND, NODE_ID_CONFLICT, SERVICE_NOT_FOUND, SYNC_OUTDATED, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.SyncNodeResponse syncNode(io.tenure.v1.SyncNodeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSyncNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * UpdateCheck reports the status of a check. Errors: INVALID_ARGUMENT, CHECK_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.UpdateCheckResponse updateCheck(io.tenure.v1.UpdateCheckRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeregisterNode deletes a node with all its services and checks, and ends all sessions that are bound to the node. A
     * missing node is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.DeregisterNodeResponse deregisterNode(io.tenure.v1.DeregisterNodeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeregisterNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeregisterService deletes an instance of a service with its checks, and ends the sessions that are bound to these
     * checks. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.DeregisterServiceResponse deregisterService(io.tenure.v1.DeregisterServiceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeregisterServiceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeregisterCheck deletes a check and ends the sessions that are bound to it. A missing one is not an error. Errors:
     * INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.DeregisterCheckResponse deregisterCheck(io.tenure.v1.DeregisterCheckRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeregisterCheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetNode returns a node with its services and checks, in pages. Errors: NODE_NOT_FOUND, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.GetNodeResponse getNode(io.tenure.v1.GetNodeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListNodes lists nodes, ordered by the lower case of their names, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListNodesResponse listNodes(io.tenure.v1.ListNodesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListNodesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListServices lists the names of services, in order, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListServicesResponse listServices(io.tenure.v1.ListServicesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListServicesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListInstances lists the instances of a service with their nodes and checks, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListInstancesResponse listInstances(io.tenure.v1.ListInstancesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListInstancesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListChecks lists checks, ordered by node and id, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListChecksResponse listChecks(io.tenure.v1.ListChecksRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListChecksMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service CatalogService.
   * <pre>
   * CatalogService keeps the catalog: which machines there are (nodes), which instances of services run on them, and how
   * checks say that they are. Sessions can be bound to a node and to checks: they end when a check turns critical, or when
   * the node or a check is deregistered. Members never run a check; programs outside of the cluster do, and report.
   * Ids, names and tags are valid UTF-8 without control characters, 1 to 255 bytes. The catalog holds at most 10 000 nodes,
   * 100 000 instances of services and 200 000 checks; one node has at most 1 024 instances and 2 048 checks, together at
   * most 2 MiB without the output of checks. All methods that write need the
   * cluster version that knows the catalog; before, they fail with FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static final class CatalogServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<CatalogServiceFutureStub> {
    private CatalogServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * RegisterNode writes a node, and services and checks on it, completely or not at all. What exists is replaced;
     * registering what is there already changes nothing. A check that is registered as critical, or that already was, ends
     * the sessions that are bound to it. Errors: INVALID_ARGUMENT, NODE_ID_CONFLICT, NODE_NOT_FOUND, SERVICE_NOT_FOUND,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.RegisterNodeResponse> registerNode(
        io.tenure.v1.RegisterNodeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRegisterNodeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * SyncNode writes and deletes what the agent of a node registers. Calls are numbered, and a late one is refused.
     * Errors: INVALID_ARGUMENT, NODE_NOT_FOUND, NODE_ID_CONFLICT, SERVICE_NOT_FOUND, SYNC_OUTDATED, LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.SyncNodeResponse> syncNode(
        io.tenure.v1.SyncNodeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSyncNodeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * UpdateCheck reports the status of a check. Errors: INVALID_ARGUMENT, CHECK_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.UpdateCheckResponse> updateCheck(
        io.tenure.v1.UpdateCheckRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateCheckMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DeregisterNode deletes a node with all its services and checks, and ends all sessions that are bound to the node. A
     * missing node is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeregisterNodeResponse> deregisterNode(
        io.tenure.v1.DeregisterNodeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeregisterNodeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DeregisterService deletes an instance of a service with its checks, and ends the sessions that are bound to these
     * checks. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeregisterServiceResponse> deregisterService(
        io.tenure.v1.DeregisterServiceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeregisterServiceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DeregisterCheck deletes a check and ends the sessions that are bound to it. A missing one is not an error. Errors:
     * INVALID_ARGUMENT.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeregisterCheckResponse> deregisterCheck(
        io.tenure.v1.DeregisterCheckRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeregisterCheckMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetNode returns a node with its services and checks, in pages. Errors: NODE_NOT_FOUND, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetNodeResponse> getNode(
        io.tenure.v1.GetNodeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetNodeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListNodes lists nodes, ordered by the lower case of their names, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListNodesResponse> listNodes(
        io.tenure.v1.ListNodesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListNodesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListServices lists the names of services, in order, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListServicesResponse> listServices(
        io.tenure.v1.ListServicesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListServicesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListInstances lists the instances of a service with their nodes and checks, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListInstancesResponse> listInstances(
        io.tenure.v1.ListInstancesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListInstancesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListChecks lists checks, ordered by node and id, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListChecksResponse> listChecks(
        io.tenure.v1.ListChecksRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListChecksMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_REGISTER_NODE = 0;
  private static final int METHODID_SYNC_NODE = 1;
  private static final int METHODID_UPDATE_CHECK = 2;
  private static final int METHODID_DEREGISTER_NODE = 3;
  private static final int METHODID_DEREGISTER_SERVICE = 4;
  private static final int METHODID_DEREGISTER_CHECK = 5;
  private static final int METHODID_GET_NODE = 6;
  private static final int METHODID_LIST_NODES = 7;
  private static final int METHODID_LIST_SERVICES = 8;
  private static final int METHODID_LIST_INSTANCES = 9;
  private static final int METHODID_LIST_CHECKS = 10;

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
        case METHODID_REGISTER_NODE:
          serviceImpl.registerNode((io.tenure.v1.RegisterNodeRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.RegisterNodeResponse>) responseObserver);
          break;
        case METHODID_SYNC_NODE:
          serviceImpl.syncNode((io.tenure.v1.SyncNodeRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.SyncNodeResponse>) responseObserver);
          break;
        case METHODID_UPDATE_CHECK:
          serviceImpl.updateCheck((io.tenure.v1.UpdateCheckRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.UpdateCheckResponse>) responseObserver);
          break;
        case METHODID_DEREGISTER_NODE:
          serviceImpl.deregisterNode((io.tenure.v1.DeregisterNodeRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterNodeResponse>) responseObserver);
          break;
        case METHODID_DEREGISTER_SERVICE:
          serviceImpl.deregisterService((io.tenure.v1.DeregisterServiceRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterServiceResponse>) responseObserver);
          break;
        case METHODID_DEREGISTER_CHECK:
          serviceImpl.deregisterCheck((io.tenure.v1.DeregisterCheckRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeregisterCheckResponse>) responseObserver);
          break;
        case METHODID_GET_NODE:
          serviceImpl.getNode((io.tenure.v1.GetNodeRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetNodeResponse>) responseObserver);
          break;
        case METHODID_LIST_NODES:
          serviceImpl.listNodes((io.tenure.v1.ListNodesRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListNodesResponse>) responseObserver);
          break;
        case METHODID_LIST_SERVICES:
          serviceImpl.listServices((io.tenure.v1.ListServicesRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListServicesResponse>) responseObserver);
          break;
        case METHODID_LIST_INSTANCES:
          serviceImpl.listInstances((io.tenure.v1.ListInstancesRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListInstancesResponse>) responseObserver);
          break;
        case METHODID_LIST_CHECKS:
          serviceImpl.listChecks((io.tenure.v1.ListChecksRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListChecksResponse>) responseObserver);
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
          getRegisterNodeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.RegisterNodeRequest,
              io.tenure.v1.RegisterNodeResponse>(
                service, METHODID_REGISTER_NODE)))
        .addMethod(
          getSyncNodeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.SyncNodeRequest,
              io.tenure.v1.SyncNodeResponse>(
                service, METHODID_SYNC_NODE)))
        .addMethod(
          getUpdateCheckMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.UpdateCheckRequest,
              io.tenure.v1.UpdateCheckResponse>(
                service, METHODID_UPDATE_CHECK)))
        .addMethod(
          getDeregisterNodeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeregisterNodeRequest,
              io.tenure.v1.DeregisterNodeResponse>(
                service, METHODID_DEREGISTER_NODE)))
        .addMethod(
          getDeregisterServiceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeregisterServiceRequest,
              io.tenure.v1.DeregisterServiceResponse>(
                service, METHODID_DEREGISTER_SERVICE)))
        .addMethod(
          getDeregisterCheckMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeregisterCheckRequest,
              io.tenure.v1.DeregisterCheckResponse>(
                service, METHODID_DEREGISTER_CHECK)))
        .addMethod(
          getGetNodeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetNodeRequest,
              io.tenure.v1.GetNodeResponse>(
                service, METHODID_GET_NODE)))
        .addMethod(
          getListNodesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListNodesRequest,
              io.tenure.v1.ListNodesResponse>(
                service, METHODID_LIST_NODES)))
        .addMethod(
          getListServicesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListServicesRequest,
              io.tenure.v1.ListServicesResponse>(
                service, METHODID_LIST_SERVICES)))
        .addMethod(
          getListInstancesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListInstancesRequest,
              io.tenure.v1.ListInstancesResponse>(
                service, METHODID_LIST_INSTANCES)))
        .addMethod(
          getListChecksMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListChecksRequest,
              io.tenure.v1.ListChecksResponse>(
                service, METHODID_LIST_CHECKS)))
        .build();
  }

  private static abstract class CatalogServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    CatalogServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.CatalogProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("CatalogService");
    }
  }

  private static final class CatalogServiceFileDescriptorSupplier
      extends CatalogServiceBaseDescriptorSupplier {
    CatalogServiceFileDescriptorSupplier() {}
  }

  private static final class CatalogServiceMethodDescriptorSupplier
      extends CatalogServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    CatalogServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (CatalogServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new CatalogServiceFileDescriptorSupplier())
              .addMethod(getRegisterNodeMethod())
              .addMethod(getSyncNodeMethod())
              .addMethod(getUpdateCheckMethod())
              .addMethod(getDeregisterNodeMethod())
              .addMethod(getDeregisterServiceMethod())
              .addMethod(getDeregisterCheckMethod())
              .addMethod(getGetNodeMethod())
              .addMethod(getListNodesMethod())
              .addMethod(getListServicesMethod())
              .addMethod(getListInstancesMethod())
              .addMethod(getListChecksMethod())
              .build();
        }
      }
    }
    return result;
  }
}
