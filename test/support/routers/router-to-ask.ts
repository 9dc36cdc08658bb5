import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { kubeconfigText } from '../clients/kubeconfig-text.ts';
import { runCommand, type Written } from '../commands/command-context.ts';
import { snapshotOf } from '../snapshots/snapshot-builder.ts';
import { type StartedRouterOptions, startRouterWithFiles } from './started-router.ts';

/** Two versions, each of which serves what the other one does not. */
export const mixedSnapshot = snapshotOf({
  'cp-a': { version: 'v1.25.0', serves: ['v1/pods', 'autoscaling/v2beta2/horizontalpodautoscalers'] },
  'cp-b': { version: 'v1.36.0', serves: ['v1/pods', 'apps/v1/deployments', 'apps/v1/daemonsets'] },
});

type KubeconfigUser = Parameters<typeof kubeconfigText>[0]['user'];

/** A running router, and a way to ask it by `status`. */
export async function routerToAsk(context: TestContext, flags: StartedRouterOptions['flags'] = {}) {
  const started = await startRouterWithFiles(context, { flags });
  const admin = await started.user('admin', ['system:masters']);
  const { cluster } = started.authorities;
  /** @returns the path of a kubeconfig that leads to the router */
  const kubeconfig = async (name: string, user?: KubeconfigUser, authority = cluster.certificate) => {
    const server = `https://127.0.0.1:${started.port}`;
    const text = kubeconfigText({ server, authority, ...(user && { user }) });
    await started.write(`${name}.kubeconfig`, text);
    return started.path(`${name}.kubeconfig`);
  };
  const users = {
    admin: await kubeconfig('admin', admin),
    stranger: await kubeconfig('stranger', await started.user('stranger')),
  };
  const run = (...words: readonly string[]): Promise<Written & { readonly code: number }> =>
    runCommand(new Map(), words);
  const ask = (user: keyof typeof users, ...more: readonly string[]) =>
    run('status', `--kubeconfig=${users[user]}`, ...more);
  const explain = (user: keyof typeof users, ...words: readonly string[]) =>
    run('explain', `--kubeconfig=${users[user]}`, ...words);
  const explainLines = (lines: readonly string[]) =>
    runCommand(new Map(), ['explain', `--kubeconfig=${users.admin}`, '--stdin'], {
      input: [lines.join('\n')],
    });
  const push = async () => {
    assert.equal((await (await started.asUser()).push(mixedSnapshot)).status, 200);
  };
  return { started, admin, ask, kubeconfig, run, explain, explainLines, push };
}
