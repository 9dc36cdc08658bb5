import assert from 'node:assert/strict';
import { join } from 'node:path';
import {
  everyKubectlVersion,
  findKubectls,
  type Kubectl,
  type KubectlResult,
  runKubectl,
  watchWithKubectl,
} from '../../test/support/clients/kubectl.ts';
import { tlsRequest } from '../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { LiveCluster } from './cluster/live-cluster.ts';
import { type ExclusiveResource, exclusiveResource } from './loops/exclusive-resources.ts';

/** Parts that the tests of the live suite share. */
export interface LiveSuite {
  readonly cluster: LiveCluster;
  /** Only the newest version serves it. */
  readonly newer: ExclusiveResource;
  /** Only the oldest version serves it. */
  readonly older: ExclusiveResource;
  run(kubectl: Kubectl, context: string, args: readonly string[], input?: string): Promise<KubectlResult>;
  /** The output of a command that must end with 0 and write nothing to standard error. */
  ok(kubectl: Kubectl, context: string, args: readonly string[], input?: string): Promise<string>;
  watch(kubectl: Kubectl, context: string, args: readonly string[]): ReturnType<typeof watchWithKubectl>;
}

/** The suite, once it has started: tests are registered before. */
export type GetSuite = () => LiveSuite;

export const kubectls = findKubectls(everyKubectlVersion);

/** One entry for each router: contexts of the kubeconfig. */
export const routerContexts = ['router-a', 'router-b', 'router-c', 'gateway'] as const;

/** Everything that the suite's manifests are put in. */
export const namespace = 'live';

/** Prepares a cluster that has started for the tests. */
export async function createLiveSuite(cluster: LiveCluster): Promise<LiveSuite> {
  const [oldest, , newest] = cluster.servers;
  const home = join(cluster.directory, 'home');
  const wayTo = (context: string) => ['--kubeconfig', cluster.kubeconfig, '--context', context];
  const run: LiveSuite['run'] = (kubectl, context, args, input) =>
    runKubectl(kubectl, home, [...wayTo(context), ...args], input);
  const newer = await exclusiveResource(cluster, newest, oldest);
  const older = await exclusiveResource(cluster, oldest, newest);
  await untilDocumentsAreWhole(cluster, newer);
  return {
    cluster,
    newer,
    older,
    run,
    watch: (kubectl, context, args) => watchWithKubectl(kubectl, home, [...wayTo(context), ...args]),
    async ok(kubectl, context, args, input) {
      const { code, stdout, stderr } = await run(kubectl, context, args, input);
      const complaints = stderr
        .split('\n')
        // Notices of client-go about its own throttling, and of the API server about versions that will go.
        .filter((line) => line !== '' && !/Waited for .* due to|^Warning: .* is deprecated/.test(line));
      assert.deepEqual(
        [code, complaints],
        [0, []],
        `kubectl ${kubectl.version} ${context}: ${args.join(' ')}`,
      );
      return stdout;
    },
  };
}

/** A kube-apiserver is ready before its OpenAPI documents are whole: routers hear of them a moment later. */
async function untilDocumentsAreWhole(
  { sidecars, gateway, admin }: LiveCluster,
  { apiVersion, resource }: ExclusiveResource,
): Promise<void> {
  for (const { name, origin } of [...sidecars, gateway]) {
    await waitUntil(`${name} has the OpenAPI document of ${resource}`, async () => {
      const index = await tlsRequest(`${origin}/openapi/v3`, admin);
      const { paths } = JSON.parse(index.text) as { paths: Record<string, { serverRelativeURL: string }> };
      const url = paths[`apis/${apiVersion}`]?.serverRelativeURL;
      return url !== undefined && (await tlsRequest(`${origin}${url}`, admin)).text.includes(`/${resource}`);
    });
  }
}
