/**
 * `npm start -- edge`: the embedded mixed cluster behind a router on workerd. Ends with Ctrl-C and leaves nothing
 * behind. `--directory <directory>` puts kubeconfigs and logs elsewhere than in `.demo`.
 */
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { shutdownSignal } from '../../src/node/process/signals.ts';
import { type RunningEdgeDemo, runEdgeDemo } from './run-edge-demo.ts';

const { values } = parseArgs({ options: { directory: { type: 'string', default: '.demo' } } });
const stop = new AbortController();
shutdownSignal().then(() => stop.abort());
// A terminal that is closed sends SIGHUP; nothing may be left behind then either.
process.on('SIGHUP', () => stop.abort());

try {
  await runEdgeDemo({ directory: values.directory, signal: stop.signal, onReady: say });
} catch (error) {
  console.error(`the demo cannot run: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

function say({ kubeconfig, edge, apiServers, routers }: RunningEdgeDemo): void {
  const rows = apiServers.map(
    ({ version, url }, index) => `  v${version.padEnd(8)}${(routers[index]?.origin ?? '').padEnd(26)}${url}`,
  );
  console.log(`
One cluster, a Node router in front of each API server, and workerd in front of them all: ${edge.origin}

  ${'version'.padEnd(9)}${'router'.padEnd(26)}API server
${rows.join('\n')}

workerd verifies the caller's token and signs an assertion for the router that it chooses. In another terminal:

  export KUBECONFIG=${relative('.', kubeconfig)}
  kubectl get mutatingadmissionpolicies                        # only the 1.36 server has these
  kubectl get workloads.v1alpha1.scheduling.k8s.io             # only 1.35 servers have these
  kubectl auth whoami                                          # whichever server answers sees who you are
  kubectl --context alice@edge auth whoami                     # as an ordinary user
  kubectl get pods --watch

Ctrl-C ends it.

ready`);
}
