import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, versionOf } from '../../harness/programs.ts';
import { type Contender, type ProxySetup, serverName } from './contender.ts';

/** Caddy, speaking HTTP/2 to the servers, as it does of its own accord. */
export const caddy: Contender = {
  name: 'caddy',
  title: 'Caddy',
  async version() {
    const program = findProgram('caddy');
    return program === undefined ? undefined : versionOf(program, ['version'], /v?(\d\S+)/);
  },
  async command(setup) {
    const path = join(setup.directory, 'Caddyfile');
    await writeFile(path, configuration(setup));
    return {
      executable: findProgram('caddy') ?? 'caddy',
      arguments: ['run', '--config', path, '--adapter', 'caddyfile'],
      // It keeps its own files in the home directory.
      environment: {
        HOME: setup.directory,
        XDG_DATA_HOME: setup.directory,
        XDG_CONFIG_HOME: setup.directory,
      },
    };
  },
};

function configuration({ workbench, port, servers }: ProxySetup): string {
  const { clusterCa, router, frontProxyClient } = workbench.certificates;
  return `
{
  admin off
  auto_https off
  log {
    level ERROR
  }
  # The load comes to an IP address, and with that without a server name.
  servers {
    strict_sni_host insecure_off
  }
}
https://:${port} {
  bind 127.0.0.1
  tls ${router.certificate} ${router.privateKey} {
    protocols tls1.2 tls1.3
    client_auth {
      mode verify_if_given
      trusted_ca_cert_file ${clusterCa}
    }
  }
  request_header -X-Remote-*
  reverse_proxy https://127.0.0.1:${servers.peer} {
    header_up X-Remote-User {http.request.tls.client.subject}
    header_up X-Remote-Group system:authenticated
    flush_interval -1
    transport http {
      tls_client_auth ${frontProxyClient.certificate} ${frontProxyClient.privateKey}
      tls_trusted_ca_certs ${clusterCa}
      tls_server_name ${serverName}
      keepalive_idle_conns_per_host 1024
    }
  }
}
`.trimStart();
}
