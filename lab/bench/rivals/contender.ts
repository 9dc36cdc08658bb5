import type { Command } from '../../../test/support/commands/child-process.ts';
import type { Workbench } from '../workbench.ts';

/** Names of contenders, as they stand in results and behind `--only`. */
export const contenderNames = [
  'direct',
  'router',
  'haproxy',
  'haproxy-http2',
  'nginx',
  'go',
  'go-http2',
] as const;
export type RecordedName = (typeof contenderNames)[number];
/** The router of another revision, which only `npm run lab -- quick --against` measures; never recorded. */
export const earlierRouterName = 'router-earlier';
export type ContenderName = RecordedName | typeof earlierRouterName;

/** The servers that a proxy is put in front of, and the proxy's own place. */
export interface ProxySetup {
  readonly workbench: Workbench;
  /** An existing directory of its own. */
  readonly directory: string;
  /** Port of 127.0.0.1 to listen on. */
  readonly port: number;
  /** Ports of 127.0.0.1 where the servers listen. Only the router tells them apart; others forward to the peer. */
  readonly servers: { readonly local: number; readonly peer: number };
}

/** Something that is measured: a proxy that passes requests on over mTLS and says who calls. */
export interface Contender {
  readonly name: ContenderName;
  /** As it stands in tables. */
  readonly title: string;
  /** Version of the contender; `undefined` where it is not installed. */
  version(workbench: Workbench): Promise<string | undefined>;
  /** Writes its configuration and says how it is started. `undefined`: there is no process, load goes to the peer. */
  readonly command: ((setup: ProxySetup) => Promise<Command>) | undefined;
}

/** The name in the servers' certificates that every proxy must check. */
export const serverName = 'kubernetes.default.svc';
