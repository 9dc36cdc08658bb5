import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, rmdir, stat } from 'node:fs/promises';
import { errorMessage } from '../../runtime/error-message.ts';
import { type HostFiles, hostFiles } from './host-files.ts';
import { type SystemdPaths, systemdPaths } from './systemd-files.ts';

/** What a command of the machine ended with. */
export interface CommandResult {
  /** 127, as a shell has it, when there is no such command. */
  readonly code: number;
  /** What it wrote to both streams, without the last line break. */
  readonly output: string;
}

/** What an installation touches of a machine with systemd. */
export interface SystemdHost extends HostFiles {
  readonly paths: SystemdPaths;
  readonly isRoot: boolean;
  /** Whether systemd is what this machine was started with (sd_booted(3)). */
  isBooted(): Promise<boolean>;
  isExecutable(path: string): Promise<boolean>;
  /** Runs systemctl and its like. It never throws: a command that fails says so in its result. */
  run(command: string, ...args: readonly string[]): Promise<CommandResult>;
  /** Removes a folder if nothing is left in it. */
  removeEmptyFolder(path: string): Promise<void>;
}

export interface SystemdHostOptions {
  /** Stands before every path, in a test. Default: none. */
  readonly root?: string;
  /** Where commands are looked for. Default: the process's own. */
  readonly path?: string;
  /** Default: whether the process is root's. */
  readonly isRoot?: boolean;
}

export function systemdHost({
  root = '',
  path,
  isRoot = process.getuid?.() === 0,
}: SystemdHostOptions = {}): SystemdHost {
  const env = path === undefined ? process.env : { ...process.env, PATH: path };
  return {
    ...hostFiles(),
    paths: systemdPaths(root),
    isRoot,
    isBooted: () =>
      stat(`${root}/run/systemd/system`).then(
        (found) => found.isDirectory(),
        () => false,
      ),
    isExecutable: (file) =>
      access(file, constants.X_OK).then(
        () => true,
        () => false,
      ),
    run: (command, ...args) =>
      new Promise((resolve) => {
        execFile(command, args, { env }, (error, stdout, stderr) => {
          const output = `${stdout}${stderr}`.trimEnd();
          if (error === null) resolve({ code: 0, output });
          else if (error.code === 'ENOENT') resolve({ code: 127, output: `${command} is not there` });
          else {
            const code = typeof error.code === 'number' ? error.code : 1;
            resolve({ code, output: output === '' ? errorMessage(error) : output });
          }
        });
      }),
    async removeEmptyFolder(folder) {
      // Somebody else's files in it, or no such folder: then it is not this program's to remove.
      await rmdir(folder).catch(() => {});
    },
  };
}
