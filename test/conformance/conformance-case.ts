import type { RawHeaders } from '../../src/apimachinery/raw-headers.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import type { AssertedFor } from './callers.ts';
import type { Cluster } from './cluster.ts';
import type { ClientRequest, Exchange, StreamedAnswer, WireClient } from './wire/exchange.ts';

/** Capabilities that a case needs beyond answering requests; a runtime without one says why. */
export const capabilities = {
  exactTarget: 'the router sees the request target as it was sent',
  dotSegments: 'the router sees dot segments and backslashes of a request target as they were sent',
  contentOfReads: 'content of a GET or HEAD reaches the router, and can be sent on',
  clientAddress: 'the router is told the address of the client',
  http1: 'clients speak HTTP/1.1, whose connection headers they may send',
  interimAnswers: 'the runtime answers an expectation of 100 Continue',
  http1Bytes: 'clients can write HTTP/1.1 by hand',
  http2: 'clients speak HTTP/2',
  repeatedHeaders: 'repeated header lines of a request reach the router one by one',
  assertions: 'signed assertions of edge routers tell who calls',
  jwt: 'tokens of a configured issuer tell who calls',
  clientCertificates: 'verified client certificates tell who calls',
  frontProxyIdentity: 'servers are told by X-Remote headers over mutual TLS who calls',
  websocket: 'WebSocket upgrades are tunnelled',
  spdy: 'SPDY upgrades are tunnelled',
  spdyRefusal: 'SPDY upgrades reach the router and cannot be tunnelled',
} as const;

export type Capability = keyof typeof capabilities;

/** Snapshot that is pushed before the first case: the cluster, that of `severalVersionsSnapshot`, or nothing. */
export type FirstSnapshot = 'current' | 'none' | 'several-versions';

/** A whole answer. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  /** A byte string. */
  readonly body: string;
}

/** A router that runs, the servers behind it, and what cases do with them. */
export interface World {
  readonly client: WireClient;
  readonly cluster: Cluster;
  /** Sends a request; as `who`'s, when given: by an edge router's assertion or, at the edge, by a token. */
  send(request: ClientRequest, who?: UserInfo): Promise<Exchange>;
  /** Sends a request and reads the whole answer. */
  ask(request: ClientRequest, who?: UserInfo): Promise<WholeAnswer>;
  /** The same, for answers that go on. */
  open(request: ClientRequest, who?: UserInfo): Promise<StreamedAnswer>;
  /** The header line that makes a request `who`'s. */
  callerLine(who: UserInfo, request: AssertedFor): Promise<readonly [string, string]>;
  /** Milliseconds that something took, for the table of figures. */
  figure(name: string, milliseconds: number): void;
  /** Something that must be the same on every runtime. */
  agree(name: string, value: string): void;
}

/** One rule that holds on every runtime, or does not apply there for a declared reason. */
export interface ConformanceCase {
  /** Stable; runtimes name it in their exceptions. */
  readonly id: string;
  /** The rule, as a sentence without its full stop. */
  readonly rule: string;
  /** Where the rule comes from. */
  readonly citation: string;
  readonly needs?: readonly Capability[];
  /** Default: `current`. */
  readonly snapshot?: FirstSnapshot;
  /** @throws when the rule does not hold. */
  run(world: World): Promise<void>;
}

export interface CaseGroup {
  readonly title: string;
  readonly cases: readonly ConformanceCase[];
}
