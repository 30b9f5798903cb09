package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * AuthService keeps what decides who may do what: tokens, policies, bindings, providers of JSON Web Tokens and the mode. All of it is guarded in every
 * mode: reading it takes the right `admin read`, changing it `admin write`. Before BootstrapAuth nothing of it can be
 * written. Methods that write need the cluster version that knows tokens; before, they fail with FEATURE_NOT_ENABLED.
 * Names of policies, tokens and bindings are 1 to 128 of the characters a-z, A-Z, 0-9, dot, underscore and hyphen; those of
 * providers are 1 to 63 of the characters a-z, 0-9 and hyphen. A cluster has at most 100 000 tokens, 4 096 policies, 1 024
 * bindings and 16 providers.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class AuthServiceGrpc {

  private AuthServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.AuthService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.BootstrapAuthRequest,
      io.tenure.v1.BootstrapAuthResponse> getBootstrapAuthMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "BootstrapAuth",
      requestType = io.tenure.v1.BootstrapAuthRequest.class,
      responseType = io.tenure.v1.BootstrapAuthResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.BootstrapAuthRequest,
      io.tenure.v1.BootstrapAuthResponse> getBootstrapAuthMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.BootstrapAuthRequest, io.tenure.v1.BootstrapAuthResponse> getBootstrapAuthMethod;
    if ((getBootstrapAuthMethod = AuthServiceGrpc.getBootstrapAuthMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getBootstrapAuthMethod = AuthServiceGrpc.getBootstrapAuthMethod) == null) {
          AuthServiceGrpc.getBootstrapAuthMethod = getBootstrapAuthMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.BootstrapAuthRequest, io.tenure.v1.BootstrapAuthResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "BootstrapAuth"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.BootstrapAuthRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.BootstrapAuthResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("BootstrapAuth"))
              .build();
        }
      }
    }
    return getBootstrapAuthMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ResetAuthRequest,
      io.tenure.v1.ResetAuthResponse> getResetAuthMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ResetAuth",
      requestType = io.tenure.v1.ResetAuthRequest.class,
      responseType = io.tenure.v1.ResetAuthResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ResetAuthRequest,
      io.tenure.v1.ResetAuthResponse> getResetAuthMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ResetAuthRequest, io.tenure.v1.ResetAuthResponse> getResetAuthMethod;
    if ((getResetAuthMethod = AuthServiceGrpc.getResetAuthMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getResetAuthMethod = AuthServiceGrpc.getResetAuthMethod) == null) {
          AuthServiceGrpc.getResetAuthMethod = getResetAuthMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ResetAuthRequest, io.tenure.v1.ResetAuthResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ResetAuth"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ResetAuthRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ResetAuthResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("ResetAuth"))
              .build();
        }
      }
    }
    return getResetAuthMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetAuthStatusRequest,
      io.tenure.v1.GetAuthStatusResponse> getGetAuthStatusMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetAuthStatus",
      requestType = io.tenure.v1.GetAuthStatusRequest.class,
      responseType = io.tenure.v1.GetAuthStatusResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetAuthStatusRequest,
      io.tenure.v1.GetAuthStatusResponse> getGetAuthStatusMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetAuthStatusRequest, io.tenure.v1.GetAuthStatusResponse> getGetAuthStatusMethod;
    if ((getGetAuthStatusMethod = AuthServiceGrpc.getGetAuthStatusMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getGetAuthStatusMethod = AuthServiceGrpc.getGetAuthStatusMethod) == null) {
          AuthServiceGrpc.getGetAuthStatusMethod = getGetAuthStatusMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetAuthStatusRequest, io.tenure.v1.GetAuthStatusResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetAuthStatus"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetAuthStatusRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetAuthStatusResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("GetAuthStatus"))
              .build();
        }
      }
    }
    return getGetAuthStatusMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.SetAuthModeRequest,
      io.tenure.v1.SetAuthModeResponse> getSetAuthModeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetAuthMode",
      requestType = io.tenure.v1.SetAuthModeRequest.class,
      responseType = io.tenure.v1.SetAuthModeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.SetAuthModeRequest,
      io.tenure.v1.SetAuthModeResponse> getSetAuthModeMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.SetAuthModeRequest, io.tenure.v1.SetAuthModeResponse> getSetAuthModeMethod;
    if ((getSetAuthModeMethod = AuthServiceGrpc.getSetAuthModeMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getSetAuthModeMethod = AuthServiceGrpc.getSetAuthModeMethod) == null) {
          AuthServiceGrpc.getSetAuthModeMethod = getSetAuthModeMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.SetAuthModeRequest, io.tenure.v1.SetAuthModeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetAuthMode"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.SetAuthModeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.SetAuthModeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("SetAuthMode"))
              .build();
        }
      }
    }
    return getSetAuthModeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.PutPolicyRequest,
      io.tenure.v1.PutPolicyResponse> getPutPolicyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PutPolicy",
      requestType = io.tenure.v1.PutPolicyRequest.class,
      responseType = io.tenure.v1.PutPolicyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.PutPolicyRequest,
      io.tenure.v1.PutPolicyResponse> getPutPolicyMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.PutPolicyRequest, io.tenure.v1.PutPolicyResponse> getPutPolicyMethod;
    if ((getPutPolicyMethod = AuthServiceGrpc.getPutPolicyMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getPutPolicyMethod = AuthServiceGrpc.getPutPolicyMethod) == null) {
          AuthServiceGrpc.getPutPolicyMethod = getPutPolicyMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.PutPolicyRequest, io.tenure.v1.PutPolicyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PutPolicy"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PutPolicyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PutPolicyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("PutPolicy"))
              .build();
        }
      }
    }
    return getPutPolicyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetPolicyRequest,
      io.tenure.v1.GetPolicyResponse> getGetPolicyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetPolicy",
      requestType = io.tenure.v1.GetPolicyRequest.class,
      responseType = io.tenure.v1.GetPolicyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetPolicyRequest,
      io.tenure.v1.GetPolicyResponse> getGetPolicyMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetPolicyRequest, io.tenure.v1.GetPolicyResponse> getGetPolicyMethod;
    if ((getGetPolicyMethod = AuthServiceGrpc.getGetPolicyMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getGetPolicyMethod = AuthServiceGrpc.getGetPolicyMethod) == null) {
          AuthServiceGrpc.getGetPolicyMethod = getGetPolicyMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetPolicyRequest, io.tenure.v1.GetPolicyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetPolicy"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetPolicyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetPolicyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("GetPolicy"))
              .build();
        }
      }
    }
    return getGetPolicyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListPoliciesRequest,
      io.tenure.v1.ListPoliciesResponse> getListPoliciesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListPolicies",
      requestType = io.tenure.v1.ListPoliciesRequest.class,
      responseType = io.tenure.v1.ListPoliciesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListPoliciesRequest,
      io.tenure.v1.ListPoliciesResponse> getListPoliciesMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListPoliciesRequest, io.tenure.v1.ListPoliciesResponse> getListPoliciesMethod;
    if ((getListPoliciesMethod = AuthServiceGrpc.getListPoliciesMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getListPoliciesMethod = AuthServiceGrpc.getListPoliciesMethod) == null) {
          AuthServiceGrpc.getListPoliciesMethod = getListPoliciesMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListPoliciesRequest, io.tenure.v1.ListPoliciesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListPolicies"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListPoliciesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListPoliciesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("ListPolicies"))
              .build();
        }
      }
    }
    return getListPoliciesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeletePolicyRequest,
      io.tenure.v1.DeletePolicyResponse> getDeletePolicyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeletePolicy",
      requestType = io.tenure.v1.DeletePolicyRequest.class,
      responseType = io.tenure.v1.DeletePolicyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeletePolicyRequest,
      io.tenure.v1.DeletePolicyResponse> getDeletePolicyMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeletePolicyRequest, io.tenure.v1.DeletePolicyResponse> getDeletePolicyMethod;
    if ((getDeletePolicyMethod = AuthServiceGrpc.getDeletePolicyMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getDeletePolicyMethod = AuthServiceGrpc.getDeletePolicyMethod) == null) {
          AuthServiceGrpc.getDeletePolicyMethod = getDeletePolicyMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeletePolicyRequest, io.tenure.v1.DeletePolicyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeletePolicy"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeletePolicyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeletePolicyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("DeletePolicy"))
              .build();
        }
      }
    }
    return getDeletePolicyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.CreateTokenRequest,
      io.tenure.v1.CreateTokenResponse> getCreateTokenMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateToken",
      requestType = io.tenure.v1.CreateTokenRequest.class,
      responseType = io.tenure.v1.CreateTokenResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.CreateTokenRequest,
      io.tenure.v1.CreateTokenResponse> getCreateTokenMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.CreateTokenRequest, io.tenure.v1.CreateTokenResponse> getCreateTokenMethod;
    if ((getCreateTokenMethod = AuthServiceGrpc.getCreateTokenMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getCreateTokenMethod = AuthServiceGrpc.getCreateTokenMethod) == null) {
          AuthServiceGrpc.getCreateTokenMethod = getCreateTokenMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.CreateTokenRequest, io.tenure.v1.CreateTokenResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateToken"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CreateTokenRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CreateTokenResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("CreateToken"))
              .build();
        }
      }
    }
    return getCreateTokenMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetTokenRequest,
      io.tenure.v1.GetTokenResponse> getGetTokenMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetToken",
      requestType = io.tenure.v1.GetTokenRequest.class,
      responseType = io.tenure.v1.GetTokenResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetTokenRequest,
      io.tenure.v1.GetTokenResponse> getGetTokenMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetTokenRequest, io.tenure.v1.GetTokenResponse> getGetTokenMethod;
    if ((getGetTokenMethod = AuthServiceGrpc.getGetTokenMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getGetTokenMethod = AuthServiceGrpc.getGetTokenMethod) == null) {
          AuthServiceGrpc.getGetTokenMethod = getGetTokenMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetTokenRequest, io.tenure.v1.GetTokenResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetToken"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetTokenRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetTokenResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("GetToken"))
              .build();
        }
      }
    }
    return getGetTokenMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListTokensRequest,
      io.tenure.v1.ListTokensResponse> getListTokensMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListTokens",
      requestType = io.tenure.v1.ListTokensRequest.class,
      responseType = io.tenure.v1.ListTokensResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListTokensRequest,
      io.tenure.v1.ListTokensResponse> getListTokensMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListTokensRequest, io.tenure.v1.ListTokensResponse> getListTokensMethod;
    if ((getListTokensMethod = AuthServiceGrpc.getListTokensMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getListTokensMethod = AuthServiceGrpc.getListTokensMethod) == null) {
          AuthServiceGrpc.getListTokensMethod = getListTokensMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListTokensRequest, io.tenure.v1.ListTokensResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListTokens"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListTokensRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListTokensResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("ListTokens"))
              .build();
        }
      }
    }
    return getListTokensMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.RotateTokenRequest,
      io.tenure.v1.RotateTokenResponse> getRotateTokenMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RotateToken",
      requestType = io.tenure.v1.RotateTokenRequest.class,
      responseType = io.tenure.v1.RotateTokenResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.RotateTokenRequest,
      io.tenure.v1.RotateTokenResponse> getRotateTokenMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.RotateTokenRequest, io.tenure.v1.RotateTokenResponse> getRotateTokenMethod;
    if ((getRotateTokenMethod = AuthServiceGrpc.getRotateTokenMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getRotateTokenMethod = AuthServiceGrpc.getRotateTokenMethod) == null) {
          AuthServiceGrpc.getRotateTokenMethod = getRotateTokenMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.RotateTokenRequest, io.tenure.v1.RotateTokenResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RotateToken"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RotateTokenRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RotateTokenResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("RotateToken"))
              .build();
        }
      }
    }
    return getRotateTokenMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.RevokeTokenRequest,
      io.tenure.v1.RevokeTokenResponse> getRevokeTokenMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RevokeToken",
      requestType = io.tenure.v1.RevokeTokenRequest.class,
      responseType = io.tenure.v1.RevokeTokenResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.RevokeTokenRequest,
      io.tenure.v1.RevokeTokenResponse> getRevokeTokenMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.RevokeTokenRequest, io.tenure.v1.RevokeTokenResponse> getRevokeTokenMethod;
    if ((getRevokeTokenMethod = AuthServiceGrpc.getRevokeTokenMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getRevokeTokenMethod = AuthServiceGrpc.getRevokeTokenMethod) == null) {
          AuthServiceGrpc.getRevokeTokenMethod = getRevokeTokenMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.RevokeTokenRequest, io.tenure.v1.RevokeTokenResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RevokeToken"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RevokeTokenRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RevokeTokenResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("RevokeToken"))
              .build();
        }
      }
    }
    return getRevokeTokenMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.PutBindingRequest,
      io.tenure.v1.PutBindingResponse> getPutBindingMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PutBinding",
      requestType = io.tenure.v1.PutBindingRequest.class,
      responseType = io.tenure.v1.PutBindingResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.PutBindingRequest,
      io.tenure.v1.PutBindingResponse> getPutBindingMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.PutBindingRequest, io.tenure.v1.PutBindingResponse> getPutBindingMethod;
    if ((getPutBindingMethod = AuthServiceGrpc.getPutBindingMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getPutBindingMethod = AuthServiceGrpc.getPutBindingMethod) == null) {
          AuthServiceGrpc.getPutBindingMethod = getPutBindingMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.PutBindingRequest, io.tenure.v1.PutBindingResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PutBinding"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PutBindingRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PutBindingResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("PutBinding"))
              .build();
        }
      }
    }
    return getPutBindingMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListBindingsRequest,
      io.tenure.v1.ListBindingsResponse> getListBindingsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListBindings",
      requestType = io.tenure.v1.ListBindingsRequest.class,
      responseType = io.tenure.v1.ListBindingsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListBindingsRequest,
      io.tenure.v1.ListBindingsResponse> getListBindingsMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListBindingsRequest, io.tenure.v1.ListBindingsResponse> getListBindingsMethod;
    if ((getListBindingsMethod = AuthServiceGrpc.getListBindingsMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getListBindingsMethod = AuthServiceGrpc.getListBindingsMethod) == null) {
          AuthServiceGrpc.getListBindingsMethod = getListBindingsMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListBindingsRequest, io.tenure.v1.ListBindingsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListBindings"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListBindingsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListBindingsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("ListBindings"))
              .build();
        }
      }
    }
    return getListBindingsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeleteBindingRequest,
      io.tenure.v1.DeleteBindingResponse> getDeleteBindingMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteBinding",
      requestType = io.tenure.v1.DeleteBindingRequest.class,
      responseType = io.tenure.v1.DeleteBindingResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeleteBindingRequest,
      io.tenure.v1.DeleteBindingResponse> getDeleteBindingMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeleteBindingRequest, io.tenure.v1.DeleteBindingResponse> getDeleteBindingMethod;
    if ((getDeleteBindingMethod = AuthServiceGrpc.getDeleteBindingMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getDeleteBindingMethod = AuthServiceGrpc.getDeleteBindingMethod) == null) {
          AuthServiceGrpc.getDeleteBindingMethod = getDeleteBindingMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeleteBindingRequest, io.tenure.v1.DeleteBindingResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteBinding"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeleteBindingRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeleteBindingResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("DeleteBinding"))
              .build();
        }
      }
    }
    return getDeleteBindingMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.PutProviderRequest,
      io.tenure.v1.PutProviderResponse> getPutProviderMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PutProvider",
      requestType = io.tenure.v1.PutProviderRequest.class,
      responseType = io.tenure.v1.PutProviderResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.PutProviderRequest,
      io.tenure.v1.PutProviderResponse> getPutProviderMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.PutProviderRequest, io.tenure.v1.PutProviderResponse> getPutProviderMethod;
    if ((getPutProviderMethod = AuthServiceGrpc.getPutProviderMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getPutProviderMethod = AuthServiceGrpc.getPutProviderMethod) == null) {
          AuthServiceGrpc.getPutProviderMethod = getPutProviderMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.PutProviderRequest, io.tenure.v1.PutProviderResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PutProvider"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PutProviderRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PutProviderResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("PutProvider"))
              .build();
        }
      }
    }
    return getPutProviderMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListProvidersRequest,
      io.tenure.v1.ListProvidersResponse> getListProvidersMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListProviders",
      requestType = io.tenure.v1.ListProvidersRequest.class,
      responseType = io.tenure.v1.ListProvidersResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListProvidersRequest,
      io.tenure.v1.ListProvidersResponse> getListProvidersMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListProvidersRequest, io.tenure.v1.ListProvidersResponse> getListProvidersMethod;
    if ((getListProvidersMethod = AuthServiceGrpc.getListProvidersMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getListProvidersMethod = AuthServiceGrpc.getListProvidersMethod) == null) {
          AuthServiceGrpc.getListProvidersMethod = getListProvidersMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListProvidersRequest, io.tenure.v1.ListProvidersResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListProviders"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListProvidersRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListProvidersResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("ListProviders"))
              .build();
        }
      }
    }
    return getListProvidersMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeleteProviderRequest,
      io.tenure.v1.DeleteProviderResponse> getDeleteProviderMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteProvider",
      requestType = io.tenure.v1.DeleteProviderRequest.class,
      responseType = io.tenure.v1.DeleteProviderResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeleteProviderRequest,
      io.tenure.v1.DeleteProviderResponse> getDeleteProviderMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeleteProviderRequest, io.tenure.v1.DeleteProviderResponse> getDeleteProviderMethod;
    if ((getDeleteProviderMethod = AuthServiceGrpc.getDeleteProviderMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getDeleteProviderMethod = AuthServiceGrpc.getDeleteProviderMethod) == null) {
          AuthServiceGrpc.getDeleteProviderMethod = getDeleteProviderMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeleteProviderRequest, io.tenure.v1.DeleteProviderResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteProvider"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeleteProviderRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeleteProviderResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("DeleteProvider"))
              .build();
        }
      }
    }
    return getDeleteProviderMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.WhoAmIRequest,
      io.tenure.v1.WhoAmIResponse> getWhoAmIMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WhoAmI",
      requestType = io.tenure.v1.WhoAmIRequest.class,
      responseType = io.tenure.v1.WhoAmIResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.WhoAmIRequest,
      io.tenure.v1.WhoAmIResponse> getWhoAmIMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.WhoAmIRequest, io.tenure.v1.WhoAmIResponse> getWhoAmIMethod;
    if ((getWhoAmIMethod = AuthServiceGrpc.getWhoAmIMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getWhoAmIMethod = AuthServiceGrpc.getWhoAmIMethod) == null) {
          AuthServiceGrpc.getWhoAmIMethod = getWhoAmIMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.WhoAmIRequest, io.tenure.v1.WhoAmIResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WhoAmI"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.WhoAmIRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.WhoAmIResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("WhoAmI"))
              .build();
        }
      }
    }
    return getWhoAmIMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.CheckAccessRequest,
      io.tenure.v1.CheckAccessResponse> getCheckAccessMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CheckAccess",
      requestType = io.tenure.v1.CheckAccessRequest.class,
      responseType = io.tenure.v1.CheckAccessResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.CheckAccessRequest,
      io.tenure.v1.CheckAccessResponse> getCheckAccessMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.CheckAccessRequest, io.tenure.v1.CheckAccessResponse> getCheckAccessMethod;
    if ((getCheckAccessMethod = AuthServiceGrpc.getCheckAccessMethod) == null) {
      synchronized (AuthServiceGrpc.class) {
        if ((getCheckAccessMethod = AuthServiceGrpc.getCheckAccessMethod) == null) {
          AuthServiceGrpc.getCheckAccessMethod = getCheckAccessMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.CheckAccessRequest, io.tenure.v1.CheckAccessResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CheckAccess"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CheckAccessRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CheckAccessResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AuthServiceMethodDescriptorSupplier("CheckAccess"))
              .build();
        }
      }
    }
    return getCheckAccessMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static AuthServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AuthServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AuthServiceStub>() {
        @java.lang.Override
        public AuthServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AuthServiceStub(channel, callOptions);
        }
      };
    return AuthServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static AuthServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AuthServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AuthServiceBlockingV2Stub>() {
        @java.lang.Override
        public AuthServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AuthServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return AuthServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static AuthServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AuthServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AuthServiceBlockingStub>() {
        @java.lang.Override
        public AuthServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AuthServiceBlockingStub(channel, callOptions);
        }
      };
    return AuthServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static AuthServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AuthServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AuthServiceFutureStub>() {
        @java.lang.Override
        public AuthServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AuthServiceFutureStub(channel, callOptions);
        }
      };
    return AuthServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * AuthService keeps what decides who may do what: tokens, policies, bindings, providers of JSON Web Tokens and the mode. All of it is guarded in every
   * mode: reading it takes the right `admin read`, changing it `admin write`. Before BootstrapAuth nothing of it can be
   * written. Methods that write need the cluster version that knows tokens; before, they fail with FEATURE_NOT_ENABLED.
   * Names of policies, tokens and bindings are 1 to 128 of the characters a-z, A-Z, 0-9, dot, underscore and hyphen; those of
   * providers are 1 to 63 of the characters a-z, 0-9 and hyphen. A cluster has at most 100 000 tokens, 4 096 policies, 1 024
   * bindings and 16 providers.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * BootstrapAuth makes the first token, with the built-in policy admin, and sets the mode, once. The caller has drawn the
     * token. Called again with the same token, it returns the same response. It is refused unless client addresses have TLS
     * or are loopback, and peer addresses have TLS or are off. A caller on another machine needs the nonce. Errors:
     * INVALID_ARGUMENT, PERMISSION_DENIED, TOO_MANY_REQUESTS, AUTH_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    default void bootstrapAuth(io.tenure.v1.BootstrapAuthRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.BootstrapAuthResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBootstrapAuthMethod(), responseObserver);
    }

    /**
     * <pre>
     * ResetAuth makes another first token, when no token with the policy admin is left. It takes no right, but always the nonce, so
     * only those who can read the directory of a member can call it. Nothing else changes: other tokens, policies and the mode stay.
     * Called again with the same token, it returns the same response. Errors: INVALID_ARGUMENT, PERMISSION_DENIED,
     * TOO_MANY_REQUESTS, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE, LIMIT_EXCEEDED.
     * </pre>
     */
    default void resetAuth(io.tenure.v1.ResetAuthRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ResetAuthResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResetAuthMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetAuthStatus returns the mode and how much there is.
     * </pre>
     */
    default void getAuthStatus(io.tenure.v1.GetAuthStatusRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetAuthStatusResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetAuthStatusMethod(), responseObserver);
    }

    /**
     * <pre>
     * SetAuthMode changes the mode. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    default void setAuthMode(io.tenure.v1.SetAuthModeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.SetAuthModeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetAuthModeMethod(), responseObserver);
    }

    /**
     * <pre>
     * PutPolicy writes a policy; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    default void putPolicy(io.tenure.v1.PutPolicyRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PutPolicyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutPolicyMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetPolicy returns a policy. Errors: POLICY_NOT_FOUND.
     * </pre>
     */
    default void getPolicy(io.tenure.v1.GetPolicyRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetPolicyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetPolicyMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListPolicies lists policies by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listPolicies(io.tenure.v1.ListPoliciesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListPoliciesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListPoliciesMethod(), responseObserver);
    }

    /**
     * <pre>
     * DeletePolicy deletes a policy. Tokens and bindings that name it lose its rights. A missing one is not an error.
     * Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    default void deletePolicy(io.tenure.v1.DeletePolicyRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeletePolicyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeletePolicyMethod(), responseObserver);
    }

    /**
     * <pre>
     * CreateToken makes a token. Its text is in the response and nowhere else. If the response is lost, find the token by its
     * name and revoke it. A caller with a token may make a child of it, with policies of its own, without the right to change tokens.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, POLICY_NOT_FOUND, TOKEN_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    default void createToken(io.tenure.v1.CreateTokenRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CreateTokenResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateTokenMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetToken returns a token without its text. An empty accessor means the caller's own, which takes no right. Errors:
     * TOKEN_NOT_FOUND.
     * </pre>
     */
    default void getToken(io.tenure.v1.GetTokenRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetTokenResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetTokenMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListTokens lists tokens without their texts, by accessor, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listTokens(io.tenure.v1.ListTokensRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListTokensResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListTokensMethod(), responseObserver);
    }

    /**
     * <pre>
     * RotateToken gives a token a new text. The old text stops working immediately, and the token's children end, because they may have
     * been made with it. An empty accessor means the caller's own, which takes no right. Errors: TOKEN_NOT_FOUND.
     * </pre>
     */
    default void rotateToken(io.tenure.v1.RotateTokenRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RotateTokenResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRotateTokenMethod(), responseObserver);
    }

    /**
     * <pre>
     * RevokeToken ends a token permanently, with its children, their children and so on. After the response, no further change that one
     * of them made is applied. An empty accessor means the caller's own, which takes no right. A missing token is not an error.
     * </pre>
     */
    default void revokeToken(io.tenure.v1.RevokeTokenRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RevokeTokenResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRevokeTokenMethod(), responseObserver);
    }

    /**
     * <pre>
     * PutBinding writes a binding; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * POLICY_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    default void putBinding(io.tenure.v1.PutBindingRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PutBindingResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutBindingMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListBindings lists bindings by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listBindings(io.tenure.v1.ListBindingsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListBindingsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListBindingsMethod(), responseObserver);
    }

    /**
     * <pre>
     * DeleteBinding deletes a binding. A missing one is not an error. Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    default void deleteBinding(io.tenure.v1.DeleteBindingRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeleteBindingResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteBindingMethod(), responseObserver);
    }

    /**
     * <pre>
     * PutProvider writes a provider of JSON Web Tokens; one with this name is replaced. Callers with a token of a provider are
     * jwt:NAME/SUBJECT, and have the policies of the bindings that are about that. The provider's keys need not be reachable.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, LIMIT_EXCEEDED.
     * </pre>
     */
    default void putProvider(io.tenure.v1.PutProviderRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PutProviderResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutProviderMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListProviders lists all providers by name, with what the member that responds knows of their keys.
     * </pre>
     */
    default void listProviders(io.tenure.v1.ListProvidersRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListProvidersResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListProvidersMethod(), responseObserver);
    }

    /**
     * <pre>
     * DeleteProvider deletes a provider. Its tokens are no longer accepted. A missing one is not an error. Errors:
     * AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    default void deleteProvider(io.tenure.v1.DeleteProviderRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeleteProviderResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteProviderMethod(), responseObserver);
    }

    /**
     * <pre>
     * WhoAmI returns the caller, in every mode. It is linearizable: a member that no leader answers fails with NO_LEADER.
     * </pre>
     */
    default void whoAmI(io.tenure.v1.WhoAmIRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.WhoAmIResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWhoAmIMethod(), responseObserver);
    }

    /**
     * <pre>
     * CheckAccess reports whether the caller has a right, as linearizably as WhoAmI. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    default void checkAccess(io.tenure.v1.CheckAccessRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CheckAccessResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCheckAccessMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service AuthService.
   * <pre>
   * AuthService keeps what decides who may do what: tokens, policies, bindings, providers of JSON Web Tokens and the mode. All of it is guarded in every
   * mode: reading it takes the right `admin read`, changing it `admin write`. Before BootstrapAuth nothing of it can be
   * written. Methods that write need the cluster version that knows tokens; before, they fail with FEATURE_NOT_ENABLED.
   * Names of policies, tokens and bindings are 1 to 128 of the characters a-z, A-Z, 0-9, dot, underscore and hyphen; those of
   * providers are 1 to 63 of the characters a-z, 0-9 and hyphen. A cluster has at most 100 000 tokens, 4 096 policies, 1 024
   * bindings and 16 providers.
   * </pre>
   */
  public static abstract class AuthServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return AuthServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service AuthService.
   * <pre>
   * AuthService keeps what decides who may do what: tokens, policies, bindings, providers of JSON Web Tokens and the mode. All of it is guarded in every
   * mode: reading it takes the right `admin read`, changing it `admin write`. Before BootstrapAuth nothing of it can be
   * written. Methods that write need the cluster version that knows tokens; before, they fail with FEATURE_NOT_ENABLED.
   * Names of policies, tokens and bindings are 1 to 128 of the characters a-z, A-Z, 0-9, dot, underscore and hyphen; those of
   * providers are 1 to 63 of the characters a-z, 0-9 and hyphen. A cluster has at most 100 000 tokens, 4 096 policies, 1 024
   * bindings and 16 providers.
   * </pre>
   */
  public static final class AuthServiceStub
      extends io.grpc.stub.AbstractAsyncStub<AuthServiceStub> {
    private AuthServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AuthServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AuthServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * BootstrapAuth makes the first token, with the built-in policy admin, and sets the mode, once. The caller has drawn the
     * token. Called again with the same token, it returns the same response. It is refused unless client addresses have TLS
     * or are loopback, and peer addresses have TLS or are off. A caller on another machine needs the nonce. Errors:
     * INVALID_ARGUMENT, PERMISSION_DENIED, TOO_MANY_REQUESTS, AUTH_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    public void bootstrapAuth(io.tenure.v1.BootstrapAuthRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.BootstrapAuthResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getBootstrapAuthMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ResetAuth makes another first token, when no token with the policy admin is left. It takes no right, but always the nonce, so
     * only those who can read the directory of a member can call it. Nothing else changes: other tokens, policies and the mode stay.
     * Called again with the same token, it returns the same response. Errors: INVALID_ARGUMENT, PERMISSION_DENIED,
     * TOO_MANY_REQUESTS, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE, LIMIT_EXCEEDED.
     * </pre>
     */
    public void resetAuth(io.tenure.v1.ResetAuthRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ResetAuthResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResetAuthMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetAuthStatus returns the mode and how much there is.
     * </pre>
     */
    public void getAuthStatus(io.tenure.v1.GetAuthStatusRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetAuthStatusResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetAuthStatusMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * SetAuthMode changes the mode. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    public void setAuthMode(io.tenure.v1.SetAuthModeRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.SetAuthModeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetAuthModeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * PutPolicy writes a policy; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    public void putPolicy(io.tenure.v1.PutPolicyRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PutPolicyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutPolicyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetPolicy returns a policy. Errors: POLICY_NOT_FOUND.
     * </pre>
     */
    public void getPolicy(io.tenure.v1.GetPolicyRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetPolicyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetPolicyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListPolicies lists policies by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listPolicies(io.tenure.v1.ListPoliciesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListPoliciesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListPoliciesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DeletePolicy deletes a policy. Tokens and bindings that name it lose its rights. A missing one is not an error.
     * Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public void deletePolicy(io.tenure.v1.DeletePolicyRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeletePolicyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeletePolicyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * CreateToken makes a token. Its text is in the response and nowhere else. If the response is lost, find the token by its
     * name and revoke it. A caller with a token may make a child of it, with policies of its own, without the right to change tokens.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, POLICY_NOT_FOUND, TOKEN_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    public void createToken(io.tenure.v1.CreateTokenRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CreateTokenResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateTokenMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetToken returns a token without its text. An empty accessor means the caller's own, which takes no right. Errors:
     * TOKEN_NOT_FOUND.
     * </pre>
     */
    public void getToken(io.tenure.v1.GetTokenRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetTokenResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetTokenMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListTokens lists tokens without their texts, by accessor, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listTokens(io.tenure.v1.ListTokensRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListTokensResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListTokensMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * RotateToken gives a token a new text. The old text stops working immediately, and the token's children end, because they may have
     * been made with it. An empty accessor means the caller's own, which takes no right. Errors: TOKEN_NOT_FOUND.
     * </pre>
     */
    public void rotateToken(io.tenure.v1.RotateTokenRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RotateTokenResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRotateTokenMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * RevokeToken ends a token permanently, with its children, their children and so on. After the response, no further change that one
     * of them made is applied. An empty accessor means the caller's own, which takes no right. A missing token is not an error.
     * </pre>
     */
    public void revokeToken(io.tenure.v1.RevokeTokenRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RevokeTokenResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRevokeTokenMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * PutBinding writes a binding; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * POLICY_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    public void putBinding(io.tenure.v1.PutBindingRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PutBindingResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutBindingMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListBindings lists bindings by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listBindings(io.tenure.v1.ListBindingsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListBindingsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListBindingsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DeleteBinding deletes a binding. A missing one is not an error. Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public void deleteBinding(io.tenure.v1.DeleteBindingRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeleteBindingResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteBindingMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * PutProvider writes a provider of JSON Web Tokens; one with this name is replaced. Callers with a token of a provider are
     * jwt:NAME/SUBJECT, and have the policies of the bindings that are about that. The provider's keys need not be reachable.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, LIMIT_EXCEEDED.
     * </pre>
     */
    public void putProvider(io.tenure.v1.PutProviderRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PutProviderResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutProviderMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListProviders lists all providers by name, with what the member that responds knows of their keys.
     * </pre>
     */
    public void listProviders(io.tenure.v1.ListProvidersRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListProvidersResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListProvidersMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DeleteProvider deletes a provider. Its tokens are no longer accepted. A missing one is not an error. Errors:
     * AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public void deleteProvider(io.tenure.v1.DeleteProviderRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeleteProviderResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteProviderMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * WhoAmI returns the caller, in every mode. It is linearizable: a member that no leader answers fails with NO_LEADER.
     * </pre>
     */
    public void whoAmI(io.tenure.v1.WhoAmIRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.WhoAmIResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getWhoAmIMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * CheckAccess reports whether the caller has a right, as linearizably as WhoAmI. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public void checkAccess(io.tenure.v1.CheckAccessRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CheckAccessResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCheckAccessMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service AuthService.
   * <pre>
   * AuthService keeps what decides who may do what: tokens, policies, bindings, providers of JSON Web Tokens and the mode. All of it is guarded in every
   * mode: reading it takes the right `admin read`, changing it `admin write`. Before BootstrapAuth nothing of it can be
   * written. Methods that write need the cluster version that knows tokens; before, they fail with FEATURE_NOT_ENABLED.
   * Names of policies, tokens and bindings are 1 to 128 of the characters a-z, A-Z, 0-9, dot, underscore and hyphen; those of
   * providers are 1 to 63 of the characters a-z, 0-9 and hyphen. A cluster has at most 100 000 tokens, 4 096 policies, 1 024
   * bindings and 16 providers.
   * </pre>
   */
  public static final class AuthServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<AuthServiceBlockingV2Stub> {
    private AuthServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AuthServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AuthServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * BootstrapAuth makes the first token, with the built-in policy admin, and sets the mode, once. The caller has drawn the
     * token. Called again with the same token, it returns the same response. It is refused unless client addresses have TLS
     * or are loopback, and peer addresses have TLS or are off. A caller on another machine needs the nonce. Errors:
     * INVALID_ARGUMENT, PERMISSION_DENIED, TOO_MANY_REQUESTS, AUTH_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    public io.tenure.v1.BootstrapAuthResponse bootstrapAuth(io.tenure.v1.BootstrapAuthRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getBootstrapAuthMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ResetAuth makes another first token, when no token with the policy admin is left. It takes no right, but always the nonce, so
     * only those who can read the directory of a member can call it. Nothing else changes: other tokens, policies and the mode stay.
     * Called again with the same token, it returns the same response. Errors: INVALID_ARGUMENT, PERMISSION_DENIED,
     * TOO_MANY_REQUESTS, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.ResetAuthResponse resetAuth(io.tenure.v1.ResetAuthRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getResetAuthMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetAuthStatus returns the mode and how much there is.
     * </pre>
     */
    public io.tenure.v1.GetAuthStatusResponse getAuthStatus(io.tenure.v1.GetAuthStatusRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetAuthStatusMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SetAuthMode changes the mode. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    public io.tenure.v1.SetAuthModeResponse setAuthMode(io.tenure.v1.SetAuthModeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetAuthModeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * PutPolicy writes a policy; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.PutPolicyResponse putPolicy(io.tenure.v1.PutPolicyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPutPolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetPolicy returns a policy. Errors: POLICY_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetPolicyResponse getPolicy(io.tenure.v1.GetPolicyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetPolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListPolicies lists policies by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListPoliciesResponse listPolicies(io.tenure.v1.ListPoliciesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListPoliciesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeletePolicy deletes a policy. Tokens and bindings that name it lose its rights. A missing one is not an error.
     * Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public io.tenure.v1.DeletePolicyResponse deletePolicy(io.tenure.v1.DeletePolicyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeletePolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CreateToken makes a token. Its text is in the response and nowhere else. If the response is lost, find the token by its
     * name and revoke it. A caller with a token may make a child of it, with policies of its own, without the right to change tokens.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, POLICY_NOT_FOUND, TOKEN_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.CreateTokenResponse createToken(io.tenure.v1.CreateTokenRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateTokenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetToken returns a token without its text. An empty accessor means the caller's own, which takes no right. Errors:
     * TOKEN_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetTokenResponse getToken(io.tenure.v1.GetTokenRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetTokenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListTokens lists tokens without their texts, by accessor, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListTokensResponse listTokens(io.tenure.v1.ListTokensRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListTokensMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RotateToken gives a token a new text. The old text stops working immediately, and the token's children end, because they may have
     * been made with it. An empty accessor means the caller's own, which takes no right. Errors: TOKEN_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.RotateTokenResponse rotateToken(io.tenure.v1.RotateTokenRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRotateTokenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RevokeToken ends a token permanently, with its children, their children and so on. After the response, no further change that one
     * of them made is applied. An empty accessor means the caller's own, which takes no right. A missing token is not an error.
     * </pre>
     */
    public io.tenure.v1.RevokeTokenResponse revokeToken(io.tenure.v1.RevokeTokenRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRevokeTokenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * PutBinding writes a binding; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * POLICY_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.PutBindingResponse putBinding(io.tenure.v1.PutBindingRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPutBindingMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListBindings lists bindings by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListBindingsResponse listBindings(io.tenure.v1.ListBindingsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListBindingsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeleteBinding deletes a binding. A missing one is not an error. Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public io.tenure.v1.DeleteBindingResponse deleteBinding(io.tenure.v1.DeleteBindingRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteBindingMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * PutProvider writes a provider of JSON Web Tokens; one with this name is replaced. Callers with a token of a provider are
     * jwt:NAME/SUBJECT, and have the policies of the bindings that are about that. The provider's keys need not be reachable.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.PutProviderResponse putProvider(io.tenure.v1.PutProviderRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPutProviderMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListProviders lists all providers by name, with what the member that responds knows of their keys.
     * </pre>
     */
    public io.tenure.v1.ListProvidersResponse listProviders(io.tenure.v1.ListProvidersRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListProvidersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeleteProvider deletes a provider. Its tokens are no longer accepted. A missing one is not an error. Errors:
     * AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public io.tenure.v1.DeleteProviderResponse deleteProvider(io.tenure.v1.DeleteProviderRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteProviderMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * WhoAmI returns the caller, in every mode. It is linearizable: a member that no leader answers fails with NO_LEADER.
     * </pre>
     */
    public io.tenure.v1.WhoAmIResponse whoAmI(io.tenure.v1.WhoAmIRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getWhoAmIMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CheckAccess reports whether the caller has a right, as linearizably as WhoAmI. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.CheckAccessResponse checkAccess(io.tenure.v1.CheckAccessRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCheckAccessMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service AuthService.
   * <pre>
   * AuthService keeps what decides who may do what: tokens, policies, bindings, providers of JSON Web Tokens and the mode. All of it is guarded in every
   * mode: reading it takes the right `admin read`, changing it `admin write`. Before BootstrapAuth nothing of it can be
   * written. Methods that write need the cluster version that knows tokens; before, they fail with FEATURE_NOT_ENABLED.
   * Names of policies, tokens and bindings are 1 to 128 of the characters a-z, A-Z, 0-9, dot, underscore and hyphen; those of
   * providers are 1 to 63 of the characters a-z, 0-9 and hyphen. A cluster has at most 100 000 tokens, 4 096 policies, 1 024
   * bindings and 16 providers.
   * </pre>
   */
  public static final class AuthServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<AuthServiceBlockingStub> {
    private AuthServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AuthServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AuthServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * BootstrapAuth makes the first token, with the built-in policy admin, and sets the mode, once. The caller has drawn the
     * token. Called again with the same token, it returns the same response. It is refused unless client addresses have TLS
     * or are loopback, and peer addresses have TLS or are off. A caller on another machine needs the nonce. Errors:
     * INVALID_ARGUMENT, PERMISSION_DENIED, TOO_MANY_REQUESTS, AUTH_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    public io.tenure.v1.BootstrapAuthResponse bootstrapAuth(io.tenure.v1.BootstrapAuthRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getBootstrapAuthMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ResetAuth makes another first token, when no token with the policy admin is left. It takes no right, but always the nonce, so
     * only those who can read the directory of a member can call it. Nothing else changes: other tokens, policies and the mode stay.
     * Called again with the same token, it returns the same response. Errors: INVALID_ARGUMENT, PERMISSION_DENIED,
     * TOO_MANY_REQUESTS, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.ResetAuthResponse resetAuth(io.tenure.v1.ResetAuthRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResetAuthMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetAuthStatus returns the mode and how much there is.
     * </pre>
     */
    public io.tenure.v1.GetAuthStatusResponse getAuthStatus(io.tenure.v1.GetAuthStatusRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetAuthStatusMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SetAuthMode changes the mode. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    public io.tenure.v1.SetAuthModeResponse setAuthMode(io.tenure.v1.SetAuthModeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetAuthModeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * PutPolicy writes a policy; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.PutPolicyResponse putPolicy(io.tenure.v1.PutPolicyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutPolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetPolicy returns a policy. Errors: POLICY_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetPolicyResponse getPolicy(io.tenure.v1.GetPolicyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetPolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListPolicies lists policies by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListPoliciesResponse listPolicies(io.tenure.v1.ListPoliciesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListPoliciesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeletePolicy deletes a policy. Tokens and bindings that name it lose its rights. A missing one is not an error.
     * Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public io.tenure.v1.DeletePolicyResponse deletePolicy(io.tenure.v1.DeletePolicyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeletePolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CreateToken makes a token. Its text is in the response and nowhere else. If the response is lost, find the token by its
     * name and revoke it. A caller with a token may make a child of it, with policies of its own, without the right to change tokens.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, POLICY_NOT_FOUND, TOKEN_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.CreateTokenResponse createToken(io.tenure.v1.CreateTokenRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateTokenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetToken returns a token without its text. An empty accessor means the caller's own, which takes no right. Errors:
     * TOKEN_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetTokenResponse getToken(io.tenure.v1.GetTokenRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetTokenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListTokens lists tokens without their texts, by accessor, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListTokensResponse listTokens(io.tenure.v1.ListTokensRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListTokensMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RotateToken gives a token a new text. The old text stops working immediately, and the token's children end, because they may have
     * been made with it. An empty accessor means the caller's own, which takes no right. Errors: TOKEN_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.RotateTokenResponse rotateToken(io.tenure.v1.RotateTokenRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRotateTokenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RevokeToken ends a token permanently, with its children, their children and so on. After the response, no further change that one
     * of them made is applied. An empty accessor means the caller's own, which takes no right. A missing token is not an error.
     * </pre>
     */
    public io.tenure.v1.RevokeTokenResponse revokeToken(io.tenure.v1.RevokeTokenRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRevokeTokenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * PutBinding writes a binding; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * POLICY_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.PutBindingResponse putBinding(io.tenure.v1.PutBindingRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutBindingMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListBindings lists bindings by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListBindingsResponse listBindings(io.tenure.v1.ListBindingsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListBindingsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeleteBinding deletes a binding. A missing one is not an error. Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public io.tenure.v1.DeleteBindingResponse deleteBinding(io.tenure.v1.DeleteBindingRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteBindingMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * PutProvider writes a provider of JSON Web Tokens; one with this name is replaced. Callers with a token of a provider are
     * jwt:NAME/SUBJECT, and have the policies of the bindings that are about that. The provider's keys need not be reachable.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.PutProviderResponse putProvider(io.tenure.v1.PutProviderRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutProviderMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListProviders lists all providers by name, with what the member that responds knows of their keys.
     * </pre>
     */
    public io.tenure.v1.ListProvidersResponse listProviders(io.tenure.v1.ListProvidersRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListProvidersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeleteProvider deletes a provider. Its tokens are no longer accepted. A missing one is not an error. Errors:
     * AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public io.tenure.v1.DeleteProviderResponse deleteProvider(io.tenure.v1.DeleteProviderRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteProviderMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * WhoAmI returns the caller, in every mode. It is linearizable: a member that no leader answers fails with NO_LEADER.
     * </pre>
     */
    public io.tenure.v1.WhoAmIResponse whoAmI(io.tenure.v1.WhoAmIRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getWhoAmIMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CheckAccess reports whether the caller has a right, as linearizably as WhoAmI. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.CheckAccessResponse checkAccess(io.tenure.v1.CheckAccessRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCheckAccessMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service AuthService.
   * <pre>
   * AuthService keeps what decides who may do what: tokens, policies, bindings, providers of JSON Web Tokens and the mode. All of it is guarded in every
   * mode: reading it takes the right `admin read`, changing it `admin write`. Before BootstrapAuth nothing of it can be
   * written. Methods that write need the cluster version that knows tokens; before, they fail with FEATURE_NOT_ENABLED.
   * Names of policies, tokens and bindings are 1 to 128 of the characters a-z, A-Z, 0-9, dot, underscore and hyphen; those of
   * providers are 1 to 63 of the characters a-z, 0-9 and hyphen. A cluster has at most 100 000 tokens, 4 096 policies, 1 024
   * bindings and 16 providers.
   * </pre>
   */
  public static final class AuthServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<AuthServiceFutureStub> {
    private AuthServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AuthServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AuthServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * BootstrapAuth makes the first token, with the built-in policy admin, and sets the mode, once. The caller has drawn the
     * token. Called again with the same token, it returns the same response. It is refused unless client addresses have TLS
     * or are loopback, and peer addresses have TLS or are off. A caller on another machine needs the nonce. Errors:
     * INVALID_ARGUMENT, PERMISSION_DENIED, TOO_MANY_REQUESTS, AUTH_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.BootstrapAuthResponse> bootstrapAuth(
        io.tenure.v1.BootstrapAuthRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getBootstrapAuthMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ResetAuth makes another first token, when no token with the policy admin is left. It takes no right, but always the nonce, so
     * only those who can read the directory of a member can call it. Nothing else changes: other tokens, policies and the mode stay.
     * Called again with the same token, it returns the same response. Errors: INVALID_ARGUMENT, PERMISSION_DENIED,
     * TOO_MANY_REQUESTS, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE, LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ResetAuthResponse> resetAuth(
        io.tenure.v1.ResetAuthRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResetAuthMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetAuthStatus returns the mode and how much there is.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetAuthStatusResponse> getAuthStatus(
        io.tenure.v1.GetAuthStatusRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetAuthStatusMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * SetAuthMode changes the mode. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, AUTH_UNSAFE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.SetAuthModeResponse> setAuthMode(
        io.tenure.v1.SetAuthModeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetAuthModeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * PutPolicy writes a policy; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.PutPolicyResponse> putPolicy(
        io.tenure.v1.PutPolicyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutPolicyMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetPolicy returns a policy. Errors: POLICY_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetPolicyResponse> getPolicy(
        io.tenure.v1.GetPolicyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetPolicyMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListPolicies lists policies by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListPoliciesResponse> listPolicies(
        io.tenure.v1.ListPoliciesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListPoliciesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DeletePolicy deletes a policy. Tokens and bindings that name it lose its rights. A missing one is not an error.
     * Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeletePolicyResponse> deletePolicy(
        io.tenure.v1.DeletePolicyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeletePolicyMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * CreateToken makes a token. Its text is in the response and nowhere else. If the response is lost, find the token by its
     * name and revoke it. A caller with a token may make a child of it, with policies of its own, without the right to change tokens.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, POLICY_NOT_FOUND, TOKEN_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.CreateTokenResponse> createToken(
        io.tenure.v1.CreateTokenRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateTokenMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetToken returns a token without its text. An empty accessor means the caller's own, which takes no right. Errors:
     * TOKEN_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetTokenResponse> getToken(
        io.tenure.v1.GetTokenRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetTokenMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListTokens lists tokens without their texts, by accessor, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListTokensResponse> listTokens(
        io.tenure.v1.ListTokensRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListTokensMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * RotateToken gives a token a new text. The old text stops working immediately, and the token's children end, because they may have
     * been made with it. An empty accessor means the caller's own, which takes no right. Errors: TOKEN_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.RotateTokenResponse> rotateToken(
        io.tenure.v1.RotateTokenRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRotateTokenMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * RevokeToken ends a token permanently, with its children, their children and so on. After the response, no further change that one
     * of them made is applied. An empty accessor means the caller's own, which takes no right. A missing token is not an error.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.RevokeTokenResponse> revokeToken(
        io.tenure.v1.RevokeTokenRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRevokeTokenMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * PutBinding writes a binding; one with this name is replaced. Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED,
     * POLICY_NOT_FOUND, LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.PutBindingResponse> putBinding(
        io.tenure.v1.PutBindingRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutBindingMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListBindings lists bindings by name, in pages. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListBindingsResponse> listBindings(
        io.tenure.v1.ListBindingsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListBindingsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DeleteBinding deletes a binding. A missing one is not an error. Errors: AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeleteBindingResponse> deleteBinding(
        io.tenure.v1.DeleteBindingRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteBindingMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * PutProvider writes a provider of JSON Web Tokens; one with this name is replaced. Callers with a token of a provider are
     * jwt:NAME/SUBJECT, and have the policies of the bindings that are about that. The provider's keys need not be reachable.
     * Errors: INVALID_ARGUMENT, AUTH_NOT_BOOTSTRAPPED, LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.PutProviderResponse> putProvider(
        io.tenure.v1.PutProviderRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutProviderMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListProviders lists all providers by name, with what the member that responds knows of their keys.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListProvidersResponse> listProviders(
        io.tenure.v1.ListProvidersRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListProvidersMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DeleteProvider deletes a provider. Its tokens are no longer accepted. A missing one is not an error. Errors:
     * AUTH_NOT_BOOTSTRAPPED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeleteProviderResponse> deleteProvider(
        io.tenure.v1.DeleteProviderRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteProviderMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * WhoAmI returns the caller, in every mode. It is linearizable: a member that no leader answers fails with NO_LEADER.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.WhoAmIResponse> whoAmI(
        io.tenure.v1.WhoAmIRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getWhoAmIMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * CheckAccess reports whether the caller has a right, as linearizably as WhoAmI. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.CheckAccessResponse> checkAccess(
        io.tenure.v1.CheckAccessRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCheckAccessMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_BOOTSTRAP_AUTH = 0;
  private static final int METHODID_RESET_AUTH = 1;
  private static final int METHODID_GET_AUTH_STATUS = 2;
  private static final int METHODID_SET_AUTH_MODE = 3;
  private static final int METHODID_PUT_POLICY = 4;
  private static final int METHODID_GET_POLICY = 5;
  private static final int METHODID_LIST_POLICIES = 6;
  private static final int METHODID_DELETE_POLICY = 7;
  private static final int METHODID_CREATE_TOKEN = 8;
  private static final int METHODID_GET_TOKEN = 9;
  private static final int METHODID_LIST_TOKENS = 10;
  private static final int METHODID_ROTATE_TOKEN = 11;
  private static final int METHODID_REVOKE_TOKEN = 12;
  private static final int METHODID_PUT_BINDING = 13;
  private static final int METHODID_LIST_BINDINGS = 14;
  private static final int METHODID_DELETE_BINDING = 15;
  private static final int METHODID_PUT_PROVIDER = 16;
  private static final int METHODID_LIST_PROVIDERS = 17;
  private static final int METHODID_DELETE_PROVIDER = 18;
  private static final int METHODID_WHO_AM_I = 19;
  private static final int METHODID_CHECK_ACCESS = 20;

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
        case METHODID_BOOTSTRAP_AUTH:
          serviceImpl.bootstrapAuth((io.tenure.v1.BootstrapAuthRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.BootstrapAuthResponse>) responseObserver);
          break;
        case METHODID_RESET_AUTH:
          serviceImpl.resetAuth((io.tenure.v1.ResetAuthRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ResetAuthResponse>) responseObserver);
          break;
        case METHODID_GET_AUTH_STATUS:
          serviceImpl.getAuthStatus((io.tenure.v1.GetAuthStatusRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetAuthStatusResponse>) responseObserver);
          break;
        case METHODID_SET_AUTH_MODE:
          serviceImpl.setAuthMode((io.tenure.v1.SetAuthModeRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.SetAuthModeResponse>) responseObserver);
          break;
        case METHODID_PUT_POLICY:
          serviceImpl.putPolicy((io.tenure.v1.PutPolicyRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.PutPolicyResponse>) responseObserver);
          break;
        case METHODID_GET_POLICY:
          serviceImpl.getPolicy((io.tenure.v1.GetPolicyRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetPolicyResponse>) responseObserver);
          break;
        case METHODID_LIST_POLICIES:
          serviceImpl.listPolicies((io.tenure.v1.ListPoliciesRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListPoliciesResponse>) responseObserver);
          break;
        case METHODID_DELETE_POLICY:
          serviceImpl.deletePolicy((io.tenure.v1.DeletePolicyRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeletePolicyResponse>) responseObserver);
          break;
        case METHODID_CREATE_TOKEN:
          serviceImpl.createToken((io.tenure.v1.CreateTokenRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.CreateTokenResponse>) responseObserver);
          break;
        case METHODID_GET_TOKEN:
          serviceImpl.getToken((io.tenure.v1.GetTokenRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetTokenResponse>) responseObserver);
          break;
        case METHODID_LIST_TOKENS:
          serviceImpl.listTokens((io.tenure.v1.ListTokensRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListTokensResponse>) responseObserver);
          break;
        case METHODID_ROTATE_TOKEN:
          serviceImpl.rotateToken((io.tenure.v1.RotateTokenRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.RotateTokenResponse>) responseObserver);
          break;
        case METHODID_REVOKE_TOKEN:
          serviceImpl.revokeToken((io.tenure.v1.RevokeTokenRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.RevokeTokenResponse>) responseObserver);
          break;
        case METHODID_PUT_BINDING:
          serviceImpl.putBinding((io.tenure.v1.PutBindingRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.PutBindingResponse>) responseObserver);
          break;
        case METHODID_LIST_BINDINGS:
          serviceImpl.listBindings((io.tenure.v1.ListBindingsRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListBindingsResponse>) responseObserver);
          break;
        case METHODID_DELETE_BINDING:
          serviceImpl.deleteBinding((io.tenure.v1.DeleteBindingRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeleteBindingResponse>) responseObserver);
          break;
        case METHODID_PUT_PROVIDER:
          serviceImpl.putProvider((io.tenure.v1.PutProviderRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.PutProviderResponse>) responseObserver);
          break;
        case METHODID_LIST_PROVIDERS:
          serviceImpl.listProviders((io.tenure.v1.ListProvidersRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListProvidersResponse>) responseObserver);
          break;
        case METHODID_DELETE_PROVIDER:
          serviceImpl.deleteProvider((io.tenure.v1.DeleteProviderRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeleteProviderResponse>) responseObserver);
          break;
        case METHODID_WHO_AM_I:
          serviceImpl.whoAmI((io.tenure.v1.WhoAmIRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.WhoAmIResponse>) responseObserver);
          break;
        case METHODID_CHECK_ACCESS:
          serviceImpl.checkAccess((io.tenure.v1.CheckAccessRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.CheckAccessResponse>) responseObserver);
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
          getBootstrapAuthMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.BootstrapAuthRequest,
              io.tenure.v1.BootstrapAuthResponse>(
                service, METHODID_BOOTSTRAP_AUTH)))
        .addMethod(
          getResetAuthMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ResetAuthRequest,
              io.tenure.v1.ResetAuthResponse>(
                service, METHODID_RESET_AUTH)))
        .addMethod(
          getGetAuthStatusMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetAuthStatusRequest,
              io.tenure.v1.GetAuthStatusResponse>(
                service, METHODID_GET_AUTH_STATUS)))
        .addMethod(
          getSetAuthModeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.SetAuthModeRequest,
              io.tenure.v1.SetAuthModeResponse>(
                service, METHODID_SET_AUTH_MODE)))
        .addMethod(
          getPutPolicyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.PutPolicyRequest,
              io.tenure.v1.PutPolicyResponse>(
                service, METHODID_PUT_POLICY)))
        .addMethod(
          getGetPolicyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetPolicyRequest,
              io.tenure.v1.GetPolicyResponse>(
                service, METHODID_GET_POLICY)))
        .addMethod(
          getListPoliciesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListPoliciesRequest,
              io.tenure.v1.ListPoliciesResponse>(
                service, METHODID_LIST_POLICIES)))
        .addMethod(
          getDeletePolicyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeletePolicyRequest,
              io.tenure.v1.DeletePolicyResponse>(
                service, METHODID_DELETE_POLICY)))
        .addMethod(
          getCreateTokenMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.CreateTokenRequest,
              io.tenure.v1.CreateTokenResponse>(
                service, METHODID_CREATE_TOKEN)))
        .addMethod(
          getGetTokenMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetTokenRequest,
              io.tenure.v1.GetTokenResponse>(
                service, METHODID_GET_TOKEN)))
        .addMethod(
          getListTokensMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListTokensRequest,
              io.tenure.v1.ListTokensResponse>(
                service, METHODID_LIST_TOKENS)))
        .addMethod(
          getRotateTokenMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.RotateTokenRequest,
              io.tenure.v1.RotateTokenResponse>(
                service, METHODID_ROTATE_TOKEN)))
        .addMethod(
          getRevokeTokenMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.RevokeTokenRequest,
              io.tenure.v1.RevokeTokenResponse>(
                service, METHODID_REVOKE_TOKEN)))
        .addMethod(
          getPutBindingMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.PutBindingRequest,
              io.tenure.v1.PutBindingResponse>(
                service, METHODID_PUT_BINDING)))
        .addMethod(
          getListBindingsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListBindingsRequest,
              io.tenure.v1.ListBindingsResponse>(
                service, METHODID_LIST_BINDINGS)))
        .addMethod(
          getDeleteBindingMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeleteBindingRequest,
              io.tenure.v1.DeleteBindingResponse>(
                service, METHODID_DELETE_BINDING)))
        .addMethod(
          getPutProviderMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.PutProviderRequest,
              io.tenure.v1.PutProviderResponse>(
                service, METHODID_PUT_PROVIDER)))
        .addMethod(
          getListProvidersMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListProvidersRequest,
              io.tenure.v1.ListProvidersResponse>(
                service, METHODID_LIST_PROVIDERS)))
        .addMethod(
          getDeleteProviderMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeleteProviderRequest,
              io.tenure.v1.DeleteProviderResponse>(
                service, METHODID_DELETE_PROVIDER)))
        .addMethod(
          getWhoAmIMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.WhoAmIRequest,
              io.tenure.v1.WhoAmIResponse>(
                service, METHODID_WHO_AM_I)))
        .addMethod(
          getCheckAccessMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.CheckAccessRequest,
              io.tenure.v1.CheckAccessResponse>(
                service, METHODID_CHECK_ACCESS)))
        .build();
  }

  private static abstract class AuthServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    AuthServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.AuthProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("AuthService");
    }
  }

  private static final class AuthServiceFileDescriptorSupplier
      extends AuthServiceBaseDescriptorSupplier {
    AuthServiceFileDescriptorSupplier() {}
  }

  private static final class AuthServiceMethodDescriptorSupplier
      extends AuthServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    AuthServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (AuthServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new AuthServiceFileDescriptorSupplier())
              .addMethod(getBootstrapAuthMethod())
              .addMethod(getResetAuthMethod())
              .addMethod(getGetAuthStatusMethod())
              .addMethod(getSetAuthModeMethod())
              .addMethod(getPutPolicyMethod())
              .addMethod(getGetPolicyMethod())
              .addMethod(getListPoliciesMethod())
              .addMethod(getDeletePolicyMethod())
              .addMethod(getCreateTokenMethod())
              .addMethod(getGetTokenMethod())
              .addMethod(getListTokensMethod())
              .addMethod(getRotateTokenMethod())
              .addMethod(getRevokeTokenMethod())
              .addMethod(getPutBindingMethod())
              .addMethod(getListBindingsMethod())
              .addMethod(getDeleteBindingMethod())
              .addMethod(getPutProviderMethod())
              .addMethod(getListProvidersMethod())
              .addMethod(getDeleteProviderMethod())
              .addMethod(getWhoAmIMethod())
              .addMethod(getCheckAccessMethod())
              .build();
        }
      }
    }
    return result;
  }
}
