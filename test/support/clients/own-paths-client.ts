import { Agent, request } from 'undici';
import type { RouterStatus } from '../../../src/own-paths/status/status-schema.ts';
import type { SyncCredentials } from '../clusters/embedded-cluster.ts';

/** Asks a router what it knows, as an administrator. */
export interface OwnPathsClient {
  /** `v1/status`. */
  status(): Promise<RouterStatusView>;
  /** `v1/explain` of a GET: what the router would do with it. */
  explain(url: string): Promise<ExplainView>;
  /** `metrics`, in Prometheus' text format. */
  metrics(): Promise<string>;
  close(): Promise<void>;
}

type RouterStatusView = Omit<RouterStatus, 'warnings'> & { readonly warnings: readonly string[] };

interface ExplainView {
  readonly decision: string;
  readonly reason: string;
  readonly candidates: readonly { readonly id: string }[];
}

export function ownPathsClient(
  origin: string,
  { certificateAuthorities, clientCertificate }: SyncCredentials,
): OwnPathsClient {
  const agent = new Agent({
    allowH2: false,
    connect: {
      ca: certificateAuthorities,
      cert: clientCertificate.certificate,
      key: clientCertificate.key,
    },
  });
  async function getText(path: string): Promise<string> {
    const { statusCode, body } = await request(`${origin}/.mixed-version-proxy/${path}`, {
      dispatcher: agent,
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path}: response ${statusCode}: ${text}`);
    return text;
  }
  const get = async <View>(path: string): Promise<View> => JSON.parse(await getText(`v1/${path}`)) as View;
  return {
    async status() {
      const view = await get<RouterStatus>('status');
      return { ...view, warnings: view.warnings.map(({ message }) => message) };
    },
    explain: (url) => get(`explain?method=GET&url=${encodeURIComponent(url)}`),
    metrics: () => getText('metrics'),
    close: () => agent.destroy(),
  };
}
