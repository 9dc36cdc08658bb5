import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { waitUntil } from '../../scripts/harness/wait-until.ts';
import { type Kubectl, spawnKubectl } from '../support/kubectl.ts';
import type { LiveCluster } from './live-cluster.ts';

/** Long enough for a watch on a busy machine. Milliseconds. */
const eventDeadline = 30_000;

/** `kubectl get --watch` while it runs. */
export interface KubectlWatch {
  /** Waits for an event of this type. */
  saw(type: 'ADDED' | 'MODIFIED' | 'DELETED'): Promise<void>;
  stop(): Promise<void>;
}

/** Follows one object. */
export function watchWithKubectl(
  kubectl: Kubectl,
  { directory, kubeconfig }: LiveCluster,
  context: string,
  args: readonly string[],
): KubectlWatch {
  const child = spawnKubectl(kubectl, join(directory, 'home'), [
    ...['--kubeconfig', kubeconfig, '--context', context],
    ...['get', ...args, '--watch', '--output-watch-events', '-o', 'json'],
  ]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const closed = once(child, 'close');
  return {
    async saw(type) {
      const event = new RegExp(`"type": ?"${type}"`);
      await waitUntil(
        `a watch of ${args.join(' ')} through ${context} shows ${type}`,
        () => {
          assert.equal(child.exitCode, null, `the watch ended: ${output}`);
          return event.test(output);
        },
        { within: eventDeadline },
      );
    },
    async stop() {
      child.kill();
      await closed;
    },
  };
}
