import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** A span as OTLP's JSON encoding has it (opentelemetry-proto trace/v1). */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: Pick<CollectedSpan, 'attributes'>;
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
  }[];
}

export interface TraceCollector {
  readonly port: number;
  readonly spans: CollectedSpan[];
  /** What the senders say of themselves. */
  readonly resources: Readonly<Record<string, unknown>>[];
}

/** Takes OTLP over HTTP, as JSON. Closed at the end of the test. @param status what it answers. */
export async function startTraceCollector(context: TestContext, status = 200): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const resources: Readonly<Record<string, unknown>>[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray()).toString();
    const isExport = incoming.method === 'POST' && incoming.url === '/v1/traces';
    if (isExport && status === 200) {
      for (const { resource, scopeSpans } of (JSON.parse(body) as ExportRequest).resourceSpans) {
        resources.push(attributesOf(resource));
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
    }
    outgoing.writeHead(isExport ? status : 404, { 'content-type': 'application/json' }).end('{}');
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, spans, resources };
}

/** Attributes by name; whole numbers as numbers. */
export function attributesOf({ attributes }: Pick<CollectedSpan, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      'intValue' in value ? Number(value['intValue']) : Object.values(value)[0],
    ]),
  );
}
