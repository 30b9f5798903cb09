package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * ClusterService is for operators: status, members, limits, history and backups.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ClusterServiceGrpc {

  private ClusterServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.ClusterService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetStatusRequest,
      io.tenure.v1.GetStatusResponse> getGetStatusMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetStatus",
      requestType = io.tenure.v1.GetStatusRequest.class,
      responseType = io.tenure.v1.GetStatusResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetStatusRequest,
      io.tenure.v1.GetStatusResponse> getGetStatusMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetStatusRequest, io.tenure.v1.GetStatusResponse> getGetStatusMethod;
    if ((getGetStatusMethod = ClusterServiceGrpc.getGetStatusMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getGetStatusMethod = ClusterServiceGrpc.getGetStatusMethod) == null) {
          ClusterServiceGrpc.getGetStatusMethod = getGetStatusMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetStatusRequest, io.tenure.v1.GetStatusResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetStatus"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetStatusRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetStatusResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("GetStatus"))
              .build();
        }
      }
    }
    return getGetStatusMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListMembersRequest,
      io.tenure.v1.ListMembersResponse> getListMembersMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListMembers",
      requestType = io.tenure.v1.ListMembersRequest.class,
      responseType = io.tenure.v1.ListMembersResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListMembersRequest,
      io.tenure.v1.ListMembersResponse> getListMembersMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListMembersRequest, io.tenure.v1.ListMembersResponse> getListMembersMethod;
    if ((getListMembersMethod = ClusterServiceGrpc.getListMembersMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getListMembersMethod = ClusterServiceGrpc.getListMembersMethod) == null) {
          ClusterServiceGrpc.getListMembersMethod = getListMembersMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListMembersRequest, io.tenure.v1.ListMembersResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListMembers"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListMembersRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListMembersResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("ListMembers"))
              .build();
        }
      }
    }
    return getListMembersMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.AddMemberRequest,
      io.tenure.v1.AddMemberResponse> getAddMemberMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddMember",
      requestType = io.tenure.v1.AddMemberRequest.class,
      responseType = io.tenure.v1.AddMemberResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.AddMemberRequest,
      io.tenure.v1.AddMemberResponse> getAddMemberMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.AddMemberRequest, io.tenure.v1.AddMemberResponse> getAddMemberMethod;
    if ((getAddMemberMethod = ClusterServiceGrpc.getAddMemberMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getAddMemberMethod = ClusterServiceGrpc.getAddMemberMethod) == null) {
          ClusterServiceGrpc.getAddMemberMethod = getAddMemberMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.AddMemberRequest, io.tenure.v1.AddMemberResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddMember"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AddMemberRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AddMemberResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("AddMember"))
              .build();
        }
      }
    }
    return getAddMemberMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.PromoteMemberRequest,
      io.tenure.v1.PromoteMemberResponse> getPromoteMemberMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PromoteMember",
      requestType = io.tenure.v1.PromoteMemberRequest.class,
      responseType = io.tenure.v1.PromoteMemberResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.PromoteMemberRequest,
      io.tenure.v1.PromoteMemberResponse> getPromoteMemberMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.PromoteMemberRequest, io.tenure.v1.PromoteMemberResponse> getPromoteMemberMethod;
    if ((getPromoteMemberMethod = ClusterServiceGrpc.getPromoteMemberMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getPromoteMemberMethod = ClusterServiceGrpc.getPromoteMemberMethod) == null) {
          ClusterServiceGrpc.getPromoteMemberMethod = getPromoteMemberMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.PromoteMemberRequest, io.tenure.v1.PromoteMemberResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PromoteMember"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PromoteMemberRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PromoteMemberResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("PromoteMember"))
              .build();
        }
      }
    }
    return getPromoteMemberMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.RemoveMemberRequest,
      io.tenure.v1.RemoveMemberResponse> getRemoveMemberMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RemoveMember",
      requestType = io.tenure.v1.RemoveMemberRequest.class,
      responseType = io.tenure.v1.RemoveMemberResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.RemoveMemberRequest,
      io.tenure.v1.RemoveMemberResponse> getRemoveMemberMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.RemoveMemberRequest, io.tenure.v1.RemoveMemberResponse> getRemoveMemberMethod;
    if ((getRemoveMemberMethod = ClusterServiceGrpc.getRemoveMemberMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getRemoveMemberMethod = ClusterServiceGrpc.getRemoveMemberMethod) == null) {
          ClusterServiceGrpc.getRemoveMemberMethod = getRemoveMemberMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.RemoveMemberRequest, io.tenure.v1.RemoveMemberResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RemoveMember"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RemoveMemberRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RemoveMemberResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("RemoveMember"))
              .build();
        }
      }
    }
    return getRemoveMemberMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ReplaceMemberRequest,
      io.tenure.v1.ReplaceMemberResponse> getReplaceMemberMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReplaceMember",
      requestType = io.tenure.v1.ReplaceMemberRequest.class,
      responseType = io.tenure.v1.ReplaceMemberResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ReplaceMemberRequest,
      io.tenure.v1.ReplaceMemberResponse> getReplaceMemberMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ReplaceMemberRequest, io.tenure.v1.ReplaceMemberResponse> getReplaceMemberMethod;
    if ((getReplaceMemberMethod = ClusterServiceGrpc.getReplaceMemberMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getReplaceMemberMethod = ClusterServiceGrpc.getReplaceMemberMethod) == null) {
          ClusterServiceGrpc.getReplaceMemberMethod = getReplaceMemberMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ReplaceMemberRequest, io.tenure.v1.ReplaceMemberResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReplaceMember"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ReplaceMemberRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ReplaceMemberResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("ReplaceMember"))
              .build();
        }
      }
    }
    return getReplaceMemberMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.TransferLeadershipRequest,
      io.tenure.v1.TransferLeadershipResponse> getTransferLeadershipMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "TransferLeadership",
      requestType = io.tenure.v1.TransferLeadershipRequest.class,
      responseType = io.tenure.v1.TransferLeadershipResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.TransferLeadershipRequest,
      io.tenure.v1.TransferLeadershipResponse> getTransferLeadershipMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.TransferLeadershipRequest, io.tenure.v1.TransferLeadershipResponse> getTransferLeadershipMethod;
    if ((getTransferLeadershipMethod = ClusterServiceGrpc.getTransferLeadershipMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getTransferLeadershipMethod = ClusterServiceGrpc.getTransferLeadershipMethod) == null) {
          ClusterServiceGrpc.getTransferLeadershipMethod = getTransferLeadershipMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.TransferLeadershipRequest, io.tenure.v1.TransferLeadershipResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "TransferLeadership"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.TransferLeadershipRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.TransferLeadershipResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("TransferLeadership"))
              .build();
        }
      }
    }
    return getTransferLeadershipMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetLimitsRequest,
      io.tenure.v1.GetLimitsResponse> getGetLimitsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetLimits",
      requestType = io.tenure.v1.GetLimitsRequest.class,
      responseType = io.tenure.v1.GetLimitsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetLimitsRequest,
      io.tenure.v1.GetLimitsResponse> getGetLimitsMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetLimitsRequest, io.tenure.v1.GetLimitsResponse> getGetLimitsMethod;
    if ((getGetLimitsMethod = ClusterServiceGrpc.getGetLimitsMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getGetLimitsMethod = ClusterServiceGrpc.getGetLimitsMethod) == null) {
          ClusterServiceGrpc.getGetLimitsMethod = getGetLimitsMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetLimitsRequest, io.tenure.v1.GetLimitsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetLimits"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetLimitsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetLimitsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("GetLimits"))
              .build();
        }
      }
    }
    return getGetLimitsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.SetLimitsRequest,
      io.tenure.v1.SetLimitsResponse> getSetLimitsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetLimits",
      requestType = io.tenure.v1.SetLimitsRequest.class,
      responseType = io.tenure.v1.SetLimitsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.SetLimitsRequest,
      io.tenure.v1.SetLimitsResponse> getSetLimitsMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.SetLimitsRequest, io.tenure.v1.SetLimitsResponse> getSetLimitsMethod;
    if ((getSetLimitsMethod = ClusterServiceGrpc.getSetLimitsMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getSetLimitsMethod = ClusterServiceGrpc.getSetLimitsMethod) == null) {
          ClusterServiceGrpc.getSetLimitsMethod = getSetLimitsMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.SetLimitsRequest, io.tenure.v1.SetLimitsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetLimits"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.SetLimitsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.SetLimitsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("SetLimits"))
              .build();
        }
      }
    }
    return getSetLimitsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.CompactRequest,
      io.tenure.v1.CompactResponse> getCompactMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Compact",
      requestType = io.tenure.v1.CompactRequest.class,
      responseType = io.tenure.v1.CompactResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.CompactRequest,
      io.tenure.v1.CompactResponse> getCompactMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.CompactRequest, io.tenure.v1.CompactResponse> getCompactMethod;
    if ((getCompactMethod = ClusterServiceGrpc.getCompactMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getCompactMethod = ClusterServiceGrpc.getCompactMethod) == null) {
          ClusterServiceGrpc.getCompactMethod = getCompactMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.CompactRequest, io.tenure.v1.CompactResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Compact"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CompactRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CompactResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("Compact"))
              .build();
        }
      }
    }
    return getCompactMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.EndFreezeRequest,
      io.tenure.v1.EndFreezeResponse> getEndFreezeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "EndFreeze",
      requestType = io.tenure.v1.EndFreezeRequest.class,
      responseType = io.tenure.v1.EndFreezeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.EndFreezeRequest,
      io.tenure.v1.EndFreezeResponse> getEndFreezeMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.EndFreezeRequest, io.tenure.v1.EndFreezeResponse> getEndFreezeMethod;
    if ((getEndFreezeMethod = ClusterServiceGrpc.getEndFreezeMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getEndFreezeMethod = ClusterServiceGrpc.getEndFreezeMethod) == null) {
          ClusterServiceGrpc.getEndFreezeMethod = getEndFreezeMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.EndFreezeRequest, io.tenure.v1.EndFreezeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "EndFreeze"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.EndFreezeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.EndFreezeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("EndFreeze"))
              .build();
        }
      }
    }
    return getEndFreezeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.BackupRequest,
      io.tenure.v1.BackupResponse> getBackupMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Backup",
      requestType = io.tenure.v1.BackupRequest.class,
      responseType = io.tenure.v1.BackupResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.tenure.v1.BackupRequest,
      io.tenure.v1.BackupResponse> getBackupMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.BackupRequest, io.tenure.v1.BackupResponse> getBackupMethod;
    if ((getBackupMethod = ClusterServiceGrpc.getBackupMethod) == null) {
      synchronized (ClusterServiceGrpc.class) {
        if ((getBackupMethod = ClusterServiceGrpc.getBackupMethod) == null) {
          ClusterServiceGrpc.getBackupMethod = getBackupMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.BackupRequest, io.tenure.v1.BackupResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Backup"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.BackupRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.BackupResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ClusterServiceMethodDescriptorSupplier("Backup"))
              .build();
        }
      }
    }
    return getBackupMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ClusterServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ClusterServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ClusterServiceStub>() {
        @java.lang.Override
        public ClusterServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ClusterServiceStub(channel, callOptions);
        }
      };
    return ClusterServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ClusterServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ClusterServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ClusterServiceBlockingV2Stub>() {
        @java.lang.Override
        public ClusterServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ClusterServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ClusterServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ClusterServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ClusterServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ClusterServiceBlockingStub>() {
        @java.lang.Override
        public ClusterServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ClusterServiceBlockingStub(channel, callOptions);
        }
      };
    return ClusterServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ClusterServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ClusterServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ClusterServiceFutureStub>() {
        @java.lang.Override
        public ClusterServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ClusterServiceFutureStub(channel, callOptions);
        }
      };
    return ClusterServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * ClusterService is for operators: status, members, limits, history and backups.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * GetStatus returns the cluster's status as the answering member sees it. It works even without a leader.
     * </pre>
     */
    default void getStatus(io.tenure.v1.GetStatusRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetStatusResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetStatusMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListMembers lists the members.
     * </pre>
     */
    default void listMembers(io.tenure.v1.ListMembersRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListMembersResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMembersMethod(), responseObserver);
    }

    /**
     * <pre>
     * AddMember makes a join token for a new member. Start the member on an empty directory with --join and this token.
     * It copies the state as a learner and votes once it has caught up. If no member has joined with the name's earlier
     * token, a new call makes a new token and invalidates the earlier one. Errors: MEMBERSHIP_REFUSED, LIMIT_EXCEEDED;
     * FEATURE_NOT_ENABLED until every member supports join tokens and the cluster version was raised.
     * </pre>
     */
    default void addMember(io.tenure.v1.AddMemberRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AddMemberResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddMemberMethod(), responseObserver);
    }

    /**
     * <pre>
     * PromoteMember makes a learner a voter. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    default void promoteMember(io.tenure.v1.PromoteMemberRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PromoteMemberResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPromoteMemberMethod(), responseObserver);
    }

    /**
     * <pre>
     * RemoveMember removes a member permanently. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    default void removeMember(io.tenure.v1.RemoveMemberRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RemoveMemberResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRemoveMemberMethod(), responseObserver);
    }

    /**
     * <pre>
     * ReplaceMember makes a join token for a new member that takes the place of an old one. Once the new one has caught
     * up, a single joint change removes the old one and, if the old one was a voter, makes the new one a voter. Errors:
     * MEMBER_NOT_FOUND, and those of AddMember.
     * </pre>
     */
    default void replaceMember(io.tenure.v1.ReplaceMemberRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ReplaceMemberResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReplaceMemberMethod(), responseObserver);
    }

    /**
     * <pre>
     * TransferLeadership moves leadership to another member. Errors: MEMBER_NOT_FOUND, NO_LEADER.
     * </pre>
     */
    default void transferLeadership(io.tenure.v1.TransferLeadershipRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.TransferLeadershipResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getTransferLeadershipMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetLimits returns the replicated limits in force.
     * </pre>
     */
    default void getLimits(io.tenure.v1.GetLimitsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetLimitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetLimitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * SetLimits changes replicated limits. Errors: INVALID_ARGUMENT for a limit outside its bounds; LIMIT_IN_USE for one that
     * is lowered below what is in use now, unless the request says force.
     * </pre>
     */
    default void setLimits(io.tenure.v1.SetLimitsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.SetLimitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetLimitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Compact discards history. Errors: REVISION_COMPACTED, REVISION_FUTURE.
     * </pre>
     */
    default void compact(io.tenure.v1.CompactRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CompactResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCompactMethod(), responseObserver);
    }

    /**
     * <pre>
     * EndFreeze ends the freeze of grants after a restore early. It is for operators who know that no client can still
     * rely on an earlier lock. If grants are not frozen, that is not an error. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    default void endFreeze(io.tenure.v1.EndFreezeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.EndFreezeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getEndFreezeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Backup streams a consistent, checksummed, logical copy of the store.
     * </pre>
     */
    default void backup(io.tenure.v1.BackupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.BackupResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBackupMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ClusterService.
   * <pre>
   * ClusterService is for operators: status, members, limits, history and backups.
   * </pre>
   */
  public static abstract class ClusterServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ClusterServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ClusterService.
   * <pre>
   * ClusterService is for operators: status, members, limits, history and backups.
   * </pre>
   */
  public static final class ClusterServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ClusterServiceStub> {
    private ClusterServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ClusterServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ClusterServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetStatus returns the cluster's status as the answering member sees it. It works even without a leader.
     * </pre>
     */
    public void getStatus(io.tenure.v1.GetStatusRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetStatusResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetStatusMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListMembers lists the members.
     * </pre>
     */
    public void listMembers(io.tenure.v1.ListMembersRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListMembersResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMembersMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * AddMember makes a join token for a new member. Start the member on an empty directory with --join and this token.
     * It copies the state as a learner and votes once it has caught up. If no member has joined with the name's earlier
     * token, a new call makes a new token and invalidates the earlier one. Errors: MEMBERSHIP_REFUSED, LIMIT_EXCEEDED;
     * FEATURE_NOT_ENABLED until every member supports join tokens and the cluster version was raised.
     * </pre>
     */
    public void addMember(io.tenure.v1.AddMemberRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AddMemberResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddMemberMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * PromoteMember makes a learner a voter. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    public void promoteMember(io.tenure.v1.PromoteMemberRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PromoteMemberResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPromoteMemberMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * RemoveMember removes a member permanently. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    public void removeMember(io.tenure.v1.RemoveMemberRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RemoveMemberResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRemoveMemberMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ReplaceMember makes a join token for a new member that takes the place of an old one. Once the new one has caught
     * up, a single joint change removes the old one and, if the old one was a voter, makes the new one a voter. Errors:
     * MEMBER_NOT_FOUND, and those of AddMember.
     * </pre>
     */
    public void replaceMember(io.tenure.v1.ReplaceMemberRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ReplaceMemberResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReplaceMemberMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * TransferLeadership moves leadership to another member. Errors: MEMBER_NOT_FOUND, NO_LEADER.
     * </pre>
     */
    public void transferLeadership(io.tenure.v1.TransferLeadershipRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.TransferLeadershipResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getTransferLeadershipMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetLimits returns the replicated limits in force.
     * </pre>
     */
    public void getLimits(io.tenure.v1.GetLimitsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetLimitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetLimitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * SetLimits changes replicated limits. Errors: INVALID_ARGUMENT for a limit outside its bounds; LIMIT_IN_USE for one that
     * is lowered below what is in use now, unless the request says force.
     * </pre>
     */
    public void setLimits(io.tenure.v1.SetLimitsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.SetLimitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetLimitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Compact discards history. Errors: REVISION_COMPACTED, REVISION_FUTURE.
     * </pre>
     */
    public void compact(io.tenure.v1.CompactRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CompactResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCompactMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * EndFreeze ends the freeze of grants after a restore early. It is for operators who know that no client can still
     * rely on an earlier lock. If grants are not frozen, that is not an error. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    public void endFreeze(io.tenure.v1.EndFreezeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.EndFreezeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getEndFreezeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Backup streams a consistent, checksummed, logical copy of the store.
     * </pre>
     */
    public void backup(io.tenure.v1.BackupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.BackupResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getBackupMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ClusterService.
   * <pre>
   * ClusterService is for operators: status, members, limits, history and backups.
   * </pre>
   */
  public static final class ClusterServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ClusterServiceBlockingV2Stub> {
    private ClusterServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ClusterServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ClusterServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * GetStatus returns the cluster's status as the answering member sees it. It works even without a leader.
     * </pre>
     */
    public io.tenure.v1.GetStatusResponse getStatus(io.tenure.v1.GetStatusRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetStatusMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListMembers lists the members.
     * </pre>
     */
    public io.tenure.v1.ListMembersResponse listMembers(io.tenure.v1.ListMembersRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMembersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AddMember makes a join token for a new member. Start the member on an empty directory with --join and this token.
     * It copies the state as a learner and votes once it has caught up. If no member has joined with the name's earlier
     * token, a new call makes a new token and invalidates the earlier one. Errors: MEMBERSHIP_REFUSED, LIMIT_EXCEEDED;
     * FEATURE_NOT_ENABLED until every member supports join tokens and the cluster version was raised.
     * </pre>
     */
    public io.tenure.v1.AddMemberResponse addMember(io.tenure.v1.AddMemberRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAddMemberMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * PromoteMember makes a learner a voter. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    public io.tenure.v1.PromoteMemberResponse promoteMember(io.tenure.v1.PromoteMemberRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPromoteMemberMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RemoveMember removes a member permanently. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    public io.tenure.v1.RemoveMemberResponse removeMember(io.tenure.v1.RemoveMemberRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRemoveMemberMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReplaceMember makes a join token for a new member that takes the place of an old one. Once the new one has caught
     * up, a single joint change removes the old one and, if the old one was a voter, makes the new one a voter. Errors:
     * MEMBER_NOT_FOUND, and those of AddMember.
     * </pre>
     */
    public io.tenure.v1.ReplaceMemberResponse replaceMember(io.tenure.v1.ReplaceMemberRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReplaceMemberMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * TransferLeadership moves leadership to another member. Errors: MEMBER_NOT_FOUND, NO_LEADER.
     * </pre>
     */
    public io.tenure.v1.TransferLeadershipResponse transferLeadership(io.tenure.v1.TransferLeadershipRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getTransferLeadershipMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetLimits returns the replicated limits in force.
     * </pre>
     */
    public io.tenure.v1.GetLimitsResponse getLimits(io.tenure.v1.GetLimitsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetLimitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SetLimits changes replicated limits. Errors: INVALID_ARGUMENT for a limit outside its bounds; LIMIT_IN_USE for one that
     * is lowered below what is in use now, unless the request says force.
     * </pre>
     */
    public io.tenure.v1.SetLimitsResponse setLimits(io.tenure.v1.SetLimitsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetLimitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Compact discards history. Errors: REVISION_COMPACTED, REVISION_FUTURE.
     * </pre>
     */
    public io.tenure.v1.CompactResponse compact(io.tenure.v1.CompactRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCompactMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * EndFreeze ends the freeze of grants after a restore early. It is for operators who know that no client can still
     * rely on an earlier lock. If grants are not frozen, that is not an error. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    public io.tenure.v1.EndFreezeResponse endFreeze(io.tenure.v1.EndFreezeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getEndFreezeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Backup streams a consistent, checksummed, logical copy of the store.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.tenure.v1.BackupResponse>
        backup(io.tenure.v1.BackupRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getBackupMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ClusterService.
   * <pre>
   * ClusterService is for operators: status, members, limits, history and backups.
   * </pre>
   */
  public static final class ClusterServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ClusterServiceBlockingStub> {
    private ClusterServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ClusterServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ClusterServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetStatus returns the cluster's status as the answering member sees it. It works even without a leader.
     * </pre>
     */
    public io.tenure.v1.GetStatusResponse getStatus(io.tenure.v1.GetStatusRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetStatusMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListMembers lists the members.
     * </pre>
     */
    public io.tenure.v1.ListMembersResponse listMembers(io.tenure.v1.ListMembersRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMembersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AddMember makes a join token for a new member. Start the member on an empty directory with --join and this token.
     * It copies the state as a learner and votes once it has caught up. If no member has joined with the name's earlier
     * token, a new call makes a new token and invalidates the earlier one. Errors: MEMBERSHIP_REFUSED, LIMIT_EXCEEDED;
     * FEATURE_NOT_ENABLED until every member supports join tokens and the cluster version was raised.
     * </pre>
     */
    public io.tenure.v1.AddMemberResponse addMember(io.tenure.v1.AddMemberRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddMemberMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * PromoteMember makes a learner a voter. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    public io.tenure.v1.PromoteMemberResponse promoteMember(io.tenure.v1.PromoteMemberRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPromoteMemberMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RemoveMember removes a member permanently. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    public io.tenure.v1.RemoveMemberResponse removeMember(io.tenure.v1.RemoveMemberRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRemoveMemberMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReplaceMember makes a join token for a new member that takes the place of an old one. Once the new one has caught
     * up, a single joint change removes the old one and, if the old one was a voter, makes the new one a voter. Errors:
     * MEMBER_NOT_FOUND, and those of AddMember.
     * </pre>
     */
    public io.tenure.v1.ReplaceMemberResponse replaceMember(io.tenure.v1.ReplaceMemberRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReplaceMemberMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * TransferLeadership moves leadership to another member. Errors: MEMBER_NOT_FOUND, NO_LEADER.
     * </pre>
     */
    public io.tenure.v1.TransferLeadershipResponse transferLeadership(io.tenure.v1.TransferLeadershipRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getTransferLeadershipMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetLimits returns the replicated limits in force.
     * </pre>
     */
    public io.tenure.v1.GetLimitsResponse getLimits(io.tenure.v1.GetLimitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetLimitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SetLimits changes replicated limits. Errors: INVALID_ARGUMENT for a limit outside its bounds; LIMIT_IN_USE for one that
     * is lowered below what is in use now, unless the request says force.
     * </pre>
     */
    public io.tenure.v1.SetLimitsResponse setLimits(io.tenure.v1.SetLimitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetLimitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Compact discards history. Errors: REVISION_COMPACTED, REVISION_FUTURE.
     * </pre>
     */
    public io.tenure.v1.CompactResponse compact(io.tenure.v1.CompactRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCompactMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * EndFreeze ends the freeze of grants after a restore early. It is for operators who know that no client can still
     * rely on an earlier lock. If grants are not frozen, that is not an error. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    public io.tenure.v1.EndFreezeResponse endFreeze(io.tenure.v1.EndFreezeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getEndFreezeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Backup streams a consistent, checksummed, logical copy of the store.
     * </pre>
     */
    public java.util.Iterator<io.tenure.v1.BackupResponse> backup(
        io.tenure.v1.BackupRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getBackupMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ClusterService.
   * <pre>
   * ClusterService is for operators: status, members, limits, history and backups.
   * </pre>
   */
  public static final class ClusterServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ClusterServiceFutureStub> {
    private ClusterServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ClusterServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ClusterServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetStatus returns the cluster's status as the answering member sees it. It works even without a leader.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetStatusResponse> getStatus(
        io.tenure.v1.GetStatusRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetStatusMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListMembers lists the members.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListMembersResponse> listMembers(
        io.tenure.v1.ListMembersRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMembersMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * AddMember makes a join token for a new member. Start the member on an empty directory with --join and this token.
     * It copies the state as a learner and votes once it has caught up. If no member has joined with the name's earlier
     * token, a new call makes a new token and invalidates the earlier one. Errors: MEMBERSHIP_REFUSED, LIMIT_EXCEEDED;
     * FEATURE_NOT_ENABLED until every member supports join tokens and the cluster version was raised.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.AddMemberResponse> addMember(
        io.tenure.v1.AddMemberRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddMemberMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * PromoteMember makes a learner a voter. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.PromoteMemberResponse> promoteMember(
        io.tenure.v1.PromoteMemberRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPromoteMemberMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * RemoveMember removes a member permanently. Errors: MEMBER_NOT_FOUND, MEMBERSHIP_REFUSED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.RemoveMemberResponse> removeMember(
        io.tenure.v1.RemoveMemberRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRemoveMemberMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ReplaceMember makes a join token for a new member that takes the place of an old one. Once the new one has caught
     * up, a single joint change removes the old one and, if the old one was a voter, makes the new one a voter. Errors:
     * MEMBER_NOT_FOUND, and those of AddMember.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ReplaceMemberResponse> replaceMember(
        io.tenure.v1.ReplaceMemberRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReplaceMemberMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * TransferLeadership moves leadership to another member. Errors: MEMBER_NOT_FOUND, NO_LEADER.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.TransferLeadershipResponse> transferLeadership(
        io.tenure.v1.TransferLeadershipRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getTransferLeadershipMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetLimits returns the replicated limits in force.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetLimitsResponse> getLimits(
        io.tenure.v1.GetLimitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetLimitsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * SetLimits changes replicated limits. Errors: INVALID_ARGUMENT for a limit outside its bounds; LIMIT_IN_USE for one that
     * is lowered below what is in use now, unless the request says force.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.SetLimitsResponse> setLimits(
        io.tenure.v1.SetLimitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetLimitsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Compact discards history. Errors: REVISION_COMPACTED, REVISION_FUTURE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.CompactResponse> compact(
        io.tenure.v1.CompactRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCompactMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * EndFreeze ends the freeze of grants after a restore early. It is for operators who know that no client can still
     * rely on an earlier lock. If grants are not frozen, that is not an error. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.EndFreezeResponse> endFreeze(
        io.tenure.v1.EndFreezeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getEndFreezeMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_STATUS = 0;
  private static final int METHODID_LIST_MEMBERS = 1;
  private static final int METHODID_ADD_MEMBER = 2;
  private static final int METHODID_PROMOTE_MEMBER = 3;
  private static final int METHODID_REMOVE_MEMBER = 4;
  private static final int METHODID_REPLACE_MEMBER = 5;
  private static final int METHODID_TRANSFER_LEADERSHIP = 6;
  private static final int METHODID_GET_LIMITS = 7;
  private static final int METHODID_SET_LIMITS = 8;
  private static final int METHODID_COMPACT = 9;
  private static final int METHODID_END_FREEZE = 10;
  private static final int METHODID_BACKUP = 11;

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
        case METHODID_GET_STATUS:
          serviceImpl.getStatus((io.tenure.v1.GetStatusRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetStatusResponse>) responseObserver);
          break;
        case METHODID_LIST_MEMBERS:
          serviceImpl.listMembers((io.tenure.v1.ListMembersRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListMembersResponse>) responseObserver);
          break;
        case METHODID_ADD_MEMBER:
          serviceImpl.addMember((io.tenure.v1.AddMemberRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.AddMemberResponse>) responseObserver);
          break;
        case METHODID_PROMOTE_MEMBER:
          serviceImpl.promoteMember((io.tenure.v1.PromoteMemberRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.PromoteMemberResponse>) responseObserver);
          break;
        case METHODID_REMOVE_MEMBER:
          serviceImpl.removeMember((io.tenure.v1.RemoveMemberRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.RemoveMemberResponse>) responseObserver);
          break;
        case METHODID_REPLACE_MEMBER:
          serviceImpl.replaceMember((io.tenure.v1.ReplaceMemberRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ReplaceMemberResponse>) responseObserver);
          break;
        case METHODID_TRANSFER_LEADERSHIP:
          serviceImpl.transferLeadership((io.tenure.v1.TransferLeadershipRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.TransferLeadershipResponse>) responseObserver);
          break;
        case METHODID_GET_LIMITS:
          serviceImpl.getLimits((io.tenure.v1.GetLimitsRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetLimitsResponse>) responseObserver);
          break;
        case METHODID_SET_LIMITS:
          serviceImpl.setLimits((io.tenure.v1.SetLimitsRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.SetLimitsResponse>) responseObserver);
          break;
        case METHODID_COMPACT:
          serviceImpl.compact((io.tenure.v1.CompactRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.CompactResponse>) responseObserver);
          break;
        case METHODID_END_FREEZE:
          serviceImpl.endFreeze((io.tenure.v1.EndFreezeRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.EndFreezeResponse>) responseObserver);
          break;
        case METHODID_BACKUP:
          serviceImpl.backup((io.tenure.v1.BackupRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.BackupResponse>) responseObserver);
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
          getGetStatusMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetStatusRequest,
              io.tenure.v1.GetStatusResponse>(
                service, METHODID_GET_STATUS)))
        .addMethod(
          getListMembersMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListMembersRequest,
              io.tenure.v1.ListMembersResponse>(
                service, METHODID_LIST_MEMBERS)))
        .addMethod(
          getAddMemberMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.AddMemberRequest,
              io.tenure.v1.AddMemberResponse>(
                service, METHODID_ADD_MEMBER)))
        .addMethod(
          getPromoteMemberMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.PromoteMemberRequest,
              io.tenure.v1.PromoteMemberResponse>(
                service, METHODID_PROMOTE_MEMBER)))
        .addMethod(
          getRemoveMemberMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.RemoveMemberRequest,
              io.tenure.v1.RemoveMemberResponse>(
                service, METHODID_REMOVE_MEMBER)))
        .addMethod(
          getReplaceMemberMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ReplaceMemberRequest,
              io.tenure.v1.ReplaceMemberResponse>(
                service, METHODID_REPLACE_MEMBER)))
        .addMethod(
          getTransferLeadershipMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.TransferLeadershipRequest,
              io.tenure.v1.TransferLeadershipResponse>(
                service, METHODID_TRANSFER_LEADERSHIP)))
        .addMethod(
          getGetLimitsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetLimitsRequest,
              io.tenure.v1.GetLimitsResponse>(
                service, METHODID_GET_LIMITS)))
        .addMethod(
          getSetLimitsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.SetLimitsRequest,
              io.tenure.v1.SetLimitsResponse>(
                service, METHODID_SET_LIMITS)))
        .addMethod(
          getCompactMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.CompactRequest,
              io.tenure.v1.CompactResponse>(
                service, METHODID_COMPACT)))
        .addMethod(
          getEndFreezeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.EndFreezeRequest,
              io.tenure.v1.EndFreezeResponse>(
                service, METHODID_END_FREEZE)))
        .addMethod(
          getBackupMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.tenure.v1.BackupRequest,
              io.tenure.v1.BackupResponse>(
                service, METHODID_BACKUP)))
        .build();
  }

  private static abstract class ClusterServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ClusterServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.ClusterProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ClusterService");
    }
  }

  private static final class ClusterServiceFileDescriptorSupplier
      extends ClusterServiceBaseDescriptorSupplier {
    ClusterServiceFileDescriptorSupplier() {}
  }

  private static final class ClusterServiceMethodDescriptorSupplier
      extends ClusterServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ClusterServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ClusterServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ClusterServiceFileDescriptorSupplier())
              .addMethod(getGetStatusMethod())
              .addMethod(getListMembersMethod())
              .addMethod(getAddMemberMethod())
              .addMethod(getPromoteMemberMethod())
              .addMethod(getRemoveMemberMethod())
              .addMethod(getReplaceMemberMethod())
              .addMethod(getTransferLeadershipMethod())
              .addMethod(getGetLimitsMethod())
              .addMethod(getSetLimitsMethod())
              .addMethod(getCompactMethod())
              .addMethod(getEndFreezeMethod())
              .addMethod(getBackupMethod())
              .build();
        }
      }
    }
    return result;
  }
}
