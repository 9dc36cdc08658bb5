import { memoryForOthers } from '../../../src/node/exchange/serving-limits.ts';
import type { ApiServer } from '../model/api-server.ts';
import type { ResourceKind } from '../model/flavour.ts';
import type { ArrivedRequest } from '../model/network.ts';
import type { TargetedRequest } from '../model/request-target.ts';
import type { StoredObject } from '../model/store.ts';
import type { World } from '../model/world.ts';
import type { Machine } from '../virtual/virtual-time.ts';

export interface Violation {
  /** The promise that was not kept: one word. */
  readonly kind: string;
  readonly at: number;
  readonly text: string;
}

/** A request of a modelled client, from its sending to its response. */
export interface ClientRequest {
  readonly id: number;
  readonly router: string;
  readonly user: string;
  readonly method: string;
  readonly target: string;
  readonly sentAt: number;
  /** True if the client goes by something that was read with a warning: it may lack fields, and the client was told. */
  readonly isForewarned: boolean;
}

export interface ClientResponse {
  readonly status: number;
  readonly headers: readonly string[];
  readonly text: string;
}

interface StoredWrite {
  readonly server: ApiServer;
  readonly request: ArrivedRequest;
  readonly kind: ResourceKind;
  readonly before: StoredObject | undefined;
  readonly after: StoredObject;
}

/** One write that changed the store, as it concerns versions. */
interface VersionedWrite {
  readonly router: string;
  /** When the router sent it to the server. */
  readonly sentAt: number;
  readonly version: string;
}

/**
 * Milliseconds that routers promise between the last write that is sent to one version and the first to another, less what clocks
 * round, and the way of a message that is late (one of a hundred takes twenty times as long as it may otherwise).
 */
export const settles = 1_800;

/**
 * Milliseconds from an answer to the snapshots that follow from it: a round waits for servers that are slow, for a whole reading
 * at first, and a server that nothing names departs five seconds later.
 */
const longestRound = 21_000;

/**
 * Milliseconds after which a router that is told nothing goes by what it knew (docs/guides/preferred-version.md, Limits), less a
 * reading that was under way.
 */
const untoldAfter = 55_000;

export const requestHeader = 'x-request';

/** Rules that must hold, looked at with each event of the model. */
export class Invariants {
  readonly violations: Violation[] = [];
  /** How near the run came to breaking each promise: milliseconds left. */
  readonly margins = new Map<string, number>();
  readonly reached = new Map<string, number>();
  /** From then on what the older version does not know is lost with good reason: an operator goes back. */
  rolledBackAt = Number.POSITIVE_INFINITY;
  onViolation: (() => void) | undefined;
  lookedAtEnd = false;
  /** Budgets are of this process, which has other runs behind it. */
  readonly heldAtBeginning = memoryForOthers.bytes;
  readonly #world: World;
  readonly #requests = new Map<number, ClientRequest>();
  readonly #carriedOut = new Map<number, string>();
  readonly #sent = new Map<
    number,
    { readonly at: number; readonly router: string; readonly isCutOff: boolean; readonly machine: Machine }
  >();
  /** Effects of a write, until its response tells whether a warning came with it. */
  readonly #pending = new Map<
    number,
    { lost: string | undefined; write: VersionedWrite | undefined; evaded: boolean }
  >();
  readonly #writes: VersionedWrite[] = [];
  /** By who reads: when a server last said something, by that machine's clock; `Infinity`: that clock was set. */
  readonly #readAt = new Map<string, number>();
  #refusedAt = Number.POSITIVE_INFINITY;

  constructor(world: World) {
    this.#world = world;
  }

  violated(kind: string, text: string): void {
    const { run } = this.#world;
    run.log(`VIOLATION ${kind}: ${text}`);
    this.violations.push({ kind, at: run.now, text });
    this.onViolation?.();
  }

  count(what: string): void {
    this.reached.set(what, (this.reached.get(what) ?? 0) + 1);
  }

  margin(promise: string, left: number): void {
    this.margins.set(promise, Math.min(left, this.margins.get(promise) ?? Number.POSITIVE_INFINITY));
  }

  asked(request: ClientRequest): void {
    this.#requests.set(request.id, request);
  }

  #of({ headers }: { readonly headers: readonly string[] }): ClientRequest | undefined {
    const at = headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === requestHeader);
    return at === -1 ? undefined : this.#requests.get(Number(headers[at + 1]));
  }

  wasRead(machine: Machine): void {
    if (this.#readAt.get(machine.name) === Number.POSITIVE_INFINITY) return;
    this.#readAt.set(machine.name, this.#world.run.wallClock(machine));
  }

  clockWasSet(node: string): void {
    this.#readAt.set(node, Number.POSITIVE_INFINITY);
  }

  /** A router puts a snapshot in use: one is no younger than what was read for it. */
  inUse(node: string, { createdAt }: { readonly createdAt: number }): void {
    const readAt = this.#readAt.get(this.#world.form === 'pushed' ? 'sync' : node);
    if (readAt === undefined) return;
    this.margin('left of the time from a reading to its snapshot', readAt + longestRound - createdAt);
    if (createdAt > readAt + longestRound)
      this.violated('age', `${node} has a snapshot made ${createdAt - readAt} ms after anything was read`);
  }

  /** A router hands a request to a connection. */
  sent(machine: Machine, _origin: string, outbound: { readonly headers: readonly string[] }): void {
    const request = this.#of(outbound);
    if (request === undefined) return;
    const { run, network, servers } = this.#world;
    const isCutOff = servers.every(({ node }) => network.openAt(machine.name, node) > run.now);
    this.#sent.set(request.id, { at: run.now, router: machine.name, isCutOff, machine });
  }

  /** An API server begins to carry a request out. */
  arrived(server: ApiServer, arrived: ArrivedRequest, asked: TargetedRequest, user: string): void {
    const request = this.#of(arrived);
    if (request === undefined) return;
    if (user !== request.user)
      this.violated(
        'identity',
        `${request.method} ${request.target} of ${request.user} came to ${server.name} as ${user}`,
      );
    if (!asked.isWrite) return;
    const before = this.#carriedOut.get(request.id);
    if (before !== undefined)
      this.violated(
        'twice',
        `${request.method} ${request.target} was carried out by ${before} and by ${server.name}`,
      );
    this.#carriedOut.set(request.id, server.node);
  }

  refusedByPolicy(_server: ApiServer, _request: ArrivedRequest): void {
    this.count('a policy refused a write');
  }

  stored({ server, request: arrived, kind, before, after }: StoredWrite): void {
    const request = this.#of(arrived);
    const sent = request && this.#sent.get(request.id);
    if (request === undefined || sent === undefined || kind.fields === undefined) return;
    // A router that nobody reaches cannot tell that from servers that are slow, and one that has ended takes nothing back: what lay
    // in its send queue meets whatever version its server has by then (docs/guides/preferred-version.md, Limits).
    if (this.#world.run.now - sent.at > settles && (sent.isCutOff || !sent.machine.alive)) {
      this.count('a write lay in a partition that no router could know of');
      return;
    }
    if (this.#world.isDisturbedFor(untoldAfter)) {
      this.count('a write while a router had not been told for a minute what a server had become');
      return;
    }
    const fields = [...Object.keys(kind.fields), 'gated'];
    const lost = fields.find((field) => before?.[field] !== undefined && after[field] === undefined);
    const version = fields.filter((field) => server.behaviour.knows(kind, field)).join(' ');
    const isEvasion = after['forbidden'] === true && request.sentAt > this.#refusedAt;
    this.#pending.set(request.id, {
      lost:
        lost &&
        `${lost} of ${kind.resource} ${after.metadata.name}, by ${request.method} through ${request.router} at ${server.name}`,
      write: { router: sent.router, sentAt: sent.at, version },
      evaded: isEvasion,
    });
    if (after['newField'] !== undefined) this.count('a new field was stored');
  }

  /** A client has its response; what came with it decides whether what was done was announced. */
  responded(request: ClientRequest, { status, headers }: ClientResponse): void {
    this.#requests.delete(request.id);
    const isWarned = request.isForewarned || headers.includes('warning');
    const pending = this.#pending.get(request.id);
    this.#pending.delete(request.id);
    if (status === 422) this.#refusedAt = Math.min(this.#refusedAt, this.#world.run.now);
    if (headers.includes('warning')) this.count('a response with a warning');
    if (pending === undefined || isWarned) return;
    if (this.#world.run.now < this.rolledBackAt) {
      if (pending.lost !== undefined) this.violated('field-lost', pending.lost);
      if (pending.evaded)
        this.violated(
          'policy-evaded',
          `${request.method} ${request.target} through ${request.router}, which another had been refused before`,
        );
    }
    if (pending.write !== undefined) this.#committed(pending.write);
  }

  #committed(write: VersionedWrite): void {
    for (const other of this.#writes) {
      if (other.version === write.version || other.router === write.router) continue;
      const apart = Math.abs(write.sentAt - other.sentAt);
      this.margin('between writes to two versions', apart);
      if (apart >= settles) continue;
      const text = `${other.router} and ${write.router} wrote to two versions ${apart.toFixed(0)} ms apart`;
      this.violated('two-versions', text);
    }
    this.#writes.push(write);
    while ((this.#writes[0]?.sentAt ?? Number.POSITIVE_INFINITY) < write.sentAt - 8_000) this.#writes.shift();
  }

  /** A request whose connection broke: nobody was told anything. */
  broken(request: ClientRequest): void {
    this.#requests.delete(request.id);
    this.#pending.delete(request.id);
  }

  ended(): void {
    if (!this.lookedAtEnd && this.violations.length === 0)
      this.violated('left-waiting', 'a request of the last look has had no response');
  }

  /** Requests of clients that have had no response yet. */
  get waiting(): readonly ClientRequest[] {
    return [...this.#requests.values()];
  }
}
