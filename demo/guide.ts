import { resolve, sep } from 'node:path';
import type { RunningDemo } from './run-demo.ts';

/** What can be typed into the running demo, and what it shows. For a terminal of 80 columns, but for long paths. */
export function demoGuide({ kubeconfig, directKubeconfig, apiServers, routers }: RunningDemo): string {
  const rows = apiServers.map(
    ({ version, url }, index) => `  v${version.padEnd(8)}${(routers[index]?.origin ?? '').padEnd(26)}${url}`,
  );
  return `
Three API servers of one cluster, a router in front of each, and the sync job:

  ${'context'.padEnd(9)}${'router'.padEnd(26)}API server
${rows.join('\n')}

In another terminal, through the router in front of the oldest server:

  export KUBECONFIG=${resolve(kubeconfig)}
  kubectl get validatingadmissionpolicies                   # only 1.36 serves these
  kubectl get horizontalpodautoscalers.v2beta2.autoscaling  # only 1.25 serves these
  kubectl auth whoami                          # a peer knows, and knows who asks
  kubectl api-resources
  kubectl --context v1.36 get all              # any router: v1.25, v1.26, v1.36
  kubectl --context alice@v1.25 auth whoami    # as an ordinary user

What that router knows, in the terminal and as a page:

  ${command()} status
  kubectl proxy --port=8001
  http://127.0.0.1:8001/.mixed-version-proxy/

The same without the routers:

  export KUBECONFIG=${resolve(directKubeconfig)}
  kubectl get validatingadmissionpolicies
  kubectl api-resources

Ctrl-C ends it.

`;
}

/** How the command is called: installed it is on the PATH, in a checkout it is not. */
function command(): string {
  const isInstalled = import.meta.dirname.split(sep).includes('node_modules');
  return isInstalled ? 'mixed-version-proxy' : 'bin/mixed-version-proxy';
}
