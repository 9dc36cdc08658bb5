import type { Agent } from 'node:https';
import {
  type TlsAnswer,
  type TlsCredentials,
  tlsRequest,
} from '../../../test/support/clients/tls-request.ts';
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
  const client = new FieldClient(options);
  const loop = startLoop(options.pause, async (number) => {
    await client.round(`${options.prefix}-${number}`);
    await client.lookAtUnseen();
  });
  return {
    counts: client.counts,
    failures: client.failures,
    turnBack(may) {
      client.mayTurn = may;
    },
    async stop() {
      await loop.stop();
      await client.lookAtUnseen();
      client.noteUnseen();
    },
  };
}

/** One object on its way through what clients do. */
interface TriedObject {
  readonly name: string;
  readonly target: string;
  /** The ways that its requests went. */
  readonly ways: string[];
  /** True if the preferred version could go back when the object was made. */
  readonly couldTurn: boolean;
  isStored: boolean;
}

class FieldClient {
  readonly counts: FieldCounts = {
    rounds: 0,
    stored: 0,
    hidden: 0,
    lost: 0,
    unknown: 0,
    warned: 0,
    failed: 0,
    turned: 0,
  };
  readonly failures = new Tally();
  mayTurn = false;
  readonly #options: FieldLoopOptions;
  /** Objects stored with the field, of which no server could be asked yet what became of it. */
  readonly #unseen = new Map<string, { readonly story: string; readonly mayTurn: boolean }>();

  constructor(options: FieldLoopOptions) {
    this.#options = options;
  }

  async round(name: string): Promise<void> {
    const { field, namespace } = this.#options;
    const path = field.path(namespace);
    const object = { name, target: `${path}/${name}`, ways: [], couldTurn: this.mayTurn, isStored: false };
    const created = await this.#ask(object, 'POST', path, 'application/json', field.object(name));
    if (!this.#expect(created, 'POST', 201, 409)) return;
    object.isStored = created !== undefined && field.isShown(created.text);
    await this.#look(object);
    await this.#label(object);
    await this.#apply(object);
    await this.#writeBack(object);
    this.counts.rounds++;
    if (!object.isStored) return;
    this.counts.stored++;
    const story = `${name}: ${object.ways.join(', ')}`;
    this.#unseen.set(object.target, { story, mayTurn: object.couldTurn || this.mayTurn });
  }

  async #look(object: TriedObject): Promise<TlsAnswer | undefined> {
    const answer = await this.#ask(object, 'GET', object.target);
    if (!this.#expect(answer, 'GET', 200)) return undefined;
    if (object.isStored && answer !== undefined && !this.#options.field.isShown(answer.text)) {
      this.counts[object.couldTurn || this.mayTurn ? 'turned' : 'hidden']++;
      this.#options.onFault(`hidden: ${object.name}: ${object.ways.join(', ')}`);
    }
    return answer;
  }

  async #label(object: TriedObject): Promise<void> {
    const label = { metadata: { labels: { changed: 'true' } } };
    const answer = await this.#ask(object, 'PATCH', object.target, 'application/merge-patch+json', label);
    this.#expect(answer, 'PATCH', 200);
  }

  async #apply(object: TriedObject): Promise<void> {
    const { field } = this.#options;
    const target = `${object.target}?fieldManager=live&force=true`;
    const wanted = field.object(object.name);
    const answer = await this.#ask(object, 'PATCH', target, 'application/apply-patch+yaml', wanted);
    if (answer !== undefined && /field not declared in schema/.test(answer.text)) this.counts.unknown++;
    else if (this.#expect(answer, 'APPLY', 200) && answer !== undefined) {
      object.isStored ||= field.isShown(answer.text);
    }
  }

  async #writeBack(object: TriedObject): Promise<void> {
    const current = await this.#look(object);
    if (current === undefined) return;
    const edited = JSON.parse(current.text) as { metadata: { annotations?: object } };
    edited.metadata.annotations = { edited: 'true' };
    // A conflict is what optimistic locking is for: somebody's read was older.
    const answer = await this.#ask(object, 'PUT', object.target, 'application/json', edited);
    this.#expect(answer, 'PUT', 200, 409);
  }

  async #ask({ ways }: TriedObject, method: string, target: string, type?: string, content?: object) {
    const { origins, credentials, agent, field } = this.#options;
    const way = Math.floor(Math.random() * origins.length);
    const since = Date.now();
    let answer: TlsAnswer | undefined;
    try {
      answer = await tlsRequest(`${origins[way]}${target}`, credentials, {
        method,
        timeout: 5_000,
        agent,
        ...(content === undefined ? {} : { body: JSON.stringify(content) }),
        ...(type === undefined ? {} : { headers: { 'content-type': type } }),
      });
      if (String(answer.headers.warning ?? '').includes('preferred version')) this.counts.warned++;
    } catch (error) {
      this.counts.failed++;
      this.failures.noteBroken(error, method);
    }
    const shown = answer !== undefined && field.isShown(answer.text) ? '+' : '-';
    ways.push(`${timeOf(since)} ${method} ${way} ${answer?.statusCode ?? 'broken'}${shown}`);
    return answer;
  }

  #expect(answer: TlsAnswer | undefined, method: string, ...codes: readonly number[]): boolean {
    if (answer === undefined) return false;
    if (codes.includes(answer.statusCode)) return true;
    this.#note(`${answer.statusCode} ${method} ${answer.text.slice(0, 120)}`);
    return false;
  }

  #note(what: string): void {
    this.counts.failed++;
    this.failures.note(what);
  }

  /** Nobody else writes these objects: what has become of them can be seen later as well. */
  async lookAtUnseen(): Promise<void> {
    const { truth, credentials, field, onFault } = this.#options;
    for (const [target, { story, mayTurn }] of this.#unseen) {
      const server = truth();
      if (server === undefined) return;
      const truly = await tlsRequest(`${server}${target}`, credentials, { timeout: 5_000 }).catch(
        () => undefined,
      );
      if (truly?.statusCode !== 200) return;
      this.#unseen.delete(target);
      if (field.isShown(truly.text)) continue;
      this.counts[mayTurn ? 'turned' : 'lost']++;
      onFault(`lost: ${story}`);
    }
  }

  noteUnseen(): void {
    if (this.#unseen.size > 0)
      this.#note(`${this.#unseen.size} objects that no server could show in the end`);
  }
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
