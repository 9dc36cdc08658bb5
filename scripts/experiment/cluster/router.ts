import { join } from 'node:path';
import type { DemoCertificates } from '../../../demo/certificates.ts';
import { serveFlags } from '../../../demo/routers.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import type { Child } from '../../harness/child-process.ts';
import { commandModule, flagArguments } from '../../harness/command.ts';
import { getText } from '../../harness/get-text.ts';
import { waitUntil } from '../../harness/wait-until.ts';
import type { ApiServer } from './api-server.ts';
import { startScript } from './start-script.ts';

export interface RouterOptions {
  readonly name: string;
  readonly port: number;
  /** Whom it stands beside. */
  readonly apiServer: ApiServer;
  readonly certificates: DemoCertificates;
  readonly snapshotKeys: string;
  /** PEM of the authority that its certificate is of. */
  readonly certificateAuthority: string;
  readonly directory: string;
  /** Opens Node's inspector, so that the live heap can be measured. */
  readonly inspect: boolean;
}

/** `mixed-version-proxy serve` as a process, always at the same address. */
export class Router {
  readonly port: number;
  readonly name: string;
  readonly #options: RouterOptions;
  #process: Child | undefined;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.port = options.port;
    this.name = options.name;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** Where its standard error goes, from all of its lives. */
  get logFile(): string {
    return join(this.#options.directory, `${this.name}.log`);
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it without waiting until it serves. */
  async start(): Promise<void> {
    // Port 0: any free one, which Node says on standard error.
    const nodeFlags = this.#options.inspect ? ['--inspect=127.0.0.1:0'] : [];
    this.#process = await startScript({
      arguments: [...nodeFlags, commandModule, 'serve', ...this.#flags()],
      logFile: this.logFile,
    });
  }

  /** @throws when it is not ready within two minutes */
  async ready(): Promise<void> {
    const ca = this.#options.certificateAuthority;
    const isReady = async () => (await getText(`${this.url}/readyz`, { ca }, 2_000)).status === 200;
    await waitUntil(`${this.name} is ready (see its log)`, isReady, { every: 50 });
  }

  kill(): Promise<void> {
    return this.#process?.kill() ?? Promise.resolve();
  }

  #flags(): string[] {
    const { apiServer, certificates, snapshotKeys, directory, name, port } = this.#options;
    const common = serveFlags({
      apiServer,
      certificates,
      snapshotKeys,
      snapshotFile: join(directory, `${name}.snapshot`),
      logger: silentLogger,
    });
    return flagArguments({
      ...common,
      'secure-port': [String(port)],
      'logging-format': ['json'],
    });
  }
}
