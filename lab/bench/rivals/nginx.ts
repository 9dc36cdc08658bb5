import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../../test/support/commands/find-program.ts';
import { versionOf } from '../../harness/programs.ts';
import { type Contender, type ProxySetup, serverName } from './contender.ts';

/** nginx, which speaks HTTP/1.1 to servers and no HTTP/2. */
export const nginx: Contender = {
  name: 'nginx',
  title: 'nginx',
  async version() {
    const program = findProgram('nginx');
    return program === undefined ? undefined : versionOf(program, ['-v'], /nginx\/(\S+)/);
  },
  async command(setup) {
    const path = join(setup.directory, 'nginx.conf');
    await writeFile(path, configuration(setup));
    return {
      executable: findProgram('nginx') ?? 'nginx',
      arguments: ['-p', setup.directory, '-c', path, '-e', 'stderr'],
    };
  },
};

/** One worker in the foreground; nothing is written outside the directory. */
function configuration({ workbench, directory, port, servers }: ProxySetup): string {
  const { clusterCa, router, frontProxyClient } = workbench.certificates;
  // As root, the worker must be able to read what root has written into a private directory.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${join(directory, kind)};`)
    .join('\n  ');
  return `
${user}
worker_processes 1;
daemon off;
pid ${join(directory, 'nginx.pid')};
error_log stderr crit;
events { worker_connections 40000; }
http {
  access_log off;
  tcp_nodelay on;
  ${temporary}
  map $ssl_client_s_dn $caller { default ''; '~CN=(?<name>[^,]+)' $name; }
  map $ssl_client_verify $everybody { default ''; SUCCESS system:authenticated; }
  upstream api {
    server 127.0.0.1:${servers.peer};
    keepalive 1024;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port} ssl http2;
    keepalive_requests 100000000;
    client_max_body_size 0;
    ssl_certificate ${router.certificate};
    ssl_certificate_key ${router.privateKey};
    ssl_client_certificate ${clusterCa};
    ssl_verify_client optional;
    location / {
      proxy_pass https://api;
      proxy_http_version 1.1;
      proxy_set_header Connection '';
      proxy_set_header X-Remote-User $caller;
      proxy_set_header X-Remote-Group $everybody;
      # As for a watch and a large list: nothing waits for a buffer to fill.
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 1h;
      proxy_ssl_certificate ${frontProxyClient.certificate};
      proxy_ssl_certificate_key ${frontProxyClient.privateKey};
      proxy_ssl_trusted_certificate ${clusterCa};
      proxy_ssl_verify on;
      proxy_ssl_name ${serverName};
      proxy_ssl_server_name on;
    }
  }
}
`.trimStart();
}
