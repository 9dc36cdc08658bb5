import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../seeded-random.ts';
import type { ApiClient } from './api-client.ts';
import { attempt } from './attempt.ts';
import type { UsedResource } from './subjects.ts';

/** Milliseconds before a watch is begun again that was refused or broke (client-go's reflector: 800 and growing). */
const firstPause = 800;
const longestPause = 5_000;

interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly metadata?: { readonly resourceVersion?: string };
  };
}

/**
 * Watches one resource as an informer does: from the revision it knows, and on from the last one it has seen
 * whenever the watch ends. When its API version is gone for good it goes on with the successor.
 */
export class Watcher {
  readonly resource: UsedResource;
  /** Where it began; events after it have to arrive. */
  readonly since: number;
  /** When each revision arrived first, in milliseconds of `performance`. */
  readonly seen = new Map<number, number>();
  readonly #client: ApiClient;
  readonly #random: SeededRandom;
  readonly #successor: UsedResource | undefined;
  readonly #timeout: readonly [least: number, below: number];
  #revision: number;
  #restarts = 0;

  constructor(
    client: ApiClient,
    random: SeededRandom,
    watched: {
      readonly resource: UsedResource;
      readonly successor?: UsedResource;
      readonly since: number;
      /** Seconds that one watch lasts, drawn for each. Default: from 15 to 30. */
      readonly timeout?: readonly [least: number, below: number];
    },
  ) {
    this.#client = client;
    this.#random = random;
    this.resource = watched.resource;
    this.#successor = watched.successor;
    this.since = watched.since;
    this.#revision = watched.since;
    this.#timeout = watched.timeout ?? [15, 30];
  }

  /** How often it was begun again. */
  get restarts(): number {
    return this.#restarts;
  }

  async run(signal: AbortSignal): Promise<void> {
    let pause = firstPause;
    while (!signal.aborted) {
      const before = this.#revision;
      const endedWell = await this.#watchOnce(signal);
      this.#restarts += 1;
      if (endedWell || this.#revision > before) pause = firstPause;
      if (endedWell || signal.aborted) continue;
      await sleep(pause * this.#random.between(0.5, 1), undefined, { signal }).catch(() => undefined);
      pause = Math.min(pause * 2, longestPause);
    }
  }

  /** @returns whether it ended the ordinary way */
  async #watchOnce(signal: AbortSignal): Promise<boolean> {
    const { options, agent } = this.#client;
    const resource = this.#resourceNow();
    const timeout = Math.round(this.#random.between(...this.#timeout));
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${this.#revision}&timeoutSeconds=${timeout}`;
    const request = { method: 'GET', path: `${resource.collection}?${query}` };
    const begun = performance.now();
    options.findings.asked();
    let rest = '';
    const outcome = await attempt(
      options.origin,
      agent,
      request,
      (chunk) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) this.#take(JSON.parse(line));
      },
      signal,
    );
    if (signal.aborted) return true;
    if (outcome.kind === 'failure' || rest !== '') {
      const why = outcome.kind === 'failure' ? outcome.message : 'it ended in the middle of an event';
      options.findings.add('brokenWatches', `${resource.collection}: ${why}`);
      return false;
    }
    this.#client.judge(request, resource, outcome, begun);
    return outcome.status === 200;
  }

  #resourceNow(): UsedResource {
    const { groupVersion, resource } = this.resource;
    const isGone = !this.#client.options.wasServed(groupVersion, resource, performance.now());
    return isGone && this.#successor !== undefined ? this.#successor : this.resource;
  }

  #take({ type, object }: WatchEvent): void {
    if (type === 'ERROR') {
      this.#client.options.findings.add('brokenWatches', `${this.resource.collection}: ERROR ${object.code}`);
      return;
    }
    const revision = Number(object.metadata?.resourceVersion);
    this.#revision = Math.max(this.#revision, revision);
    if (type !== 'BOOKMARK' && !this.seen.has(revision)) this.seen.set(revision, performance.now());
  }
}
