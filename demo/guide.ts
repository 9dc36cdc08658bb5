import { relative } from 'node:path';
import type { RunningDemo } from './run-demo.ts';

/** What can be typed into the running demo, and what it shows. */
export function demoGuide({ kubeconfig, directKubeconfig, apiServers, routers }: RunningDemo): string {
  const rows = apiServers.map(
    ({ version, url }, index) => `  v${version.padEnd(8)}${(routers[index]?.origin ?? '').padEnd(26)}${url}`,
  );
  const through = relative('.', kubeconfig);
  const direct = relative('.', directKubeconfig);
  return `
Three API servers of one cluster, a router in front of each, and the sync job:

  ${'context'.padEnd(9)}${'router'.padEnd(26)}API server
${rows.join('\n')}

In another terminal, against the router in front of the oldest server:

  export KUBECONFIG=${through}
  kubectl get validatingadmissionpolicies                      # only 1.36 serves these
  kubectl get horizontalpodautoscalers.v2beta2.autoscaling     # only 1.25 serves this version
  kubectl auth whoami                                          # 1.25 cannot answer; a peer does, knowing who asked
  kubectl api-resources
  kubectl --context v1.36 get all                              # any router will do: v1.25, v1.26, v1.36
  kubectl --context alice@v1.25 auth whoami                    # as an ordinary user

The same without the routers:

  kubectl --kubeconfig ${direct} get validatingadmissionpolicies
  kubectl --kubeconfig ${direct} api-resources

What the router knows, here and as a page (http://127.0.0.1:8001/.mixed-version-proxy/):

  mixed-version-proxy status --kubeconfig ${through}             # in a checkout: bin/mixed-version-proxy
  kubectl --kubeconfig ${through} proxy --port=8001

Ctrl-C ends it.

`;
}
