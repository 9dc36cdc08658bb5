import { sha256Digest } from '../../runtime/bytes.ts';
import type { ServerDocument, ServerDocuments } from './server-documents.ts';

export const metricsPath = '/metrics';
/** KEP-3466, since Kubernetes 1.26: one for each gate that the server knows, 1 where it is on. */
const gateLine = /^kubernetes_feature_enabled\{name="([^"]*)"[^}]*\} ([01])$/gm;
/** How often a process is asked that does not respond in time: in a large cluster the document has tens of megabytes. */
const attempts = 3;

/**
 * Reads which feature gates one server has on: neither discovery nor OpenAPI shows a field that is dropped, or a policy that is
 * not enforced, because its gate is off. A process never changes them, so each is asked once.
 */
export function createFeatureGateReader() {
  let said: { readonly digest: string | undefined } | undefined;
  let left = attempts;
  return {
    /** The server may be another process from now on. */
    outdate(): void {
      said = undefined;
      left = attempts;
    },
    /** @returns a digest; `undefined` where it is not known, or not told to this reader. Never rejects */
    async read(documents: ServerDocuments, signal: AbortSignal): Promise<string | undefined> {
      if (said === undefined && left > 0) {
        left--;
        const document = await documents.get(metricsPath, 'text/plain', signal).catch(() => undefined);
        // A reader who may not read it once never may: `/readyz` has said that the server knows its roles.
        if (document !== undefined && document.status < 500) said = { digest: await digestOf(document) };
      }
      return said?.digest;
    },
  };
}

export type FeatureGateReader = ReturnType<typeof createFeatureGateReader>;

/** The lines of the document that say which gates are on. */
export function gateLinesOf(metrics: string): string {
  return [...metrics.matchAll(gateLine)].map(([line]) => `${line}\n`).join('');
}

async function digestOf({ status, body }: ServerDocument): Promise<string | undefined> {
  if (status !== 200) return undefined;
  const gates = [...body.matchAll(gateLine)].map(([, name, isOn]) => `${name}=${isOn}`);
  return gates.length === 0 ? undefined : shortDigest(gates.sort().join(' '));
}

/** The first eight hexadecimal digits of a SHA-256. */
export async function shortDigest(text: string): Promise<string> {
  const digest = await sha256Digest(new TextEncoder().encode(text));
  return digest.slice('sha256:'.length).slice(0, 8);
}
