package io.tenure.internal.line;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettySslContextChannelCredentials;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.tenure.Applied;
import io.tenure.ConnectionString;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.BootClock;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Loop;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** How connections are made: with TLS or without, and with a token or without. Files are read for each connection. */
public final class Door {
  /** Why no connection is made with a token in clear. */
  static final String CLEAR = "the token is not sent there without TLS: use tenures://, or insecure=true";

  final boolean tls;
  private final Security security;
  private final Token token;

  private Door(boolean tls, Security security, Token token) {
    this.tls = tls;
    this.security = security;
    this.token = token;
  }

  /** Puts together what the builder, the connection string and the environment say, and looks whether the files are there. */
  public static Door of(Security given, ConnectionString at, Map<String, String> environment, BootClock clock, Loop loop) {
    Security security = given.or(Security.of(at.security())).or(Security.of(environment, given.credentials() == null));
    boolean tls = security.decide(at);
    if (tls && security.credentials() == null) {
      PemFiles.check(security);
    }
    Token token = null;
    String file = security.text(Security.TOKEN_FILE);
    if (security.source() != null) {
      token = new Token(security.source(), clock::nanos, loop::alone, loop::after, loop); // It may take its time, and waits for the first call.
    } else if (security.tokens() > 0) {
      String text = security.token();
      token = new Token(() -> text.isEmpty() ? read(file) : text, clock::nanos, loop::alone, loop::after, loop);
      token.read();
    }
    return new Door(tls, security, token);
  }

  /** Whether calls may share a line: interceptors see each call by itself. */
  boolean lines() {
    return security.interceptors().isEmpty();
  }

  /** Returns the token that calls carry, empty for none; null if they have to wait for it. */
  public String token() {
    if (token == null) {
      return "";
    }
    String ready = token.ready();
    return ready.isEmpty() ? null : ready;
  }

  /**
   * Has that token told by {@code back} that {@link #token()} did not return, or why there is none. What is returned has neither told from then
   * on.
   */
  public Runnable readToken(Executor back, Consumer<String> told, Consumer<StatusRuntimeException> failed) {
    return token.get(back, told, failed);
  }

  /** Ends every wait for a token, because the client is closed. */
  void close() {
    if (token != null) {
      token.close();
    }
  }

  /** Returns how much waits for a token. */
  public int waiting() {
    return token.waiting();
  }

  /** Has it told by {@code back} what a call ends with whose token was refused: with another error if there is another token. */
  void refused(String used, StatusRuntimeException why, Executor back, Consumer<StatusRuntimeException> told) {
    if (token == null) {
      told.accept(why);
    } else {
      token.refused(used, why, Token.FIRST_NANOS, back, told);
    }
  }

  /** Whether the client has a certificate of its own, as far as is known. */
  boolean sendsCertificate() {
    return security.credentials() != null || !security.text(Security.CERT).isEmpty();
  }

  /**
   * Returns what makes a connection to a member.
   *
   * @throws TenureException of kind TLS_FAILED if a file cannot be used, and AUTH_FAILED rather than to send the token in clear
   */
  ManagedChannelBuilder<?> builder(String address) {
    boolean clear = !tls && !security.insecure() && !Security.local(address);
    if (token != null && clear) {
      throw Exceptions.of(ErrorKind.AUTH_FAILED, Applied.NO, CLEAR);
    }
    ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(address, credentials());
    String name = security.text(Security.SERVER_NAME);
    if (!name.isEmpty()) {
      builder.overrideAuthority(name);
    }
    if (clear) { // What is added first sees calls last.
      builder.intercept(new InClear(address));
    }
    if (token != null) {
      builder.intercept(token);
    }
    security.channel().accept(builder);
    return builder.intercept(security.interceptors());
  }

  private ChannelCredentials credentials() {
    if (security.credentials() != null) {
      return security.credentials();
    }
    if (!tls) {
      return InsecureChannelCredentials.create();
    }
    PemFiles.Contents files = PemFiles.check(security);
    SslContextBuilder builder = GrpcSslContexts.forClient().protocols("TLSv1.3");
    if (files.ca() != null) {
      builder.trustManager(new ByteArrayInputStream(files.ca()));
    }
    if (files.certificate() != null) {
      builder.keyManager(new ByteArrayInputStream(files.certificate()), new ByteArrayInputStream(files.key()));
    }
    try {
      return NettySslContextChannelCredentials.create(builder.build());
    } catch (IOException e) {
      throw Exceptions.of(ErrorKind.TLS_FAILED, Applied.NO, e.getMessage(), Map.of(), e);
    }
  }

  private static String read(String file) {
    try {
      return Files.readString(Path.of(file));
    } catch (NoSuchFileException e) {
      throw Exceptions.of(ErrorKind.AUTH_FAILED, Applied.NO, "no token: token_file " + file + ": no such file");
    } catch (IOException e) {
      throw Exceptions.of(ErrorKind.AUTH_FAILED, Applied.NO, "no token: token_file " + file + ": " + e.getMessage());
    }
  }
}
