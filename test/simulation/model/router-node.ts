import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readServeInput } from '../../../src/cli/serve/serve-input.ts';
import type { RunningRouter, ServeConfig } from '../../../src/node/configuration/serve-config.ts';
import type { ConfigurationSource } from '../../../src/node/credentials/credentials.ts';
import { memoryForOthers } from '../../../src/node/exchange/serving-limits.ts';
import { startRouter } from '../../../src/node/process/start-router.ts';
import type { PreferredVersion } from '../../../src/routing/decision.ts';
import { openEmbeddedSync } from '../../../src/sync/node/embedded-sync.ts';
import { commandContext } from '../../support/commands/command-context.ts';
import type { Machine } from '../virtual/virtual-time.ts';
import { files } from './access.ts';
import { Disk } from './disk.ts';
import { Front } from './front.ts';
import { poolsOf } from './pool.ts';
import { clientsOf } from './reader-client.ts';
import type { World } from './world.ts';

export type Form = 'embedded' | 'pushed';

export const routerCount = 3;

/** The files that a control-plane node has at the start, by path. */
export function filesOfNode(index: number | 'sync'): ReadonlyMap<string, string> {
  const server = `https://10.0.0.${index === 'sync' ? 1 : index + 1}:6443`;
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority': '/pki/ca.crt' } }],
    users: [{ name: 'u', user: { tokenFile: '/pki/token' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  return new Map([
    ['/pki/ca.crt', files.authorities['A'] ?? ''],
    ['/pki/front.crt', files.frontAuthority],
    ['/pki/serving.crt', files.serving.certificate],
    ['/pki/serving.key', files.serving.key],
    ['/pki/proxy.crt', files.proxy.certificate],
    ['/pki/proxy.key', files.proxy.key],
    ['/pki/token', 'reader-token-1'],
    ['/pki/kubeconfig', JSON.stringify(kubeconfig)],
    ['/pki/snapshot-keys', files.snapshotKeys],
  ]);
}

interface Configured {
  readonly config: ServeConfig;
  readonly source: ConfigurationSource;
}

/** Files of the node whose configuration is being read: configurations are made once, and read again in runs. */
let filesNow: ReadonlyMap<string, string> = new Map();

async function configuredFor(index: number, form: Form): Promise<Configured> {
  filesNow = filesOfNode(index);
  const address = `10.0.0.${index + 1}`;
  const { context, written } = commandContext(new Map());
  const reading =
    form === 'embedded' ? { kubeconfig: ['/pki/kubeconfig'] } : { 'snapshot-keys': ['/pki/snapshot-keys'] };
  const readFile = (path: string): string => textOf(filesNow, path);
  const { config, configurationSource } = await readServeInput(
    {
      issues: [],
      flags: {
        'server-id': [`apiserver-${index}`],
        'local-server': [`https://${address}:6443`],
        'bind-address': [address],
        'secure-port': ['8443'],
        'tls-cert-file': ['/pki/serving.crt'],
        'tls-private-key-file': ['/pki/serving.key'],
        'client-ca-file': ['/pki/ca.crt'],
        'peer-ca-file': ['/pki/ca.crt'],
        'proxy-client-cert-file': ['/pki/proxy.crt'],
        'proxy-client-key-file': ['/pki/proxy.key'],
        'requestheader-client-ca-file': ['/pki/front.crt'],
        'requestheader-allowed-names': ['front-proxy-client'],
        'snapshot-file': [join(tmpdir(), `simulated-snapshot-${index}`)],
        ...reading,
      },
    },
    { ...context, readFile },
  );
  if (written.errors !== '' && !written.errors.includes('warning')) throw new Error(written.errors);
  return { config, source: configurationSource };
}

export function textOf(all: ReadonlyMap<string, string>, path: string): string {
  const text = all.get(path);
  if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  return text;
}

const configured: Readonly<Record<Form, readonly Configured[]>> = {
  embedded: [],
  pushed: [],
};
for (const form of ['embedded', 'pushed'] as const) {
  const all: Configured[] = [];
  for (let index = 0; index < routerCount; index++) all.push(await configuredFor(index, form));
  Object.assign(configured, { [form]: all });
}

/** A control-plane node's router: its process, which may end and start again, and its disk, which stays. */
export class RouterNode {
  readonly index: number;
  readonly node: string;
  readonly origin: string;
  readonly front: Front;
  readonly disk: Disk;
  readonly files: Map<string, string>;
  /** Virtual time of the last start. */
  startedAt = 0;
  starts = 0;
  machine: Machine | undefined;
  #router: RunningRouter | undefined;
  readonly #world: World;

  constructor(world: World, index: number) {
    this.#world = world;
    this.index = index;
    this.node = `r${index}`;
    this.origin = `https://10.0.0.${index + 1}:8443`;
    this.front = new Front(world, this.node, this.origin);
    this.disk = new Disk(world, this.node);
    this.files = new Map(filesOfNode(index));
  }

  start(): void {
    const { form, preferredVersion, run } = this.#world;
    const found = configured[form][this.index];
    if (found === undefined) throw new RangeError('no such router');
    const machine = this.#world.newMachine(this.node);
    this.machine = machine;
    this.startedAt = run.now;
    this.starts++;
    run.log(`${this.node} starts`);
    const config = withPreference(found.config, preferredVersion);
    const read: ConfigurationSource['read'] = async (texts) => {
      filesNow = this.files;
      return withPreference(await found.source.read(texts), preferredVersion);
    };
    const address = `10.0.0.${this.index + 1}`;
    const edge = {
      openServer: this.front.serverFor(machine),
      openPool: poolsOf(this.#world, machine),
      openClient: clientsOf(this.#world, machine),
      openStore: this.disk.storeFor(machine),
      readFile: (path: string) => textOf(this.files, path),
      networkInterfaces: () => ({ eth0: [interfaceAt(address)] }),
      machine: { usableMemory: 4 * 1024 ** 3, memory: memoryForOthers, openFiles: () => 65_536 },
    };
    run.after(
      1,
      () => {
        startRouter(config, this.#world.loggerOf(this.node), {
          openEmbeddedSync,
          configurationSource: { read },
          edge,
        }).then(
          (router) => {
            this.#router = router;
          },
          (error: unknown) =>
            this.#world.invariants.violated('start', `${this.node} does not start: ${error}`),
        );
      },
      machine,
    );
  }

  /** @param isTorn the file that is being written is left half */
  kill(isTorn: boolean): void {
    const { machine, front } = this;
    if (machine === undefined) return;
    this.#world.run.log(`${this.node} gets SIGKILL`);
    this.disk.crashed(isTorn);
    machine.alive = false;
    this.machine = undefined;
    front.ended();
    this.#world.network.breakAll(machine);
  }

  /** SIGTERM. */
  terminate(): void {
    const { machine } = this;
    const router = this.#router;
    if (machine === undefined || router === undefined) return;
    const { run, network } = this.#world;
    run.log(`${this.node} gets SIGTERM`);
    run.after(
      0,
      () => {
        void router.shutdown().then(() => {
          run.log(`${this.node} has ended`);
          machine.alive = false;
          if (this.machine === machine) this.machine = undefined;
          this.front.ended();
          network.breakAll(machine);
        });
      },
      machine,
    );
  }

  get isRunning(): boolean {
    return this.machine !== undefined;
  }
}

function withPreference(config: ServeConfig, preferredVersion: PreferredVersion): ServeConfig {
  const { settings } = config;
  return { ...config, settings: { ...settings, routing: { ...settings.routing, preferredVersion } } };
}

function interfaceAt(address: string) {
  const family = 'IPv4' as const;
  return { address, netmask: '255.255.255.0', family, mac: '00:00:00:00:00:00', internal: false, cidr: null };
}
