import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { ownCopy } from '../../runtime/own-copy.ts';
import type { ServedBy } from '../../snapshot/routing-table/routing-table.ts';

/** Resources, and clients of each, that are kept. */
const keptResources = 100;
const keptClients = 20;
/** Characters of a name that a client gives itself. */
const longestName = 128;
/** Milliseconds after which an unused entry makes room. */
const keptFor = 3_600_000;
const lookInterval = 60_000;

interface ClientUse {
  readonly name: string;
  requests: number;
  /** Milliseconds since the epoch. */
  lastSeen: number;
}

export interface ResourceUse {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty when it is about the resource itself. */
  readonly subresource: string;
  requests: number;
  lastSeen: number;
  readonly userAgents: Kept<ClientUse>;
  /** Requests of further user agents than are kept. */
  otherUserAgents: number;
  readonly users: Kept<ClientUse>;
  otherUsers: number;
}

export class PartialUse {
  readonly #resources = new Kept<ResourceUse>(keptResources);
  /** The entry that was found last for those who serve it: spares a request the name. */
  readonly #found = new WeakMap<ServedBy, ResourceUse>();
  #otherRequests = 0;

  /** @param user `undefined`: only an API server knows */
  used(
    servedBy: ServedBy,
    info: RequestInfo,
    userAgent: string | undefined,
    user: string | undefined,
    now: number,
  ): void {
    const found = this.#found.get(servedBy);
    // One that was not used for long may have made room.
    const use = found !== undefined && now - found.lastSeen < keptFor ? found : this.#resource(info, now);
    if (use === undefined) {
      this.#otherRequests += 1;
      return;
    }
    this.#found.set(servedBy, use);
    use.requests += 1;
    use.lastSeen = now;
    if (!countClient(use.userAgents, userAgent ?? '', now)) use.otherUserAgents += 1;
    if (!countClient(use.users, user ?? '', now)) use.otherUsers += 1;
  }

  #resource(
    { apiGroup, apiVersion, resource, subresource }: RequestInfo,
    now: number,
  ): ResourceUse | undefined {
    return this.#resources.getOrAdd(`${apiGroup}/${apiVersion}/${resource}/${subresource}`, now, () => ({
      group: apiGroup,
      version: apiVersion,
      resource,
      subresource,
      requests: 0,
      lastSeen: now,
      userAgents: new Kept(keptClients),
      otherUserAgents: 0,
      users: new Kept(keptClients),
      otherUsers: 0,
    }));
  }

  list(now: number): readonly ResourceUse[] {
    return [...this.#resources.values()]
      .filter(({ lastSeen }) => now - lastSeen < keptFor)
      .sort((left, right) => right.requests - left.requests);
  }

  get otherRequests(): number {
    return this.#otherRequests;
  }
}

/** @returns whether there was room for the name */
function countClient(clients: Kept<ClientUse>, given: string, now: number): boolean {
  const name = given.length > longestName ? ownCopy(given.slice(0, longestName)) : given;
  const client = clients.getOrAdd(name, now, () => ({ name, requests: 0, lastSeen: now }));
  if (client === undefined) return false;
  client.requests += 1;
  client.lastSeen = now;
  return true;
}

/** By name, in bounded number. What was not used for long makes room, which is looked for once a minute at most. */
class Kept<Value extends { readonly lastSeen: number }> {
  readonly #values = new Map<string, Value>();
  readonly #most: number;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(most: number) {
    this.#most = most;
  }

  /** `undefined` when there is no room for another one. */
  getOrAdd(name: string, now: number, make: () => Value): Value | undefined {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    if (this.#values.size >= this.#most) this.#makeRoom(now);
    if (this.#values.size >= this.#most) return undefined;
    const value = make();
    this.#values.set(name, value);
    return value;
  }

  values(): Iterable<Value> {
    return this.#values.values();
  }

  #makeRoom(now: number): void {
    if (now - this.#lookedAt < lookInterval) return;
    this.#lookedAt = now;
    for (const [name, { lastSeen }] of this.#values) {
      if (now - lastSeen >= keptFor) this.#values.delete(name);
    }
  }
}
