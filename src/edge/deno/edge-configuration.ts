import * as v from 'valibot';
import { DocumentReader } from '../../snapshot/format/document-reader.ts';
import { IssueList, type SnapshotIssue } from '../../snapshot/format/issues.ts';

const text = v.pipe(v.string('must be text'), v.minLength(1, 'must not be empty'));
const texts = v.record(v.string(), v.string('must be text'));

const schema = v.strictObject({
  apiVersion: v.literal('mixed-version-proxy/v1alpha1', 'must be mixed-version-proxy/v1alpha1'),
  kind: v.literal('EdgeConfiguration', 'must be EdgeConfiguration'),
  listen: v.pipe(
    text,
    v.regex(/^(?:\[[\da-fA-F:]+\]|[\w.-]+):\d{1,5}$/, 'must be host:port, as in 0.0.0.0:6443'),
  ),
  tls: v.strictObject({ certFile: text, keyFile: text, clientCAFile: v.optional(text) }),
  destinations: v.strictObject({
    caFile: text,
    certFile: v.optional(text),
    keyFile: v.optional(text),
    networks: v.optional(v.array(text)),
  }),
  stateDirectory: text,
  environment: v.optional(texts, {}),
  environmentFiles: v.optional(v.record(v.string(), text), {}),
});

/**
 * How a router on a self-hosted edge runtime (workerd, Deno) is started: what a platform would otherwise know of.
 * Paths are relative to the working directory; files of certificates and keys are PEM.
 */
export interface EdgeConfiguration {
  /** `host:port`; port 0 for a free one. */
  readonly listen: string;
  readonly tls: {
    readonly certFile: string;
    readonly keyFile: string;
    /** Whose client certificates are demanded. workerd only. Default: none is. */
    readonly clientCAFile?: string | undefined;
  };
  readonly destinations: {
    /** What the serving certificates of API servers and routers are checked against. */
    readonly caFile: string;
    /** The front-proxy pair, both or none. Without it callers' identities travel as signed assertions. */
    readonly certFile?: string | undefined;
    readonly keyFile?: string | undefined;
    /** Networks that may be connected to: CIDR blocks, or workerd's `private`, `public`. workerd only. */
    readonly networks?: readonly string[] | undefined;
  };
  /** For the accepted snapshot; workerd's generated configuration stands there, too. Must exist. */
  readonly stateDirectory: string;
  /** Variables of the router, under the names of `WorkerEnvironment`. */
  readonly environment: Readonly<Record<string, string>>;
  /** The same from files: for secrets. */
  readonly environmentFiles: Readonly<Record<string, string>>;
}

export type ReadEdgeConfigurationResult =
  | { readonly ok: true; readonly configuration: EdgeConfiguration }
  /** Every error, each with its path. */
  | { readonly ok: false; readonly issues: readonly SnapshotIssue[] };

/** Which runtime is to run it: not every field means something to each. */
export type EdgeRuntime = 'workerd' | 'Deno';

/** @param document a value as `JSON.parse` makes it */
export function readEdgeConfiguration(document: unknown, runtime: EdgeRuntime): ReadEdgeConfigurationResult {
  const issues = new IssueList();
  const configuration = new DocumentReader(issues).read(schema, document, '');
  if (configuration === undefined) return { ok: false, issues: issues.toArray() };
  const { tls, destinations, environment, environmentFiles } = configuration;
  if ((destinations.certFile === undefined) !== (destinations.keyFile === undefined)) {
    issues.add('destinations', 'must name both certFile and keyFile, or neither');
  }
  for (const name of Object.keys(environmentFiles)) {
    if (name in environment) issues.add(`environmentFiles.${name}`, 'must not be in environment as well');
  }
  if (runtime === 'Deno' && tls.clientCAFile !== undefined) {
    // To ignore it silently would let in callers whom the operator means to keep out.
    issues.add('tls.clientCAFile', 'is not supported: Deno cannot demand client certificates');
  }
  if (runtime === 'Deno' && destinations.networks !== undefined) {
    issues.add('destinations.networks', 'is not supported: give Deno --allow-net with the addresses instead');
  }
  return issues.isEmpty ? { ok: true, configuration } : { ok: false, issues: issues.toArray() };
}

/** `listen` in its parts, an IPv6 address without brackets. */
export function listenAddress({ listen }: Pick<EdgeConfiguration, 'listen'>): {
  readonly hostname: string;
  readonly port: number;
} {
  const colon = listen.lastIndexOf(':');
  return { hostname: listen.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(listen.slice(colon + 1)) };
}
