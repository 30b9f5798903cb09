package io.tenure;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashSet;
import java.util.Set;

/** An address that stays, with one member after another behind it. */
final class Relay implements AutoCloseable {
  private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
  private final Set<Socket> open = new HashSet<>();
  private int target;
  private int connections;
  private boolean closed;
  private boolean held;

  Relay(FakeMember member) throws IOException {
    this(member.port());
  }

  /** Has the member at that port of this machine behind it. */
  Relay(int port) throws IOException {
    target = port;
    start(this::accept);
  }

  private static Thread start(Runnable task) {
    Thread thread = new Thread(task, "relay");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  String address() {
    return "127.0.0.1:" + socket.getLocalPort();
  }

  /** Returns how many connections there have been. */
  int connections() {
    synchronized (open) {
      return connections;
    }
  }

  /** Returns how many connections there are. */
  int open() {
    synchronized (open) {
      return open.size() / 2;
    }
  }

  /** Keeps back whatever comes, in both directions, or passes it on again. */
  void hold(boolean holding) {
    synchronized (open) {
      held = holding;
      open.notifyAll();
    }
  }

  /** Ends what is connected. */
  void cut() throws IOException {
    Set<Socket> old;
    synchronized (open) {
      old = Set.copyOf(open);
    }
    for (Socket s : old) {
      s.close();
    }
    synchronized (open) {
      open.notifyAll();
    }
  }

  /** Ends what is connected. What comes from now on gets to another member. */
  void to(FakeMember member) throws IOException {
    synchronized (open) {
      target = member.port();
    }
    cut();
  }

  private void accept() {
    while (true) {
      try {
        Socket client = socket.accept();
        start(() -> serve(client));
      } catch (IOException e) {
        return; // It is closed.
      }
    }
  }

  private void serve(Socket client) {
    try (client; Socket member = new Socket()) {
      synchronized (open) {
        if (closed) {
          return;
        }
        member.connect(new InetSocketAddress(socket.getInetAddress(), target));
        open.add(client);
        open.add(member);
        connections++;
      }
      Thread back = start(() -> copy(member, client));
      copy(client, member);
      back.join();
    } catch (IOException | InterruptedException e) {
      // There is no member just now.
    } finally {
      synchronized (open) {
        open.removeIf(Socket::isClosed);
      }
    }
  }

  /** Copies one way. At its end it says so, and the other way goes on: the last word is often why. */
  private void copy(Socket from, Socket to) {
    try {
      byte[] buffer = new byte[8192];
      for (int n = from.getInputStream().read(buffer); n >= 0; n = from.getInputStream().read(buffer)) {
        synchronized (open) {
          while (held && !closed && !from.isClosed()) {
            open.wait();
          }
        }
        to.getOutputStream().write(buffer, 0, n);
      }
      to.shutdownOutput();
    } catch (IOException | InterruptedException e) {
      try {
        to.close();
      } catch (IOException ignored) {
        // It is closed.
      }
    }
  }

  @Override
  public void close() throws IOException {
    synchronized (open) {
      closed = true;
    }
    socket.close();
    cut();
  }
}
