import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { runCommand, type Written } from './command-context.ts';
import { snapshotOf } from './snapshot-builder.ts';
import { type StartedRouterOptions, startRouterWithFiles } from './started-router.ts';

/** Two versions, each of which serves what the other one does not. */
export const mixedSnapshot = snapshotOf({
  'cp-a': { version: 'v1.25.0', serves: ['v1/pods', 'autoscaling/v2beta2/horizontalpodautoscalers'] },
  'cp-b': { version: 'v1.36.0', serves: ['v1/pods', 'apps/v1/deployments', 'apps/v1/daemonsets'] },
});

/** A running router, and a way to ask it by `status`. */
export async function routerToAsk(context: TestContext, flags: StartedRouterOptions['flags'] = {}) {
  const started = await startRouterWithFiles(context, { flags });
  const admin = await started.user('admin', ['system:masters']);
  const stranger = await started.user('stranger');
  const files = new Map([
    ['ca.crt', started.authorities.cluster.certificate],
    ['admin.crt', admin.chain],
    ['admin.key', admin.privateKey],
    ['stranger.crt', stranger.chain],
    ['stranger.key', stranger.privateKey],
    ['front-proxy-ca.crt', started.authorities.frontProxies.certificate],
    ['token', 'not-of-this-cluster'],
  ]);
  const server = `--server=https://127.0.0.1:${started.port}`;
  const flagsOf = (user: string, command = 'status') => [
    command,
    server,
    '--certificate-authority=ca.crt',
    `--client-certificate=${user}.crt`,
    `--client-key=${user}.key`,
  ];
  const askBy = (...flags: readonly string[]) => runCommand(files, ['status', server, ...flags]);
  const ask = (user: string, ...more: readonly string[]): Promise<Written & { readonly code: number }> =>
    runCommand(files, [...flagsOf(user), ...more]);
  const explain = (user: string, ...words: readonly string[]) =>
    runCommand(files, [...flagsOf(user, 'explain'), ...words]);
  const explainLines = (lines: readonly string[]) =>
    runCommand(files, [...flagsOf('admin', 'explain'), '--stdin'], { input: [lines.join('\n')] });
  const push = async () => {
    assert.equal((await (await started.asUser()).push(mixedSnapshot)).status, 200);
  };
  return { started, admin, ask, askBy, explain, explainLines, push };
}
