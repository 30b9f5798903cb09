package io.tenure;

import io.tenure.internal.Exceptions;
import io.tenure.internal.line.Security;
import java.math.BigDecimal;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The members of a cluster, a namespace, and defaults for sessions: {@code tenure://h1:7400,h2:7400/namespace?ttl=15s}. The parameters
 * are {@code ttl}, {@code lock_delay} and {@code name}, and for TLS and tokens {@code ca_file}, {@code cert_file}, {@code key_file},
 * {@code server_name}, {@code token_file} and {@code insecure}; durations are written as 15s, 1m30s or 500ms.
 *
 * @param members host:port of some members; the client discovers the others
 * @param namespace added to the front of every key, with a slash; empty for none
 * @param scheme {@code tenure}, {@code tenures} for TLS, or empty: then the other settings decide
 * @param ttl the default TTL of sessions; zero means that they never expire
 * @param lockDelay the default lock-delay of sessions; empty for the cluster's default, 15 s
 * @param name the default name of sessions, by which operators find them; empty for the name of the program
 * @param security the parameters for TLS and tokens, by name
 */
public record ConnectionString(
    List<String> members,
    String namespace,
    Optional<String> scheme,
    Duration ttl,
    Optional<Duration> lockDelay,
    Optional<String> name,
    Map<String, String> security) {
  /** The TTL of sessions by default: 15 s. */
  public static final Duration DEFAULT_TTL = Duration.ofSeconds(15);

  /**
   * Checks the parts, and adds the default port.
   *
   * @param members host:port of some members, at least one; the default port is 7400
   * @param namespace added to the front of every key, with a slash; empty for none
   * @param scheme {@code tenure}, {@code tenures} for TLS, or empty: then the other settings decide
   * @param ttl the default TTL of sessions; zero means that they never expire
   * @param lockDelay the default lock-delay of sessions; empty for the cluster's default
   * @param name the default name of sessions; empty for the name of the program
   * @param security the parameters for TLS and tokens, by name, such as {@code ca_file}
   * @throws TenureException of kind INVALID_ARGUMENT if there is no member, one is not host:port, or the TTL or the
   *     lock-delay is negative or longer than 292 years
   */
  public ConnectionString {
    String text = String.join(",", members);
    if (members.isEmpty()) {
      throw invalid(text, "there is no member");
    }
    if (ttl.isNegative()) {
      throw invalid(text, "the TTL is negative");
    }
    if (ttl.compareTo(DURATION_MAX) > 0) {
      throw invalid(text, "the TTL is longer than " + DURATION_MAX.toDays() + " days");
    }
    Objects.requireNonNull(lockDelay, "lockDelay");
    if (lockDelay.filter(d -> d.isNegative() || d.compareTo(DURATION_MAX) > 0).isPresent()) {
      throw invalid(text, "the lock-delay is negative, or longer than " + DURATION_MAX.toDays() + " days");
    }
    members = members.stream().map(m -> address(text, m)).toList();
    Objects.requireNonNull(namespace, "namespace");
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(scheme, "scheme");
    security = Map.copyOf(security);
    security.forEach((parameter, value) -> checkSecurity(text, parameter, value));
  }

  /**
   * Makes one without parameters for TLS and tokens.
   *
   * @param members host:port of some members, at least one; the default port is 7400
   * @param namespace added to the front of every key, with a slash; empty for none
   * @param tls whether connections use TLS
   * @param ttl the default TTL of sessions; zero means that they never expire
   * @param lockDelay the default lock-delay of sessions; empty for the cluster's default
   * @param name the default name of sessions; empty for the name of the program
   * @throws TenureException of kind INVALID_ARGUMENT if there is no member, one is not host:port, or the TTL or the
   *     lock-delay is negative or longer than 292 years
   */
  public ConnectionString(List<String> members, String namespace, boolean tls, Duration ttl,
      Optional<Duration> lockDelay, Optional<String> name) {
    this(members, namespace, Optional.of(tls ? "tenures" : "tenure"), ttl, lockDelay, name, Map.of());
  }

  /** {@return whether TLS is spelled out: the scheme is {@code tenures}} */
  public boolean tls() {
    return scheme.equals(Optional.of("tenures"));
  }

  private static final int DEFAULT_PORT = 7400;
  /** What can be counted in nanoseconds. */
  private static final Duration DURATION_MAX = Duration.ofNanos(Long.MAX_VALUE);
  private static final Pattern DURATION_PART = Pattern.compile("([0-9]+(?:\\.[0-9]+)?)(ns|us|µs|ms|s|m|h)");
  private static final Pattern SCHEME = Pattern.compile("[^/?#]*://");
  private static final Pattern AUTHORITY = Pattern.compile("(tenures?)://([^/?#]*)(/[^?#]*)?(?:\\?([^#]*))?");

  /**
   * Reads a connection string. The scheme can be left out, as in {@code h1:7400,h2:7400}; then there is TLS if a CA, a certificate
   * or a server name is given.
   *
   * @param text the connection string
   * @return its parts
   * @throws TenureException of kind INVALID_ARGUMENT if it is malformed; the message names the mistake
   */
  public static ConnectionString parse(String text) {
    Objects.requireNonNull(text, "connectionString");
    refuseToken(text);
    boolean spelled = SCHEME.matcher(text).lookingAt();
    Matcher m = AUTHORITY.matcher(spelled ? text : "tenure://" + text);
    if (!m.matches()) {
      throw invalid(text, "it must look like tenure://host:7400,host:7400/namespace?ttl=15s");
    }
    List<String> members = new ArrayList<>();
    for (String member : m.group(2).split(",", -1)) {
      members.add(address(text, member.strip()));
    }
    String namespace = m.group(3) == null ? "" : decode(text, m.group(3)).replaceAll("^/+|/+$", "");
    Duration ttl = DEFAULT_TTL;
    Optional<Duration> lockDelay = Optional.empty();
    Optional<String> name = Optional.empty();
    Map<String, String> security = new HashMap<>();
    Set<String> seen = new HashSet<>();
    String query = m.group(4) == null ? "" : m.group(4);
    for (String pair : query.isEmpty() ? new String[0] : query.split("&", -1)) {
      int eq = pair.indexOf('=');
      String key = eq < 0 ? pair : pair.substring(0, eq);
      String value = eq < 0 ? "" : decode(text, pair.substring(eq + 1));
      if (!seen.add(key)) {
        throw invalid(text, "parameter " + key + " is given twice");
      }
      switch (key) {
        case "ttl" -> ttl = duration(text, value);
        case "lock_delay" -> lockDelay = Optional.of(duration(text, value));
        case "name" -> name = Optional.of(value);
        default -> security.put(checkSecurity(text, key, value), value);
      }
    }
    Optional<String> scheme = spelled ? Optional.of(m.group(1)) : Optional.empty();
    return new ConnectionString(List.copyOf(members), namespace, scheme, ttl, lockDelay, name, security);
  }

  /** Refuses a token without repeating it. */
  private static void refuseToken(String text) {
    int query = text.indexOf('?');
    for (String pair : query < 0 ? new String[0] : text.substring(query + 1).split("&", -1)) {
      String key = pair.split("=", 2)[0];
      try {
        key = URLDecoder.decode(key, StandardCharsets.UTF_8);
      } catch (IllegalArgumentException e) {
        continue; // It is refused as it stands.
      }
      if (key.equals("token")) {
        throw Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, "token= is refused in a connection string, which ends "
            + "up in logs: use token_file=, ClientBuilder.token or TENURE_TOKEN");
      }
    }
  }

  /** Returns the name of a parameter for TLS or tokens. */
  private static String checkSecurity(String text, String parameter, String value) {
    switch (parameter) {
      case Security.CA, Security.CERT, Security.KEY, Security.SERVER_NAME, Security.TOKEN_FILE -> {
        if (value.isEmpty()) {
          throw invalid(text, "parameter " + parameter + " is empty");
        }
      }
      case Security.INSECURE -> {
        if (!value.equals("true") && !value.equals("false")) {
          throw invalid(text, "parameter insecure must be true or false");
        }
      }
      default -> throw invalid(text, "parameter " + parameter + " is unknown; the parameters are ttl, lock_delay, name, "
          + "ca_file, cert_file, key_file, server_name, token_file and insecure");
    }
    return parameter;
  }

  private static String address(String text, String member) {
    URI uri;
    try {
      uri = new URI("x://" + member);
    } catch (URISyntaxException e) {
      throw invalid(text, "member \"" + member + "\" is not host:port");
    }
    if (member.isEmpty() || uri.getHost() == null || uri.getUserInfo() != null) {
      throw invalid(text, "member \"" + member + "\" is not host:port");
    }
    int port = uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort();
    if (port < 1 || port > 65535) {
      throw invalid(text, "member " + member + " has no port from 1 to 65535");
    }
    return uri.getHost() + ":" + port;
  }

  private static Duration duration(String text, String value) {
    BigDecimal nanos = BigDecimal.ZERO;
    Matcher m = DURATION_PART.matcher(value);
    int at = 0;
    while (m.find() && m.start() == at) {
      nanos = nanos.add(new BigDecimal(m.group(1)).multiply(BigDecimal.valueOf(unitNanos(m.group(2)))));
      at = m.end();
    }
    if (at == 0 && value.equals("0")) {
      return Duration.ZERO;
    }
    if (at == 0 || at != value.length() || nanos.compareTo(BigDecimal.valueOf(DURATION_MAX.toNanos())) > 0) {
      throw invalid(text, "\"" + value + "\" is not a duration such as 15s, 1m30s or 500ms");
    }
    return Duration.ofNanos(nanos.longValue());
  }

  private static long unitNanos(String unit) {
    return switch (unit) {
      case "ns" -> 1L;
      case "us", "µs" -> 1_000L;
      case "ms" -> 1_000_000L;
      case "s" -> 1_000_000_000L;
      case "m" -> 60_000_000_000L;
      default -> 3_600_000_000_000L;
    };
  }

  private static String decode(String text, String part) {
    try {
      // A plus is a plus: only percent escapes are taken off.
      return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw invalid(text, "it has a damaged percent escape");
    }
  }

  private static TenureException invalid(String text, String why) {
    return Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, "connection string \"" + text + "\": " + why);
  }
}
