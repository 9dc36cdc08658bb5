import type { EventKind, Plan } from '../plan/plan.ts';

interface PlantedFault {
  readonly name: string;
  /** True of the plans in which it can show: seeds of others need not be run. Default: of all. */
  readonly needs?: (plan: Plan) => boolean;
  /** Below the root. */
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
}

/** All of these are in the plan. */
const has =
  (...kinds: readonly EventKind[]) =>
  ({ events }: Plan): boolean =>
    kinds.every((kind) => events.some((event) => event.kind === kind));

/** A server is away for longer than it takes to depart. */
const departs = ({ events }: Plan): boolean =>
  events.some((event) => event.kind === 'replace' && event.down > 5_000);

/** Nobody reads for longer than a snapshot waits until it is renewed. */
const isCutOffForLong = ({ events }: Plan): boolean =>
  events.some((event) => event.kind === 'partition' && event.lasts > 60_000);

/** Faults that the simulation must find, each put into the program by itself when it is loaded. */
export const plantedFaults: readonly PlantedFault[] = [
  {
    name: 'a version counts at once, and does not settle',
    file: 'src/snapshot/routing-table/version-instants.ts',
    text: 'export const countsAfter = 8_000;',
    replacement: 'export const countsAfter = 0;',
  },
  {
    name: 'nothing waits while the version changes',
    file: 'src/snapshot/routing-table/version-instants.ts',
    text: 'export const versionSettlesFor = 2_000;',
    replacement: 'export const versionSettlesFor = 1;',
  },
  {
    name: 'a write goes by what was confirmed long ago',
    file: 'src/snapshot/routing-table/version-instants.ts',
    text: 'export const confirmedWithin = 6_000;',
    replacement: 'export const confirmedWithin = 6_000_000;',
  },
  {
    name: 'watches move only once the version has changed',
    file: 'src/proxy/decider.ts',
    text: 'if (isOfAnotherVersion && untilSettled > 0) return true;',
    replacement: 'if (isOfAnotherVersion && untilSettled < 0) return true;',
  },
  {
    name: 'watches never move to the version that responds',
    file: 'src/node/exchange/open-streams.ts',
    text: 'if (stream.isMisplaced === undefined) continue;',
    replacement: 'if (stream.isMisplaced !== null) continue;',
  },
  {
    name: 'a write that may have been processed is sent again',
    file: 'src/node/destinations/exchange.ts',
    text: 'const mayHaveBeenProcessed = this.#source !== undefined && !isUnprocessed;',
    replacement: 'const mayHaveBeenProcessed = false;',
  },
  {
    name: 'a watch is resumed from too late',
    file: 'src/sync/reading/reflector.ts',
    text: 'from = resourceVersionOf(event.object) ?? from;',
    replacement: 'from = String(Number(resourceVersionOf(event.object) ?? from) + 5);',
  },
  {
    name: 'a token is kept for ever',
    needs: has('token'),
    file: 'src/node/credentials/cluster-access.ts',
    text: 'const freshMilliseconds = 10_000;',
    replacement: 'const freshMilliseconds = 10_000_000;',
  },
  {
    name: 'a lost connection is no news of the server',
    file: 'src/node/process/followed-servers.ts',
    text: "this.#applyAt(origin, { kind: 'connection lost', isRefused: false });",
    replacement: '',
  },
  {
    name: 'schemas are not compared',
    file: 'src/snapshot/routing-table/served-by.ts',
    text: 'return schema && `',
    replacement: 'if (schema !== undefined) return "alike"; return schema && `',
  },
  {
    name: 'a doubt that comes while a server is asked is lost',
    file: 'src/servers/state-transitions.ts',
    text: 'doubtedAt !== undefined && doubtedAt <= event.askedAt;',
    replacement: 'doubtedAt !== undefined;',
  },
  {
    name: 'a list after a time without a watch changes nothing',
    needs: has('compaction'),
    file: 'src/sync/reading/reflector.ts',
    text: 'this.#items = items;',
    replacement: 'this.#items = before ?? items;',
  },
  {
    name: 'a pushed snapshot is used once it has been written',
    needs: (plan) => plan.form === 'pushed' && has('disk')(plan),
    file: 'src/snapshot/receiving/receiver.ts',
    text: '    if (this.options.isStoreShared === true) {\n      const error',
    replacement:
      '    if (this.options.isStoreShared !== undefined || this.options.store !== undefined) {\n      const error',
  },
  {
    name: 'a snapshot is renewed although nothing was read',
    needs: isCutOffForLong,
    file: 'src/sync/deliver.ts',
    text: '} else if (!isHeldElsewhere && hasRead && now',
    replacement: '} else if (!isHeldElsewhere && (hasRead || true) && now',
  },
  {
    name: 'a certificate authority that is replaced is not followed',
    needs: has('authority'),
    file: 'src/node/destinations/node-transport.ts',
    text: '    this.dialer.update(credentials);\n',
    replacement: '    if (credentials === undefined) this.dialer.update(credentials);\n',
  },
  {
    name: 'generations go by the clock',
    file: 'src/sync/build-snapshot.ts',
    text: '    : previous + 1;',
    replacement: '    : Math.floor(now / 1000);',
  },
  {
    name: 'a change of versions counts by the clock of each router',
    file: 'src/snapshot/routing-table/version-instants.ts',
    text: 'const left = (parseRfc3339(at) ?? 0) - createdAt;',
    replacement: 'const left = (parseRfc3339(at) ?? createdAt) - Date.now();',
  },
  {
    name: 'a budget of memory is never given back',
    file: 'packages/http2/sockets/held-bytes.ts',
    text: '  end(): void {\n    this.set(0);\n    this.#isOver = true;',
    replacement: '  end(): void {\n    this.#isOver = true;',
  },
  {
    name: 'an identity that a client claims goes on beside the one that it has',
    file: 'src/request/headers.ts',
    text: 'const name = hyphenated(lowerCaseName);',
    replacement: 'const name = hyphenated(lowerCaseName).toUpperCase();',
  },
  {
    name: 'a process that stood still goes on by what it knew',
    needs: has('pause'),
    file: 'src/servers/server-book.ts',
    text: 'if (stood < standStill) return;',
    replacement: 'if (stood < Number.POSITIVE_INFINITY) return;',
  },
  {
    name: 'a stored snapshot counts before its servers were asked',
    needs: has('restart-router'),
    file: 'src/node/process/followed-servers.ts',
    text: '(id) => isOfBefore && table !== undefined && !hasDeparted(id)',
    replacement: '() => false',
  },
  {
    name: 'a write goes to another version while a server of the preferred one may still serve',
    file: 'src/proxy/hold-back.ts',
    text: 'if (otherVersion === undefined) return false;',
    replacement: 'if (otherVersion !== null) return false;',
  },
  {
    name: 'what only a server that has departed served is gone at once',
    needs: departs,
    file: 'src/sync/reading/cluster-state.ts',
    text: 'return timing.grace > 0 ? { missingSince: undefined, departedAt: now } : undefined;',
    replacement: 'return undefined;',
  },
  {
    name: 'changes to come are forgotten when the clock is set',
    needs: has('clock'),
    file: 'src/sync/version-changes.ts',
    text: 'return Math.abs(set) < clockNoise ? 0 : set;',
    replacement: 'return Math.abs(set) < clockNoise ? 0 : 0 * set;',
  },
  {
    name: 'a request waits for one change after the other',
    file: 'src/proxy/settle.ts',
    text: 'const waitsAtMost = countsAfter + versionSettlesFor;',
    replacement: 'const waitsAtMost = 10 * (countsAfter + versionSettlesFor);',
  },
  {
    name: 'documents are not merged',
    file: 'src/proxy/handle-request.ts',
    text: "return decision.reason === 'MergedDocument' && view.snapshot !== undefined;",
    replacement: "return decision.reason === 'NoSnapshot' && view.snapshot !== undefined;",
  },
  {
    name: 'who begins to read takes a server that is away for what it was before',
    needs: has('restart-router'),
    file: 'src/sync/reading/reader-record.ts',
    text: 'before === undefined ? Number.POSITIVE_INFINITY :',
    replacement: 'before === undefined ? 0 :',
  },
  {
    name: 'connections of earlier credentials outlive their server',
    needs: has('authority', 'partition'),
    file: 'src/node/destinations/node-transport.ts',
    text: 'if (led.origin === destination.origin) destroy(pool);',
    replacement: 'if (led === undefined) destroy(pool);',
  },
];
