import type { FlagDefinition } from './flag.ts';
import type { FlagIssue } from './flag-values.ts';

/** A warning for each deprecated flag that is given, in the order of the flags. Pure. */
export function deprecationWarnings(
  flags: readonly FlagDefinition[],
  given: Readonly<Partial<Record<string, readonly string[]>>>,
): readonly FlagIssue[] {
  return flags.flatMap(({ name, deprecated }) => {
    if (deprecated === undefined || given[name] === undefined) return [];
    const { since, instead } = deprecated;
    return [{ flag: `--${name}` as const, message: `--${name} is deprecated since ${since}: ${instead}` }];
  });
}

/** A flag that is gone, and the key of a configuration file that stood for it. */
export interface RemovedFlag {
  readonly name: string;
  readonly key: string;
  /** What to do instead; the end of a sentence. */
  readonly instead: string;
}

/** Removed flags of `serve`. A use of one gets an error that says what to do instead. */
export const removedServeFlags: readonly RemovedFlag[] = [
  {
    name: 'plain-requests',
    key: 'performance.plainRequests',
    instead: "leave it out, every HTTP/1.1 request is read by Node's parser",
  },
  {
    name: 'processes',
    key: 'processes',
    instead: 'start several routers, each at an address of its own',
  },
  {
    name: 'http2-frames',
    key: 'performance.http2Frames',
    instead: 'leave it out; --disable-http2-serving has clients speak HTTP/1.1 in place of HTTP/2',
  },
  {
    name: 'http1-read-connections',
    key: 'performance.http1ReadConnections',
    instead: 'leave it out, every request takes HTTP/2 where the server speaks it',
  },
  {
    name: 'direct-lane',
    key: 'performance.directLane',
    instead: 'leave it out, every request passes the fetch handler',
  },
];
