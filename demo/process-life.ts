import type { ChildProcess } from 'node:child_process';

/** State of a child process, and the ways to end it. */
export interface ProcessLife {
  isRunning(): boolean;
  /** Exit code of the process once it is gone; `null` when a signal ended it. Its outputs may still hold something. */
  readonly ended: Promise<number | null>;
  /**
   * SIGTERM, and SIGKILL once `grace` milliseconds are over; resolves when it is gone.
   * @returns whether SIGTERM was enough
   */
  stop(grace: number): Promise<boolean>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Follows a child from its start on. Whatever ends this process ends the child, too. */
export function lifeOf(child: ChildProcess): ProcessLife {
  const killAtExit = (): boolean => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      process.off('exit', killAtExit);
      resolve(code);
    });
  });
  // One that could not be started has no process ID, and never an `exit` event.
  const isRunning = (): boolean =>
    child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    isRunning,
    ended,
    async stop(grace) {
      if (!isRunning()) return true;
      let wasEnough = true;
      const timer = setTimeout(() => {
        wasEnough = false;
        child.kill('SIGKILL');
      }, grace);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(timer);
      return wasEnough;
    },
    async kill() {
      if (!isRunning()) return;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
