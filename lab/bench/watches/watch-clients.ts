import { parse } from 'valibot';
import { type Child, startChild } from '../../../test/support/commands/child-process.ts';
import type { Workbench } from '../workbench.ts';
import { type Arrivals, arrivalsSchema } from './watch-results.ts';

export interface WatchOptions {
  readonly url: string;
  readonly watches: number;
  /** Watches that share an HTTP/2 connection; 0 for HTTP/1.1, which gives each its own. */
  readonly perConnection: number;
  readonly core: number | undefined;
}

/** A process that holds many watches open. */
export class WatchClients {
  readonly #child: Child;

  private constructor(child: Child) {
    this.#child = child;
  }

  /** Resolves once every watch has had its first event. @throws when one fails. */
  static async open(workbench: Workbench, options: WatchOptions): Promise<WatchClients> {
    const { certificates, goPrograms } = workbench;
    const command = {
      executable: goPrograms,
      arguments: [
        'watches',
        `-certificate=${certificates.alice.certificate}`,
        `-key=${certificates.alice.privateKey}`,
        `-authority=${certificates.clusterCa}`,
        `-url=${options.url}`,
        `-watches=${options.watches}`,
        `-per-connection=${options.perConnection}`,
        '-deadline=180s',
      ],
    };
    const clients = new WatchClients(await startChild(command, options.core));
    try {
      await clients.#child.nextLine(200_000);
      return clients;
    } catch (error) {
      await clients.close();
      throw error;
    }
  }

  /** Has `send` make the server send one event to all, and waits for them. @throws when one does not come. */
  async receive(send: () => void): Promise<Arrivals> {
    this.#child.tell('expect');
    await this.#child.nextLine();
    send();
    return parse(arrivalsSchema, JSON.parse(await this.#child.nextLine(200_000)));
  }

  close(): Promise<void> {
    return this.#child.stop();
  }
}
