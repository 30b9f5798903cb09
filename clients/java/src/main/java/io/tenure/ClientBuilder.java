package io.tenure;

import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannelBuilder;
import io.tenure.internal.line.Security;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Settings of a client, from {@link Client#builder}. A setting here takes precedence over the connection string, and the connection
 * string over the environment. Files are PEM, and are read for each new connection, so that they can be replaced. The thread that renews
 * sessions reads them: keep them where reading does not block, on a local disk.
 */
public final class ClientBuilder {
  private final ConnectionString at;
  private final Map<String, String> texts = new HashMap<>();
  private final List<ClientInterceptor> interceptors = new ArrayList<>();
  private String token = "";
  private Supplier<String> source;
  private ChannelCredentials credentials;
  private Consumer<ManagedChannelBuilder<?>> channel = b -> { };
  private Duration callTimeout = Client.DEFAULT_CALL_TIMEOUT;

  ClientBuilder(ConnectionString at) {
    this.at = Objects.requireNonNull(at, "connectionString");
  }

  /**
   * Sets whom to trust, and means TLS. Without it, Java's roots are used.
   *
   * @param file certificates of authorities; {@code ca_file} in a connection string, TENURE_CA_FILE in the environment
   * @return this builder
   */
  public ClientBuilder caFile(Path file) {
    texts.put(Security.CA, file.toString());
    return this;
  }

  /**
   * Sets the client's own certificate, and means TLS.
   *
   * @param certificate the certificate, and those between it and its authority; {@code cert_file}, TENURE_CERT_FILE
   * @param key its key, as PKCS #8 without password; {@code key_file}, TENURE_KEY_FILE
   * @return this builder
   */
  public ClientBuilder certificateFiles(Path certificate, Path key) {
    texts.put(Security.CERT, certificate.toString());
    texts.put(Security.KEY, key.toString());
    return this;
  }

  /**
   * Sets the name that members' certificates must be for, if it is not the host that the client connects to, and means TLS.
   *
   * @param name the name; {@code server_name}, TENURE_SERVER_NAME
   * @return this builder
   */
  public ClientBuilder serverName(String name) {
    texts.put(Security.SERVER_NAME, name);
    return this;
  }

  /**
   * Sets how connections are secured, in place of files and a server name, and means TLS.
   *
   * @param own credentials such as {@link io.grpc.TlsChannelCredentials}
   * @return this builder
   */
  public ClientBuilder credentials(ChannelCredentials own) {
    credentials = Objects.requireNonNull(own, "credentials");
    return this;
  }

  /**
   * Sets a token that says who calls. It is sent with each call, but without TLS only to this machine, unless
   * {@link #insecure} is set.
   *
   * @param text the token; TENURE_TOKEN in the environment
   * @return this builder
   */
  public ClientBuilder token(String text) {
    token = Objects.requireNonNull(text, "token");
    return this;
  }

  /**
   * Sets a function that returns the token. It is called again when the token is 10 s old, and when a member refuses it, on a thread
   * of its own, never concurrently. While it takes long or fails, calls use the previous token, if there is one
   * and members accept it.
   *
   * @param from returns the token
   * @return this builder
   */
  public ClientBuilder token(Supplier<String> from) {
    source = Objects.requireNonNull(from, "token");
    return this;
  }

  /**
   * Sets a file with the token. It is read again as the function of {@link #token(Supplier)} is called again.
   *
   * @param file the file; {@code token_file}, TENURE_TOKEN_FILE
   * @return this builder
   */
  public ClientBuilder tokenFile(Path file) {
    texts.put(Security.TOKEN_FILE, file.toString());
    return this;
  }

  /**
   * Lets the client send tokens to other machines without TLS, where everyone on the network path can read them: its own, and those that
   * {@link #interceptors} give to calls. Otherwise such a call is refused, with the reason AUTH_UNSAFE.
   *
   * @param allowed whether it may; {@code insecure} in a connection string
   * @return this builder
   */
  public ClientBuilder insecure(boolean allowed) {
    texts.put(Security.INSECURE, String.valueOf(allowed));
    return this;
  }

  /**
   * Adds interceptors to every connection. They see each call, also those of the library itself, such as the renewals of sessions, and
   * run on the thread that renews sessions. One that blocks stops all sessions of the client from being renewed, and a wait for a call
   * of the same client never ends: what an interceptor needs must be there when it is called.
   *
   * @param added interceptors of gRPC
   * @return this builder
   */
  public ClientBuilder interceptors(ClientInterceptor... added) {
    interceptors.addAll(List.of(added));
    return this;
  }

  /**
   * Changes how connections are made, for example through a proxy. The library's own settings come after.
   *
   * @param change is given the builder of each connection, on the thread that renews sessions: it must not block
   * @return this builder
   */
  public ClientBuilder channel(Consumer<ManagedChannelBuilder<?>> change) {
    channel = Objects.requireNonNull(change, "channel");
    return this;
  }

  /**
   * Sets another time than {@link Client#DEFAULT_CALL_TIMEOUT}; see {@link Client#connect(ConnectionString, Duration)}.
   *
   * @param timeout how long calls wait for a member
   * @return this builder
   */
  public ClientBuilder callTimeout(Duration timeout) {
    callTimeout = timeout;
    return this;
  }

  /**
   * Returns the client. It does not wait for a member.
   *
   * @return the client
   * @throws TenureException of kind INVALID_ARGUMENT if settings do not go together, TLS_FAILED if a file of TLS cannot be used, or
   *     AUTH_FAILED if the token cannot be read
   */
  public Client connect() {
    return Client.connect(at, callTimeout,
        new Security(Map.copyOf(texts), token, source, credentials, List.copyOf(interceptors), channel));
  }
}
