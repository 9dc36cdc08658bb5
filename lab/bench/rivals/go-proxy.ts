import { findProgram } from '../../../test/support/commands/find-program.ts';
import { versionOf } from '../../harness/programs.ts';
import { type Contender, serverName } from './contender.ts';

/** Go's `httputil.ReverseProxy`, what kube-apiserver's own peer proxy is made of, over HTTP/1.1 to the servers. */
export const goProxy = goContender('go', 'Go ReverseProxy', false);

/** The same over HTTP/2. */
export const goProxyHttp2 = goContender('go-http2', 'Go ReverseProxy, HTTP/2 to the server', true);

function goContender(name: 'go' | 'go-http2', title: string, overHttp2: boolean): Contender {
  return {
    name,
    title,
    async version() {
      const go = findProgram('go');
      return go === undefined ? undefined : versionOf(go, ['version'], /go(\d\S+)/);
    },
    async command({ workbench, port, servers }) {
      const { clusterCa, router, frontProxyClient } = workbench.certificates;
      return {
        executable: workbench.goPrograms,
        arguments: [
          'proxy',
          `-listen=127.0.0.1:${port}`,
          `-target=https://127.0.0.1:${servers.peer}`,
          `-certificate=${router.certificate}`,
          `-key=${router.privateKey}`,
          `-authority=${clusterCa}`,
          `-client-authority=${clusterCa}`,
          `-client-certificate=${frontProxyClient.certificate}`,
          `-client-key=${frontProxyClient.privateKey}`,
          `-server-name=${serverName}`,
          `-http2=${overHttp2}`,
        ],
      };
    },
  };
}
