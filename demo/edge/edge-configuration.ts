import * as v from 'valibot';
import {
  type DocumentIssue,
  expected,
  fieldPath,
  IssueList,
  readValue,
  strict,
} from '../../src/runtime/validation.ts';

const text = v.pipe(v.string(expected('text')), v.minLength(1, 'must not be empty'));
/** Without the value: it may be a key that was given by mistake. */
const texts = v.record(v.string(), v.string('must be text'));

const schema = strict({
  apiVersion: v.literal('mixed-version-proxy/v1alpha1', expected('"mixed-version-proxy/v1alpha1"')),
  kind: v.literal('EdgeConfiguration', expected('"EdgeConfiguration"')),
  /** `host:port`; port 0 for a free one. */
  listen: v.pipe(
    text,
    v.regex(/^(?:\[[\da-fA-F:]+\]|[\w.-]+):\d{1,5}$/, 'must be host:port, as in 0.0.0.0:6443'),
  ),
  tls: strict({
    certFile: text,
    keyFile: text,
    /** Bundle of the authorities whose client certificates are demanded. Default: none is demanded. */
    clientCAFile: v.optional(text),
  }),
  destinations: strict({
    /** Authorities that check the serving certificates of API servers and routers. */
    caFile: text,
    /** The front-proxy pair, both or none. Without it callers' identities travel as signed assertions. */
    certFile: v.optional(text),
    keyFile: v.optional(text),
    /** Networks that may be connected to: CIDR blocks, or workerd's `private`, `public`. */
    networks: v.optional(v.array(text)),
  }),
  /** For workerd's generated configuration and the accepted snapshot. Must exist. */
  stateDirectory: text,
  /** Variables of the router, under the names in docs/guides/edge.md. */
  environment: v.optional(texts, {}),
  /** The same from files: for secrets. */
  environmentFiles: v.optional(v.record(v.string(), text), {}),
});

/**
 * How a router on a self-hosted workerd is started: what a platform would otherwise know of.
 * Paths are relative to the working directory; files of certificates and keys are PEM.
 */
export type EdgeConfiguration = Readonly<Omit<v.InferOutput<typeof schema>, 'apiVersion' | 'kind'>>;

export type ReadEdgeConfigurationResult =
  | { readonly ok: true; readonly configuration: EdgeConfiguration }
  /** Every error, each with its path. */
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] };

/** @param document a value as `JSON.parse` makes it */
export function readEdgeConfiguration(document: unknown): ReadEdgeConfigurationResult {
  const issues = new IssueList();
  const configuration = readValue(schema, document, '', issues);
  if (configuration === undefined) return { ok: false, issues: issues.toArray() };
  const { destinations, environment, environmentFiles } = configuration;
  if ((destinations.certFile === undefined) !== (destinations.keyFile === undefined)) {
    issues.add('destinations', 'must name both certFile and keyFile, or neither');
  }
  for (const name of Object.keys(environmentFiles)) {
    if (name in environment) issues.add(`environmentFiles.${name}`, 'must not be in environment as well');
  }
  for (const [field, variables] of Object.entries({ environment, environmentFiles })) {
    for (const name of Object.keys(variables)) {
      if (/^[A-Z][A-Z\d_]*$/.test(name)) continue;
      issues.add(fieldPath(field, name), 'is no name of a variable: use A-Z, 0-9 and _');
    }
  }
  return issues.count === 0 ? { ok: true, configuration } : { ok: false, issues: issues.toArray() };
}

/** `listen` in its parts, an IPv6 address without brackets. */
export function listenAddress({ listen }: Pick<EdgeConfiguration, 'listen'>): {
  readonly hostname: string;
  readonly port: number;
} {
  const colon = listen.lastIndexOf(':');
  return { hostname: listen.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(listen.slice(colon + 1)) };
}
