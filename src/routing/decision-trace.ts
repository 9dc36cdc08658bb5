import type { SnapshotApiService } from '../snapshot/format/schema.ts';
import type {
  RoutingServer,
  RoutingTable,
  ServedBy,
  ServersOfVersion,
} from '../snapshot/routing-table/routing-table.ts';
import type { DecisionContext, DecisionStep, DecisionTrace } from './decision.ts';
import { comingPreference } from './preferred-version.ts';

/** Puts every rule that was looked at into words, in order. In a module of its own: only `explain` loads it. */
export class WordedTrace implements DecisionTrace {
  readonly steps: DecisionStep[] = [];
  readonly #context: DecisionContext;
  readonly #table: RoutingTable | undefined;

  constructor(table: RoutingTable | undefined, context: DecisionContext) {
    this.#table = table;
    this.#context = context;
  }

  resource(isResourceRequest: boolean, path: string, isDocument: boolean): void {
    const what = isDocument ? 'is a document of the whole cluster' : 'names no resource';
    this.#add(
      '1 not a resource request',
      !isResourceRequest,
      isResourceRequest ? 'it names a resource' : `${path} ${what}`,
    );
  }

  rerouted(matched: boolean): void {
    this.#add(
      '2 rerouted by a peer already',
      matched,
      matched ? 'marked by a verified peer' : 'no mark from a verified peer',
    );
  }

  snapshot(): void {
    const table = this.#table;
    this.#add(
      '3 no snapshot yet',
      table === undefined,
      table === undefined ? 'there has been none' : `generation ${table.generation}`,
    );
  }

  versions(matched: boolean, byPreference: readonly ServersOfVersion[] | undefined): void {
    this.#add('3a it matters which version responds', matched, this.#describePreference(byPreference));
  }

  local(matched: boolean, servedBy: ServedBy | undefined, isDown: boolean): void {
    const { serverId } = this.#context;
    const local =
      serverId === undefined
        ? 'no server is local to a gateway'
        : `local is ${serverId}${isDown ? ', which is down' : ''}`;
    this.#add('4 the local server serves it', matched, `served by ${describeServers(servedBy)}; ${local}`);
  }

  extension(apiService: SnapshotApiService | undefined): void {
    this.#add(
      '5 an extension API server covers the group version',
      apiService !== undefined,
      describeExtension(apiService),
    );
  }

  customResource(matched: boolean): void {
    this.#add(
      '6 the group is served through CustomResourceDefinitions',
      matched,
      matched ? 'every server serves custom resources' : 'it is not',
    );
  }

  peers(reachable: readonly RoutingServer[]): void {
    const names = reachable.length === 0 ? 'none' : reachable.map(({ id }) => id).join(', ');
    this.#add('7 peers serve it', reachable.length > 0, `reachable: ${names}`);
  }

  withoutAddress(servedBy: ServedBy | undefined): void {
    this.#add(
      '8 peers serve it, none has a usable address',
      servedBy !== undefined,
      `served by ${describeServers(servedBy)}`,
    );
  }

  nobody(notKnown: readonly RoutingServer[]): void {
    const who = this.#context.serverId === undefined ? 'any' : 'the local';
    this.#add(
      '9 no server serves it',
      true,
      notKnown.length === 0
        ? `${who} server responds with 404 itself`
        : `but what these serve is not known yet: ${notKnown.map(describeServer).join(', ')}`,
    );
  }

  #add(rule: string, matched: boolean, detail: string): void {
    this.steps.push({ rule, matched, detail });
  }

  #describePreference(byPreference: readonly ServersOfVersion[] | undefined): string {
    const [first] = byPreference ?? [];
    if (byPreference === undefined || first === undefined) return 'the servers that serve it agree';
    const order = byPreference.map(({ minor = 'unknown' }) => minor).join(', ');
    const { serverId, preferredVersion, now } = this.#context;
    const isLocals = serverId !== undefined && first.serverIds.has(serverId);
    const coming = this.#table && comingPreference(this.#table, preferredVersion, now);
    const changes = coming && `; from ${new Date(coming.at).toISOString()} on ${coming.minor} is the first`;
    const why = this.#table?.comparison?.isComplete === false ? 'are not compared yet' : 'differ';
    return `its servers ${why}; versions in order of preference: ${order}${isLocals ? '; the local server has the first' : ''}${changes ?? ''}`;
  }
}

function describeServers(servedBy: ServedBy | undefined): string {
  if (servedBy === undefined) return 'no server';
  return servedBy.servers.map(describeServer).join(', ');
}

function describeServer({ id, departed, missing }: RoutingServer): string {
  if (missing !== undefined) return `${id} (not known: ${missing})`;
  return departed ? `${id} (departed)` : id;
}

function describeExtension(apiService: SnapshotApiService | undefined): string {
  if (apiService?.service === undefined) return 'no APIService with a service';
  const { namespace, name } = apiService.service;
  return `${name}.${namespace}.svc, ${apiService.available ? 'available' : 'not available'}`;
}
