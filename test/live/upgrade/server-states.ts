import { setTimeout as sleep } from 'node:timers/promises';
import { exclusivePaths } from '../exclusive-resources.ts';
import type { KubeApiServer } from '../kube-apiserver.ts';
import { type TlsCredentials, tlsRequest } from '../tls-request.ts';
import type { ServedPaths } from './served-loop.ts';

/** Of a server that does not respond yet. Milliseconds. */
const retryPause = 25;

/** What the servers of an upgrade serve, by their own answers, and which of them are there. */
export interface ServerStates extends ServedPaths {
  /** It is ready in the version that it runs: what that serves is there from now on, also while it is away. */
  ready(server: KubeApiServer): void;
  /** It was started in another version: what it served before may be gone. */
  launched(server: KubeApiServer): void;
  stopped(server: KubeApiServer): void;
  /** Learns what a version serves from this server, once that responds. */
  learn(server: KubeApiServer): Promise<void>;
  /** A path that `version` serves and `before` does not; `undefined` while that is not known. */
  pathOf(version: string, before: string): string | undefined;
  /** A server that is ready, of this minor version or a newer one. */
  readyServer(since: number): KubeApiServer | undefined;
}

export function createServerStates(credentials: TlsCredentials): ServerStates {
  const servedBy = new Map<string, ReadonlySet<string>>();
  /** The version that each server is counted as. */
  const versions = new Map<string, string>();
  const up = new Set<KubeApiServer>();
  return {
    ready(server) {
      up.add(server);
      versions.set(server.name, server.binary().version);
    },
    launched: (server) => void versions.delete(server.name),
    stopped: (server) => void up.delete(server),
    async learn(server) {
      const { version } = server.binary();
      if (servedBy.has(version)) return;
      const served = new Set<string>();
      for (const path of exclusivePaths) {
        let statusCode = 0;
        while (statusCode !== 200 && statusCode !== 404) {
          const answer = await tlsRequest(`${server.url}${path}`, credentials).catch(() => undefined);
          statusCode = answer?.statusCode ?? 0;
          if (statusCode === 0) await sleep(retryPause);
        }
        if (statusCode === 200) served.add(path);
      }
      servedBy.set(version, served);
    },
    pathOf(version, before) {
      const [served, lacking] = [servedBy.get(version), servedBy.get(before)];
      if (served === undefined || lacking === undefined) return undefined;
      return [...served].find((path) => !lacking.has(path));
    },
    readyServer: (since) => [...up].find((server) => server.binary().minor >= since),
    paths() {
      const all = [...servedBy.values()];
      const paths = [...new Set(all.flatMap((served) => [...served]))];
      const differing = paths.filter((path) => all.some((served) => !served.has(path)));
      return differing.length > 0 ? differing : paths;
    },
    isServed: (path) => [...versions.values()].some((version) => servedBy.get(version)?.has(path) === true),
  };
}
