import type { ServeConfig } from '../../../src/node/configuration/serve-config.ts';
import type { Protocol } from '../../support/api-servers/api-server-double.ts';
import type { Script } from './asked.ts';
import type { Laboratory } from './laboratory.ts';
import type { WireOptions } from './wire.ts';

/** State in which a fault leaves a request: its client's answer depends on that. */
export type Damage =
  /** Nothing arrived: even a write may be tried at another server. */
  | 'not-arrived'
  /** The request may have arrived, and no answer began: a read may be tried at another server. */
  | 'unanswered'
  /** As `unanswered`: what came is no answer that could be passed on. */
  | 'invalid'
  /** The server says that it has not processed it: even a write may be tried again, its body from the first byte on. */
  | 'refused'
  /** The server has no such path, although the snapshot says so: a 404, and nothing carried out. */
  | 'not-served'
  /** As `unanswered`, once the router's time-out is over; watches have none. */
  | 'silent'
  /** The head of an answer, and never its end. The router's time-out is that of a whole request. */
  | 'stuck'
  /** An answer that breaks off. */
  | 'broken-off'
  /** None: unusual, and right. */
  | 'none';

/** Where the faulty server stands. */
export type Place = 'peer' | 'local' | 'gateway';

export const places: readonly Place[] = ['peer', 'local', 'gateway'];

/** One thing that a server can do wrong, or strangely. */
export interface Fault {
  readonly name: string;
  readonly damage: Damage;
  /** Towards which protocols of the server it exists. Default both. */
  readonly protocols?: readonly Protocol[];
  /** Where the server may stand. Default everywhere. */
  readonly places?: readonly Place[];
  /** Behaviour of the server for a request. Default: answers well. */
  readonly script?: (laboratory: Laboratory) => Script;
  readonly tls?: Omit<WireOptions, 'protocols'>;
  /** In place of a scripted server. @returns its port */
  readonly listen?: (laboratory: Laboratory) => Promise<number>;
  /** Makes the router as impatient as a test is. */
  readonly configure?: (config: ServeConfig) => ServeConfig;
}

/** Time-outs in milliseconds, below what flags allow. */
export function withTimeouts({
  request,
  ...timeouts
}: Partial<ServeConfig['timeouts']> & { readonly request?: number }): (config: ServeConfig) => ServeConfig {
  return ({ settings, ...config }) => ({
    ...config,
    settings: { ...settings, timeouts: { request: request ?? settings.timeouts.request } },
    timeouts: { ...config.timeouts, ...timeouts },
  });
}
