import type { Load } from '../load/load.ts';
import { localCollection, peerCollection } from '../rivals/bench-snapshot.ts';

/** Names of workloads, as they stand in results and behind `--workload`. */
export const workloadNames = [
  'http1-get',
  'http2-get',
  'http2-get-local',
  'http1-post',
  'http2-post',
  'http1-list-64k',
  'http2-list-64k',
  'http1-list-10m',
  'http2-list-10m',
  'http1-connections',
  'http1-rate',
  'http2-rate',
  'http1-rate-1000',
  'http2-rate-1000',
  'http1-rate-300',
  'http2-rate-300',
  'http1-rate-100',
  'http2-rate-100',
] as const;
export type WorkloadName = (typeof workloadNames)[number];

/** Something that is asked of every contender. */
export interface Workload {
  readonly name: WorkloadName;
  /** As it stands in tables. */
  readonly title: string;
  readonly protocol: Load['protocol'];
  /** Path and query. */
  readonly target: string;
  readonly method: 'GET' | 'POST';
  readonly connections: number;
  readonly streams: number;
  readonly responseBytes?: number;
  /**
   * `saturation`: each connection asks again as soon as it is answered. `connections`: the same, on a new connection
   * each time. `rate`: so many a second, each when it is due, whatever becomes of those before.
   */
  readonly kind: 'saturation' | 'connections' | 'rate';
  /** Requests of `rate` a second. Default: half of what the router does of the same request at saturation. */
  readonly perSecond?: number;
}

const small = peerCollection;
const large = (bytes: number): string => `${peerCollection}?bytes=${bytes}`;
const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** 16 requests in flight for each protocol: HTTP/1.1 on as many connections, HTTP/2 on a quarter. */
const http1 = { protocol: 'http1', connections: 16, streams: 1, method: 'GET', kind: 'saturation' } as const;
const http2 = { protocol: 'http2', connections: 4, streams: 4, method: 'GET', kind: 'saturation' } as const;

export const workloads: readonly Workload[] = [
  { ...http1, name: 'http1-get', title: 'GET 1 KB, HTTP/1.1', target: small },
  { ...http2, name: 'http2-get', title: 'GET 1 KB, HTTP/2', target: small },
  {
    ...http2,
    name: 'http2-get-local',
    title: 'GET 1 KB from the local server, HTTP/2',
    target: localCollection,
  },
  { ...http1, name: 'http1-post', title: 'POST 1 KB, HTTP/1.1', target: small, method: 'POST' },
  { ...http2, name: 'http2-post', title: 'POST 1 KB, HTTP/2', target: small, method: 'POST' },
  { ...http1, name: 'http1-list-64k', title: 'list of 64 KB, HTTP/1.1', target: large(64 * kibibyte) },
  { ...http2, name: 'http2-list-64k', title: 'list of 64 KB, HTTP/2', target: large(64 * kibibyte) },
  {
    ...http1,
    name: 'http1-list-10m',
    title: 'list of 10 MB, HTTP/1.1',
    target: large(10 * mebibyte),
    connections: 4,
    responseBytes: 10 * mebibyte,
  },
  {
    ...http2,
    name: 'http2-list-10m',
    title: 'list of 10 MB, HTTP/2',
    target: large(10 * mebibyte),
    connections: 2,
    streams: 2,
    responseBytes: 10 * mebibyte,
  },
  {
    ...http1,
    name: 'http1-connections',
    title: 'new connections, full TLS handshakes, HTTP/1.1',
    target: small,
    kind: 'connections',
  },
  { ...http1, name: 'http1-rate', title: 'GET 1 KB at half load, HTTP/1.1', target: small, kind: 'rate' },
  { ...http2, name: 'http2-rate', title: 'GET 1 KB at half load, HTTP/2', target: small, kind: 'rate' },
  ...([1_000, 300, 100] as const).flatMap((perSecond): Workload[] => [
    {
      ...{ ...http1, name: `http1-rate-${perSecond}`, target: small, kind: 'rate', perSecond },
      title: `GET 1 KB, ${perSecond} a second, HTTP/1.1`,
    },
    {
      ...{ ...http2, name: `http2-rate-${perSecond}`, target: small, kind: 'rate', perSecond },
      title: `GET 1 KB, ${perSecond} a second, HTTP/2`,
    },
  ]),
];
