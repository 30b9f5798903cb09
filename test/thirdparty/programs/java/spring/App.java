import java.util.TreeSet;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.DiscoveryClient;
import org.springframework.context.annotation.Configuration;

/**
 * An application with the configuration, the registry and the discovery of Spring Cloud Consul: App NAME ADDRESS. Spring registers it as an instance of
 * the service thirdparty. It prints the property color and the names of the instances that pass, again and again.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class App {
  private static final long PAUSE_MS = 200;

  public static void main(String[] args) throws Exception {
    String[] address = args[1].split(":");
    var context =
        new SpringApplicationBuilder(App.class)
            .run(
                "--server.address=127.0.0.1",
                "--server.port=0",
                "--spring.main.banner-mode=off",
                "--spring.application.name=thirdparty",
                "--spring.config.import=consul:" + args[1],
                "--spring.cloud.consul.host=" + address[0],
                "--spring.cloud.consul.port=" + address[1],
                "--spring.cloud.consul.config.watch.delay=100",
                "--spring.cloud.consul.config.watch.wait-time=2",
                "--spring.cloud.consul.discovery.hostname=127.0.0.1",
                "--spring.cloud.consul.discovery.instance-id=" + args[0],
                "--spring.cloud.consul.discovery.query-passing=true",
                "--spring.cloud.consul.discovery.heartbeat.enabled=true",
                "--spring.cloud.consul.discovery.heartbeat.ttl=10s",
                "--spring.cloud.consul.discovery.heartbeat.reregister-service-on-failure=true");
    DiscoveryClient discovery = context.getBean(DiscoveryClient.class);
    while (true) {
      try {
        var names = new TreeSet<String>();
        for (ServiceInstance instance : discovery.getInstances("thirdparty")) {
          names.add(instance.getInstanceId());
        }
        System.out.println("color " + context.getEnvironment().getProperty("color") + " instances " + String.join(",", names));
      } catch (RuntimeException e) { // Whatever the library makes of an agent without members.
        System.out.println("failed: " + e);
      }
      Thread.sleep(PAUSE_MS);
    }
  }
}
