interface PlantedFault {
  readonly name: string;
  /** In `src`. */
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
}

/** Faults that the simulation must find, each put into the program by itself when it is loaded. */
export const plantedFaults: readonly PlantedFault[] = [
  {
    name: 'a version counts at once, and does not settle',
    file: 'snapshot/routing-table/version-instants.ts',
    text: 'export const countsAfter = 8_000;',
    replacement: 'export const countsAfter = 0;',
  },
  {
    name: 'nothing waits while the version changes',
    file: 'snapshot/routing-table/version-instants.ts',
    text: 'export const versionSettlesFor = 2_000;',
    replacement: 'export const versionSettlesFor = 1;',
  },
  {
    name: 'a write goes by what was confirmed long ago',
    file: 'snapshot/routing-table/version-instants.ts',
    text: 'export const confirmedWithin = 6_000;',
    replacement: 'export const confirmedWithin = 6_000_000;',
  },
  {
    name: 'a watch stays at a server of another version after its local server is back',
    file: 'routing/preferred-version.ts',
    text: '(wasByVersion || isOfAnotherVersion)',
    replacement: 'wasByVersion',
  },
  {
    name: 'watches never move to the version that responds',
    file: 'node/exchange/open-streams.ts',
    text: 'if (misplaced.length === 0) return;',
    replacement: 'if (misplaced.length >= 0) return;',
  },
  {
    name: 'a write that may have been processed is sent again',
    file: 'node/destinations/exchange.ts',
    text: 'const mayHaveBeenProcessed = this.#source !== undefined && !isUnprocessed;',
    replacement: 'const mayHaveBeenProcessed = false;',
  },
  {
    name: 'a watch is resumed from too late',
    file: 'sync/reading/reflector.ts',
    text: 'from = resourceVersionOf(object) ?? from;',
    replacement: 'from = String(Number(resourceVersionOf(object) ?? from) + 5);',
  },
  {
    name: 'a token is kept for ever',
    file: 'node/credentials/cluster-access.ts',
    text: 'const freshMilliseconds = 10_000;',
    replacement: 'const freshMilliseconds = 10_000_000;',
  },
  {
    name: 'a lost connection is no news of the server',
    file: 'node/process/followed-servers.ts',
    text: 'connectionLost: (origin: string) => forEachAt(origin, (id) => health.connectionLost(id)),',
    replacement: 'connectionLost: (_origin: string) => {},',
  },
  {
    name: 'schemas are not compared',
    file: 'snapshot/routing-table/served-by.ts',
    text: 'return schema && `',
    replacement: 'if (schema !== undefined) return "alike"; return schema && `',
  },
];
