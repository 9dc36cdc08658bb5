import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { startLoggedProcess } from './logged-process.ts';

/** Milliseconds. */
const stopGrace = 2_000;

/** HAProxy in the foreground, and the socket at which it takes commands. */
export interface Haproxy {
  /** @returns its answer to a line of commands, with `;` between them */
  ask(commands: string): Promise<string>;
  close(): Promise<void>;
}

/** Resolves once it takes commands. @param configuration without the section `global` */
export async function startHaproxy(directory: string, configuration: string): Promise<Haproxy> {
  const [file, socket] = [join(directory, 'haproxy.cfg'), join(directory, 'haproxy.sock')];
  await writeFile(file, `global\n  nbthread 1\n  stats socket ${socket} level admin\n${configuration}`);
  const haproxy = await startLoggedProcess({
    name: 'haproxy',
    command: 'haproxy',
    args: ['-db', '-f', file],
    logFile: join(directory, 'haproxy.log'),
  });
  const ask = (commands: string) => askHaproxy(socket, commands);
  await waitUntil('haproxy takes commands', async () => {
    if (!haproxy.isRunning()) throw new Error(haproxy.log());
    return (await ask('show info').catch(() => '')) !== '';
  });
  return {
    ask,
    close: async () => {
      await haproxy.stop(stopGrace);
    },
  };
}

/** @returns the answer that comes at its runtime socket */
export function askHaproxy(socket: string, commands: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    connect(socket)
      .setEncoding('utf8')
      .on('data', (data) => {
        text += data;
      })
      .on('end', () => resolve(text))
      .on('error', reject)
      .end(`${commands}\n`);
  });
}
