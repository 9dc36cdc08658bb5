import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { eventually } from '../../support/eventually.ts';
import type { RouterByFlags } from '../../support/routers/router-by-flags.ts';
import { pushSnapshot, type RouterOnPort, startRunning } from '../../support/routers/router-under-test.ts';
import type { FlagChanges } from '../../support/routers/serve-options.ts';
import { snapshotOf } from '../../support/snapshots/snapshot-builder.ts';
import { type ClientRequest, type PendingRequest, send } from './clients.ts';
import { nothingIsLeftRunning, violationsIn } from './invariants.ts';
import type { ClientAnswer, KnownServer, LaboratoryRecord, SeenRequest } from './record.ts';
import { watchResources } from './resources.ts';
import { type ScriptedServer, type ScriptedServerOptions, startScriptedServer } from './scripted-server.ts';

/** In which form the router stands before its servers; the local one of a sidecar is called `local`. */
export type Form = 'sidecar' | 'gateway';

/** A server of the snapshot, wherever it listens. */
export interface Member {
  readonly name: string;
  readonly port: number;
  /** `group/version/resource`. */
  readonly serves: readonly string[];
  /** `v1.31.0`. Servers of several minor versions have different schemas for all that they serve. */
  readonly version?: string;
  /** Answers as it should, always. Default false. */
  readonly isHealthy?: boolean;
}

export interface RouterOptions extends Pick<RouterByFlags, 'configure' | 'source'> {
  readonly form?: Form;
  readonly flags?: FlagChanges;
}

/** One experiment: servers, a router in front of them, clients, and a record of all they said to each other. */
export class Laboratory {
  readonly context: TestContext;
  readonly seen: SeenRequest[] = [];
  readonly answers: ClientAnswer[] = [];
  readonly logLines: string[] = [];
  readonly #known = new Map<string, KnownServer>();
  #running: RouterOnPort | undefined;
  #generation = 0;
  #requests = 0;
  #endsWatches = false;

  constructor(context: TestContext) {
    this.context = context;
  }

  get router(): RouterOnPort {
    return this.#running ?? assert.fail('no router has been started');
  }

  /** Where the router listens. */
  get port(): number {
    return this.router.port;
  }

  get record(): LaboratoryRecord {
    return {
      servers: [...this.#known.values()],
      seen: this.seen,
      answers: this.answers,
      endsWatches: this.#endsWatches,
    };
  }

  startServer(name: string, options: Omit<ScriptedServerOptions, 'seen'>): Promise<ScriptedServer> {
    return startScriptedServer(this.context, name, { ...options, seen: this.seen });
  }

  /** Starts the router, as from its command line, and pushes a snapshot. */
  async startRouter(members: readonly Member[], options: RouterOptions = {}): Promise<void> {
    const { form = 'sidecar', flags, ...more } = options;
    const local = members.find(({ name }) => name === 'local');
    const ofForm =
      form === 'gateway'
        ? { gateway: ['true'] }
        : { 'server-id': ['local'], 'local-server': [`https://127.0.0.1:${local?.port ?? 0}`] };
    const all: FlagChanges = { ...ofForm, ...flags };
    this.#running = await startRunning(this.context, this.logLines, all, { ...more, closes: 0 });
    await this.push(members);
  }

  /** Tells the router of other members. */
  async push(members: readonly Member[]): Promise<void> {
    this.#generation++;
    // The preferred version may change with it.
    this.#endsWatches ||= members.some(({ version }) => version !== undefined);
    const answer = await pushSnapshot(this.port, snapshotFor(members, this.#generation));
    assert.equal(answer.status, 200, answer.body);
    for (const { name, serves, isHealthy = false } of members)
      this.#known.set(name, { name, serves, isHealthy });
  }

  /** Sends a request whose answer may take as long as it likes. */
  async open(request: Omit<ClientRequest, 'requestId'>): Promise<PendingRequest> {
    this.#requests++;
    const pending = await send(this.context, this.port, {
      ...request,
      requestId: `request-${this.#requests}`,
    });
    this.answers.push(pending.answer);
    return pending;
  }

  /** Sends a request and waits for the end of its answer, however it ends. */
  async ask(request: Omit<ClientRequest, 'requestId'>): Promise<ClientAnswer> {
    const { answer } = await this.open(request);
    await eventually(() => answer.end !== 'open');
    return answer;
  }

  /** Requests that arrived for the answer, wherever. */
  arrived({ requestId }: ClientAnswer): SeenRequest[] {
    return this.seen.filter((seen) => seen.requestId === requestId);
  }

  /** Begins an orderly shutdown. */
  drain(): Promise<void> {
    this.#endsWatches = true;
    return this.router.shutdown();
  }

  /** The end of every experiment: what must always hold has held. */
  async check(): Promise<void> {
    try {
      await eventually(() => nothingIsLeftRunning(this.record).length === 0);
    } finally {
      assert.deepEqual(violationsIn(this.record), []);
    }
    const failures = this.logLines.filter((line) =>
      /A request failed|A response could not be written/.test(line),
    );
    assert.deepEqual(failures, [], 'the router has met something that it was not made for');
  }
}

function snapshotFor(members: readonly Member[], generation: number): Snapshot {
  const servers = members.map(({ name, port, serves, version }) => {
    const paths = serves.map((resource) => resource.replace(/^core\//, ''));
    // A set that knows of no resource's schema counts as another one than those of other minor versions.
    const known = version === undefined ? {} : { version, schemas: {} };
    return [name, { serves: paths, address: `127.0.0.1:${port}`, ...known }] as const;
  });
  return snapshotOf(Object.fromEntries(servers), { generation });
}

/**
 * A test in the laboratory. When `body` is through, every invariant is checked over the whole record, and when all
 * is closed, that nothing is left of it.
 */
export function inLaboratory(name: string, body: (laboratory: Laboratory) => Promise<void>): void {
  inLaboratories(name, { 'the experiment, and what must hold in all of them': body });
}

/** Several experiments side by side, each with servers and a router of its own. */
export function inLaboratories(
  name: string,
  bodies: Readonly<Record<string, (laboratory: Laboratory) => Promise<void>>>,
): void {
  test(name, { concurrency: true }, async (context) => {
    const nothingIsLeft = watchResources();
    // The first one of two candidates with as much to do is asked first.
    context.mock.method(Math, 'random', () => 0);
    await Promise.all(
      Object.entries(bodies).map(([what, body]) =>
        context.test(what, async (inner) => {
          const laboratory = new Laboratory(inner);
          await body(laboratory);
          await laboratory.check();
        }),
      ),
    );
    await nothingIsLeft();
  });
}
