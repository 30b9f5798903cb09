package io.tenure.internal.line;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The files of TLS. Whatever is wrong with one is told by its name, when a client is made. */
final class PemFiles {
  private static final Pattern KEY = Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]*)-----END PRIVATE KEY-----");
  private static final Map<String, String> SIGNATURES =
      Map.of("RSA", "SHA256withRSA", "EC", "SHA256withECDSA", "EdDSA", "EdDSA");

  /** What is in the files; null for none. */
  record Contents(byte[] ca, byte[] certificate, byte[] key) {}

  private PemFiles() {}

  /** Reads the files, and checks them. */
  static Contents check(Security security) {
    Contents files = new Contents(
        read(security, Security.CA), read(security, Security.CERT), read(security, Security.KEY));
    if (files.ca() != null && certificates(files.ca()).isEmpty()) {
      throw failed("ca_file " + security.text(Security.CA) + " has no certificate in PEM form");
    }
    if (files.certificate() != null) {
      String pair = "cert_file " + security.text(Security.CERT) + " and key_file " + security.text(Security.KEY);
      Collection<? extends Certificate> chain = certificates(files.certificate());
      if (chain.isEmpty() || !fit(chain.iterator().next().getPublicKey(), files.key())) {
        throw failed(pair + " are not a pair of a certificate and a key in PEM form (PKCS #8, without password)");
      }
    }
    return files;
  }

  private static byte[] read(Security security, String name) {
    String path = security.text(name);
    if (path.isEmpty()) {
      return null;
    }
    try {
      return Files.readAllBytes(Path.of(path));
    } catch (NoSuchFileException e) {
      throw failed(name + " " + path + ": no such file");
    } catch (IOException e) {
      throw failed(name + " " + path + ": " + e.getMessage());
    }
  }

  private static Collection<? extends Certificate> certificates(byte[] pem) {
    try {
      return CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem));
    } catch (CertificateException e) {
      return java.util.List.of();
    }
  }

  /** Whether a key is the one of a certificate: what it signs is verified. */
  private static boolean fit(PublicKey certified, byte[] pem) {
    Matcher found = KEY.matcher(new String(pem, StandardCharsets.ISO_8859_1));
    String algorithm = SIGNATURES.get(certified.getAlgorithm());
    if (!found.find()) {
      return false;
    }
    if (algorithm == null) {
      return true; // Of a kind that is not known here; TLS will say.
    }
    try {
      PrivateKey key = KeyFactory.getInstance(certified.getAlgorithm())
          .generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(found.group(1))));
      Signature signature = Signature.getInstance(algorithm);
      signature.initSign(key);
      byte[] made = signature.sign();
      signature.initVerify(certified);
      return signature.verify(made);
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      return false;
    }
  }

  private static TenureException failed(String why) {
    return Exceptions.of(ErrorKind.TLS_FAILED, Applied.NO, why);
  }
}
