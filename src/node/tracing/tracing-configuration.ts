import * as v from 'valibot';
import { DocumentReader } from '../../snapshot/format/document-reader.ts';
import { IssueList, type SnapshotIssue } from '../../snapshot/format/issues.ts';
import { isJsonObject } from '../../snapshot/format/json-text.ts';
import { strict } from '../../snapshot/format/schema-parts.ts';

/** Where spans go, and how many requests are traced. */
export interface TracingConfig {
  /** The collector's traces endpoint, for example `http://localhost:4318/v1/traces`. */
  readonly url: string;
  /**
   * Sampled requests per million, of those without a trusted trace context. A trusted one decides itself. 0: none.
   */
  readonly samplingRatePerMillion: number;
}

export type ParseTracingResult =
  | { readonly ok: true; readonly value: TracingConfig; readonly warnings: readonly SnapshotIssue[] }
  /** All errors, each with its path. */
  | { readonly ok: false; readonly issues: readonly SnapshotIssue[] };

/** The default of collectors for OTLP over HTTP (OpenTelemetry protocol exporter specification). */
const defaultUrl = 'http://localhost:4318/v1/traces';

const rateText = 'must be a whole number from 0 to 1000000';

/** Kubernetes' schema (k8s.io/component-base tracing/api/v1, kind in k8s.io/apiserver pkg/apis/apiserver). */
const schema = strict({
  apiVersion: v.picklist(
    ['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1', 'apiserver.config.k8s.io/v1alpha1'],
    'must be apiserver.config.k8s.io/v1, v1beta1 or v1alpha1',
  ),
  kind: v.literal('TracingConfiguration', 'must be TracingConfiguration'),
  endpoint: v.optional(v.pipe(v.string('must be text'), v.minLength(1, 'must not be empty'))),
  samplingRatePerMillion: v.optional(
    v.pipe(v.number(rateText), v.integer(rateText), v.minValue(0, rateText), v.maxValue(1_000_000, rateText)),
  ),
});

/**
 * Parses a TracingConfiguration. The schema is Kubernetes', but the endpoint differs: kube-apiserver exports OTLP over
 * gRPC, the router OTLP over HTTP, for which collectors have another port.
 * @param document a value as `JSON.parse` returns it
 */
export function parseTracingConfiguration(document: unknown): ParseTracingResult {
  // The value is not quoted, as the schema would do: it may be a secret that was given by mistake.
  if (!isJsonObject(document)) return { ok: false, issues: [{ path: '', message: 'must be an object' }] };
  const issues = new IssueList();
  const read = new DocumentReader(issues).read(schema, document, '');
  if (read === undefined) return { ok: false, issues: issues.toArray() };
  const { endpoint, samplingRatePerMillion = 0 } = read;
  const url = endpoint === undefined ? defaultUrl : tracesUrl(endpoint);
  if (url === undefined) {
    const message = 'must be host:port or an http or https URL without user name, query and fragment';
    return { ok: false, issues: [{ path: 'endpoint', message }] };
  }
  return { ok: true, value: { url, samplingRatePerMillion }, warnings: warningsOf(url) };
}

/** `undefined` for an invalid endpoint. */
function tracesUrl(endpoint: string): string | undefined {
  const hasScheme = endpoint.includes('://');
  const text = hasScheme ? endpoint : `http://${endpoint}`;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!/^https?:$/.test(url.protocol) || url.hostname === '' || !isPlain) return undefined;
  if (url.pathname === '/') url.pathname = '/v1/traces';
  return url.href;
}

function warningsOf(url: string): readonly SnapshotIssue[] {
  if (new URL(url).port !== '4317') return [];
  const message =
    'collectors take OTLP over gRPC at port 4317; this router speaks OTLP over HTTP, usually port 4318';
  return [{ path: 'endpoint', message }];
}
