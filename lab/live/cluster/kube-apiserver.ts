import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CertificatePaths, frontProxyName } from '../../../demo/certificates.ts';
import { type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { ApiServerBinary } from './assets.ts';
import type { LiveCertificates } from './certificates.ts';
import { endOfLog, type LoggedProcess, startLoggedProcess } from './logged-process.ts';

/** How long a server that shuts down in order is waited for before it is killed, as a kubelet would. Milliseconds. */
const shutdownGrace = 30_000;

export interface KubeApiServerOptions {
  /** `a`: for the log. */
  readonly name: string;
  /** That it sees, and makes its identity of. */
  readonly hostName: string;
  /** The ID under which routers and the sync job know it, whatever its binary. */
  readonly serverId: string;
  readonly address: string;
  readonly port: number;
  readonly etcdUrl: string;
  readonly certificates: LiveCertificates;
  readonly servingCertificate: CertificatePaths;
  /** True if the server's address may stand in the endpoints of `default/kubernetes`. */
  readonly hasEndpoint: boolean;
  readonly logFile: string;
  /** Shown to the server's `/readyz`. */
  readonly credentials: TlsCredentials;
  /** Flags that depend on the binary. */
  flagsFor(binary: ApiServerBinary): readonly string[];
}

/** A real kube-apiserver at a fixed address; what runs there may change its version. */
export interface KubeApiServer {
  readonly name: string;
  /** The ID under which routers and the sync job know it, whatever its binary. */
  readonly serverId: string;
  readonly url: string;
  readonly address: string;
  readonly port: number;
  /** That runs, or ran last. */
  binary(): ApiServerBinary;
  isRunning(): boolean;
  /** Starts it without waiting for it to become ready. */
  launch(binary: ApiServerBinary): Promise<void>;
  /** Resolves once `/readyz` says so. */
  untilReady(): Promise<void>;
  /**
   * As a kubelet does: SIGTERM, then SIGKILL.
   * @param grace milliseconds between them. Default: the kubelet's
   * @returns whether SIGTERM was enough
   */
  stop(grace?: number): Promise<boolean>;
  /** SIGKILL: it leaves its Lease and its endpoint behind. */
  kill(): Promise<void>;
  /** SIGSTOP, and SIGCONT so many milliseconds later: it keeps its connections and answers nothing meanwhile. */
  standStill(milliseconds: number): Promise<void>;
}

export function createKubeApiServer(options: KubeApiServerOptions, first: ApiServerBinary): KubeApiServer {
  const { name, address, port, hostName, serverId } = options;
  const url = `https://${address}:${port}`;
  let running: LoggedProcess | undefined;
  let binary = first;
  return {
    name,
    serverId,
    url,
    address,
    port,
    binary: () => binary,
    isRunning: () => running?.isRunning() === true,
    async launch(next) {
      if (running?.isRunning() === true) throw new Error(`kube-apiserver ${name} still runs`);
      binary = next;
      const { command, args } = withHostName(hostName, binary.path, apiServerArguments(options, binary));
      running = await startLoggedProcess({
        name: `kube-apiserver ${name}`,
        command,
        args,
        logFile: options.logFile,
      });
    },
    async untilReady() {
      await waitUntil(`kube-apiserver ${name} (${binary.version}) is ready`, async () => {
        if (running?.isRunning() !== true) {
          throw new Error(running === undefined ? `${name} was not started` : endOfLog(running));
        }
        return (await tlsRequest(`${url}/readyz`, options.credentials)).statusCode === 200;
      });
    },
    stop: async (grace = shutdownGrace) => (await running?.stop(grace)) ?? true,
    kill: async () => running?.kill(),
    async standStill(milliseconds) {
      const pid = running?.pid;
      if (pid === undefined) return;
      process.kill(pid, 'SIGSTOP');
      await sleep(milliseconds);
      process.kill(pid, 'SIGCONT');
    },
  };
}

function apiServerArguments(options: KubeApiServerOptions, binary: ApiServerBinary): readonly string[] {
  const { certificates, servingCertificate, address, port, etcdUrl } = options;
  const { frontProxyClient, serviceAccount } = certificates;
  return [
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    `--secure-port=${port}`,
    `--etcd-servers=${etcdUrl}`,
    `--tls-cert-file=${servingCertificate.certificate}`,
    `--tls-private-key-file=${servingCertificate.privateKey}`,
    `--client-ca-file=${certificates.clusterCa}`,
    `--service-account-key-file=${serviceAccount.publicKey}`,
    `--service-account-signing-key-file=${serviceAccount.privateKey}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--requestheader-client-ca-file=${certificates.frontProxyCa}`,
    `--requestheader-allowed-names=${frontProxyName}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${frontProxyClient.certificate}`,
    `--proxy-client-key-file=${frontProxyClient.privateKey}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    // The endpoints of default/kubernetes may not hold loopback addresses: nothing could be written there.
    ...(options.hasEndpoint ? [] : ['--endpoint-reconciler-type=none']),
    ...options.flagsFor(binary),
    ...(binary.flags ?? []),
  ];
}

/**
 * kube-apiserver makes its identity of its host name, which servers on one machine share. Where the system lets
 * everybody have UTS namespaces, each gets a name of its own, as on nodes of its own.
 */
function withHostName(
  hostName: string,
  path: string,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  const unshare = ['--user', '--map-root-user', '--uts', '/bin/sh', '-c'];
  canUnshare ??= spawnSync('unshare', [...unshare, 'hostname live'], { stdio: 'ignore' }).status === 0;
  return canUnshare
    ? { command: 'unshare', args: [...unshare, `hostname ${hostName}; exec "$0" "$@"`, path, ...args] }
    : { command: path, args };
}

let canUnshare: boolean | undefined;
