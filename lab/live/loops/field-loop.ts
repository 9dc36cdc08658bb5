import type { Agent } from 'node:https';
import { type TlsAnswer, type TlsCredentials, tlsRequest } from '../../../test/support/tls-request.ts';
import { type Loop, startLoop, Tally } from './loop.ts';
import type { NewField } from './new-field.ts';

export interface FieldCounts {
  /** Objects that were created, read, labelled, applied, written back and looked at in the end. */
  rounds: number;
  /** Objects that were stored with the field. */
  stored: number;
  /** Reads that did not show a field that was stored. */
  hidden: number;
  /** Objects whose field was stored and is gone from etcd. */
  lost: number;
  /** Applied objects that were refused because the server does not know the field. */
  unknown: number;
  /** Responses with a Warning of the router's: none of the preferred version could be asked. */
  warned: number;
  /** Any other code that was not expected, and requests without an answer. */
  failed: number;
  /** Objects that lost the field, and reads that hid it, while the preferred version went back to one without it. */
  turned: number;
}

export interface FieldLoop extends Loop {
  readonly counts: Readonly<FieldCounts>;
  readonly failures: Tally;
  /** Tells if the preferred version may go back to one without the field: no router can keep it then. */
  turnBack(may: boolean): void;
}

export interface FieldLoopOptions {
  /** Ways into the cluster that are to be one: each request goes by one of them at random. */
  readonly origins: readonly string[];
  readonly field: NewField;
  /** A server that has the field: what it shows is what etcd holds. `undefined` while none runs. */
  truth(): string | undefined;
  readonly namespace: string;
  readonly credentials: TlsCredentials;
  /** Prefix of the objects' names. */
  readonly prefix: string;
  /** Default: a connection for each request. */
  readonly agent?: Agent | undefined;
  /** Milliseconds between two objects. */
  readonly pause: number;
  /** Told of each object that lost the field and each read that hid it, with the ways that its requests went. */
  onFault(what: string): void;
}

/**
 * Takes one object after the other through what clients do: create, read, label, server-side apply, read and write back,
 * each request by another of the ways in. An object that was stored with the field has to keep it.
 */
export function startFieldLoop(options: FieldLoopOptions): FieldLoop {
  const { origins, field, truth, namespace, credentials, prefix, agent, onFault } = options;
  const counts: FieldCounts = {
    rounds: 0,
    stored: 0,
    hidden: 0,
    lost: 0,
    unknown: 0,
    warned: 0,
    failed: 0,
    turned: 0,
  };
  const failures = new Tally();
  /** Objects stored with the field, of which no server could be asked yet what became of it. */
  const unseen = new Map<string, { readonly story: string; readonly mayTurn: boolean }>();
  const path = field.path(namespace);
  let mayTurn = false;

  async function ask(ways: string[], method: string, target: string, type?: string, object?: object) {
    const way = Math.floor(Math.random() * origins.length);
    const since = Date.now();
    let answer: TlsAnswer | undefined;
    try {
      answer = await tlsRequest(`${origins[way]}${target}`, credentials, {
        method,
        timeout: 5_000,
        agent,
        ...(object === undefined ? {} : { body: JSON.stringify(object) }),
        ...(type === undefined ? {} : { headers: { 'content-type': type } }),
      });
      if (String(answer.headers.warning ?? '').includes('preferred version')) counts.warned++;
    } catch (error) {
      counts.failed++;
      failures.noteBroken(error, method);
    }
    const shown = answer !== undefined && field.isShown(answer.text) ? '+' : '-';
    ways.push(`${timeOf(since)} ${method} ${way} ${answer?.statusCode ?? 'broken'}${shown}`);
    return answer;
  }

  function note(what: string): void {
    counts.failed++;
    failures.note(what);
  }

  function expect(answer: TlsAnswer | undefined, method: string, ...codes: readonly number[]): boolean {
    if (answer === undefined) return false;
    if (codes.includes(answer.statusCode)) return true;
    note(`${answer.statusCode} ${method} ${answer.text.slice(0, 120)}`);
    return false;
  }

  async function round(name: string): Promise<void> {
    const target = `${path}/${name}`;
    const ways: string[] = [];
    const couldTurn = mayTurn;
    const created = await ask(ways, 'POST', path, 'application/json', field.object(name));
    if (!expect(created, 'POST', 201, 409)) return;
    let isStored = created !== undefined && field.isShown(created.text);
    const look = async (): Promise<TlsAnswer | undefined> => {
      const answer = await ask(ways, 'GET', target);
      if (!expect(answer, 'GET', 200)) return undefined;
      if (isStored && answer !== undefined && !field.isShown(answer.text)) {
        counts[couldTurn || mayTurn ? 'turned' : 'hidden']++;
        onFault(`hidden: ${name}: ${ways.join(', ')}`);
      }
      return answer;
    };

    await look();

    const label = { metadata: { labels: { changed: 'true' } } };
    expect(await ask(ways, 'PATCH', target, 'application/merge-patch+json', label), 'PATCH', 200);

    const manager = `${target}?fieldManager=live&force=true`;
    const applied = await ask(ways, 'PATCH', manager, 'application/apply-patch+yaml', field.object(name));
    if (applied !== undefined && /field not declared in schema/.test(applied.text)) counts.unknown++;
    else if (expect(applied, 'APPLY', 200) && applied !== undefined) isStored ||= field.isShown(applied.text);

    const current = await look();
    if (current !== undefined) {
      const edited = JSON.parse(current.text) as { metadata: { annotations?: object } };
      edited.metadata.annotations = { edited: 'true' };
      // A conflict is what optimistic locking is for: somebody's read was older.
      expect(await ask(ways, 'PUT', target, 'application/json', edited), 'PUT', 200, 409);
    }

    counts.rounds++;
    if (!isStored) return;
    counts.stored++;
    unseen.set(target, { story: `${name}: ${ways.join(', ')}`, mayTurn: couldTurn || mayTurn });
  }

  /** Nobody else writes these objects: what has become of them can be seen later as well. */
  async function lookAtUnseen(): Promise<void> {
    for (const [target, { story, mayTurn: couldTurn }] of unseen) {
      const server = truth();
      if (server === undefined) return;
      const truly = await tlsRequest(`${server}${target}`, credentials, { timeout: 5_000 }).catch(
        () => undefined,
      );
      if (truly?.statusCode !== 200) return;
      unseen.delete(target);
      if (field.isShown(truly.text)) continue;
      counts[couldTurn ? 'turned' : 'lost']++;
      onFault(`lost: ${story}`);
    }
  }

  const loop = startLoop(options.pause, async (number) => {
    await round(`${prefix}-${number}`);
    await lookAtUnseen();
  });
  return {
    counts,
    failures,
    turnBack(may) {
      mayTurn = may;
    },
    async stop() {
      await loop.stop();
      await lookAtUnseen();
      if (unseen.size > 0) note(`${unseen.size} objects that no server could show in the end`);
    },
  };
}

/** `00:14:03.120`, as in logs. */
function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(11, -1);
}

/** One line of what came of it. */
export function describeFields({ counts, failures }: FieldLoop): string {
  const { rounds, stored, hidden, lost, unknown, warned, failed } = counts;
  return (
    `${rounds} objects, ${stored} stored with the field, ${lost} lost it, ${hidden} reads hid it, ` +
    `${unknown} applies refused, ${warned} warnings, ${failed} failed${failures.describe()}`
  );
}
