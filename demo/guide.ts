import { resolve, sep } from 'node:path';
import type { RunningDemo } from './run-demo.ts';

/**
 * Commands that can be typed into the running demo, and their effects. For a terminal of 80 columns, but for long
 * paths.
 */
export function demoGuide({ kubeconfig, directKubeconfig, apiServers, routers }: RunningDemo): string {
  const rows = apiServers.map(
    ({ name, version, url }, index) =>
      `  ${name.padEnd(17)}${version.padEnd(9)}${(routers[index]?.origin ?? '').padEnd(25)}${url}`,
  );
  return `
A cluster on its way from 1.35 to 1.36: three API servers, a router in front of
each, and the sync job.

  ${'context'.padEnd(17)}${'version'.padEnd(9)}${'router'.padEnd(25)}API server
${rows.join('\n')}

In another terminal, through the router in front of a 1.35 server:

  export KUBECONFIG=${resolve(kubeconfig)}
  kubectl get mutatingadmissionpolicies    # only the 1.36 server has these
  kubectl get workloads.v1alpha1.scheduling.k8s.io   # only 1.35 servers have these
  kubectl api-resources                    # what all of them have
  kubectl --context control-plane-1 get workloads.v1alpha1.scheduling.k8s.io
  kubectl --context alice@control-plane-3 auth whoami    # as another user

What that router knows, in the terminal and as a page:

  ${command()} status --all
  kubectl proxy --port=8001
  http://127.0.0.1:8001/.mixed-version-proxy/

The same without the routers:

  export KUBECONFIG=${resolve(directKubeconfig)}
  kubectl get mutatingadmissionpolicies    # error: the server doesn't have it

Ctrl-C ends it.

`;
}

/** How the command is called: installed it is on the PATH, in a checkout it is not. */
function command(): string {
  const isInstalled = import.meta.dirname.split(sep).includes('node_modules');
  return isInstalled ? 'mixed-version-proxy' : 'bin/mixed-version-proxy';
}
