package io.tenure;

import io.grpc.ChannelCredentials;
import io.tenure.internal.line.Security;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Settings of an agent, from {@link Agent#builder}. Those about TLS mean TLS. What they leave open the environment says, if there is TLS:
 * without, its variables are about members. Files are as those of {@link ClientBuilder}.
 */
public final class AgentBuilder {
  private final ConnectionString at;
  private final Map<String, String> environment;
  private final Map<String, String> texts = new HashMap<>();
  private ChannelCredentials credentials;
  private Duration callTimeout = Client.DEFAULT_CALL_TIMEOUT;

  AgentBuilder(ConnectionString at, Map<String, String> environment) {
    this.at = at;
    this.environment = environment;
  }

  /**
   * Sets whom to trust; see {@link ClientBuilder#caFile}.
   *
   * @param file certificates of authorities
   * @return this builder
   */
  public AgentBuilder caFile(Path file) {
    texts.put(Security.CA, file.toString());
    return this;
  }

  /**
   * Sets the client's own certificate; see {@link ClientBuilder#certificateFiles}.
   *
   * @param certificate the certificate, and those between it and its authority
   * @param key its key, as PKCS #8 without password
   * @return this builder
   */
  public AgentBuilder certificateFiles(Path certificate, Path key) {
    texts.put(Security.CERT, certificate.toString());
    texts.put(Security.KEY, key.toString());
    return this;
  }

  /**
   * Sets the name that the agent's certificate must be for, if it is not the host of its address.
   *
   * @param name the name
   * @return this builder
   */
  public AgentBuilder serverName(String name) {
    texts.put(Security.SERVER_NAME, name);
    return this;
  }

  /**
   * Sets how connections are secured, in place of files and a server name.
   *
   * @param own credentials such as {@link io.grpc.TlsChannelCredentials}
   * @return this builder
   */
  public AgentBuilder credentials(ChannelCredentials own) {
    credentials = Objects.requireNonNull(own, "credentials");
    return this;
  }

  /**
   * Sets another time than {@link Client#DEFAULT_CALL_TIMEOUT}.
   *
   * @param timeout how long calls wait for the agent
   * @return this builder
   */
  public AgentBuilder callTimeout(Duration timeout) {
    callTimeout = timeout;
    return this;
  }

  /**
   * Returns the agent. It does not wait for it.
   *
   * @return the agent
   * @throws TenureException of kind INVALID_ARGUMENT if settings do not go together, or TLS_FAILED if a file of TLS cannot be used
   */
  public Agent open() {
    Security security = new Security(Map.copyOf(texts), "", null, credentials, List.of(), b -> { });
    return new Agent(Client.ofAgent(at, callTimeout, security, environment));
  }
}
