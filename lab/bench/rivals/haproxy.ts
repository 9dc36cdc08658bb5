import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../../test/support/commands/find-program.ts';
import { versionOf } from '../../harness/programs.ts';
import { type Contender, type ProxySetup, serverName } from './contender.ts';

/** HAProxy, speaking HTTP/1.1 to the servers. */
export const haproxy = haproxyContender('haproxy', 'HAProxy', '');

/** HAProxy, speaking HTTP/2 to the servers. */
export const haproxyHttp2 = haproxyContender('haproxy-http2', 'HAProxy, HTTP/2 to the server', ' alpn h2');

function haproxyContender(
  name: 'haproxy' | 'haproxy-http2',
  title: string,
  serverOptions: string,
): Contender {
  return {
    name,
    title,
    async version() {
      const program = findProgram('haproxy');
      return program === undefined ? undefined : versionOf(program, ['-v'], /version (\S+)/);
    },
    async command(setup) {
      const path = join(setup.directory, 'haproxy.cfg');
      await writeFile(path, configuration(setup, serverOptions));
      // `-db`: in the foreground, one process.
      return { executable: findProgram('haproxy') ?? 'haproxy', arguments: ['-db', '-f', path] };
    },
  };
}

function configuration({ workbench, port, servers }: ProxySetup, serverOptions: string): string {
  const { certificates, servingPem, frontProxyPem } = workbench;
  return `
global
  nbthread 1
  tune.h2.max-concurrent-streams 100
defaults
  mode http
  timeout connect 10s
  timeout client 1h
  timeout server 1h
frontend clients
  bind 127.0.0.1:${port} ssl crt ${servingPem} alpn h2,http/1.1 ca-file ${certificates.clusterCa} verify optional
  http-request del-header X-Remote- -m beg
  http-request set-header X-Remote-User %[ssl_c_s_dn(CN)] if { ssl_c_used }
  http-request add-header X-Remote-Group %[ssl_c_s_dn(O,1)] if { ssl_c_used }
  http-request add-header X-Remote-Group %[ssl_c_s_dn(O,2)] if { ssl_c_used }
  http-request add-header X-Remote-Group system:authenticated if { ssl_c_used }
  default_backend servers
backend servers
  http-reuse always
  server peer 127.0.0.1:${servers.peer} ssl verify required ca-file ${certificates.clusterCa} crt ${frontProxyPem} sni str(${serverName}) verifyhost ${serverName}${serverOptions}
`.trimStart();
}
