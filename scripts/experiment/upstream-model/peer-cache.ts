import { setTimeout as sleep } from 'node:timers/promises';
import type { ExampleStore } from '../../../demo/example-api-server/index.ts';
import { textAt } from '../../../demo/example-api-server/kubernetes-object.ts';
import { getText } from '../../harness/get-text.ts';
import { type ServedGroupVersions, servedPath } from './merged-discovery.ts';

const leases = { group: 'coordination.k8s.io', resource: 'leases' };

interface Peer {
  /** `host:port` */
  readonly address: string;
  readonly served: ServedGroupVersions;
}

interface PeerCacheOptions {
  readonly ownId: string;
  readonly store: ExampleStore;
  readonly certificateAuthority: string;
  readonly frontProxyClient: { readonly cert: string; readonly key: string };
}

/**
 * What the peers serve, as peer_discovery.go keeps it: every new, gone or newly held identity Lease has all peers
 * read again, and one that cannot be read is left out, tried again with growing pauses.
 */
export class PeerCache {
  readonly #options: PeerCacheOptions;
  readonly #holders = new Map<string, string>();
  #peers = new Map<string, Peer>();
  #rebuilding: Promise<void> = Promise.resolve();

  constructor(options: PeerCacheOptions) {
    this.#options = options;
    options.store.subscribe(leases, ({ type, object }) => {
      const { namespace, name = '', annotations = {} } = object.metadata;
      const isServer = annotations['kubernetes.io/peer-advertise-address'] !== undefined;
      if (namespace !== 'kube-system' || name === options.ownId || !isServer) return;
      const holder = type === 'DELETED' ? undefined : textAt(object, 'spec', 'holderIdentity');
      // A renewal changes nothing.
      if (holder === this.#holders.get(name)) return;
      if (holder === undefined) this.#holders.delete(name);
      else this.#holders.set(name, holder);
      this.#rebuild();
    });
    this.#rebuild();
  }

  served(): ServedGroupVersions[] {
    return [...this.#peers.values()].map(({ served }) => served);
  }

  addressesServing(groupVersion: string, resource: string): string[] {
    return [...this.#peers.values()]
      .filter(({ served }) => served[groupVersion]?.includes(resource) === true)
      .map(({ address }) => address);
  }

  /** One at a time, as one worker does it. */
  #rebuild(attempt = 0): void {
    this.#rebuilding = this.#rebuilding.then(async () => {
      const { peers, failed } = await this.#readAll();
      this.#peers = peers;
      // At most 20 tries, 5 ms doubling each time (peer_discovery.go).
      if (!failed || attempt >= 20) return;
      void sleep(5 * 2 ** attempt, undefined, { ref: false }).then(() => this.#rebuild(attempt + 1));
    });
  }

  async #readAll(): Promise<{ readonly peers: Map<string, Peer>; readonly failed: boolean }> {
    const peers = new Map<string, Peer>();
    let failed = false;
    for (const { metadata } of this.#options.store.list(leases, 'kube-system')) {
      const { name = '', annotations = {} } = metadata;
      const address = annotations['kubernetes.io/peer-advertise-address'];
      if (name === this.#options.ownId || address === undefined) continue;
      try {
        peers.set(name, { address, served: await this.#read(address) });
      } catch {
        failed = true;
      }
    }
    return { peers, failed };
  }

  async #read(address: string): Promise<ServedGroupVersions> {
    const { certificateAuthority, frontProxyClient } = this.#options;
    const tls = { ca: certificateAuthority, ...frontProxyClient, servername: 'kubernetes.default.svc' };
    // Without a limit, as upstream has it, a silent peer would hold up all others.
    const { status, text } = await getText(`https://${address}${servedPath}`, tls, 2_000);
    if (status !== 200) throw new Error(`discovery request failed with status: ${status}`);
    return JSON.parse(text);
  }
}
