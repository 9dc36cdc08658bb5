import { type ChildProcess, spawn } from 'node:child_process';

/** One `systemd-notify` for each line that it is given. Ends with this process, for its standard input ends then. */
const notifyEachLine = 'while read -r state; do systemd-notify "$state"; done';

/**
 * Tells systemd again and again that the event loop turns: a unit with `WatchdogSec=` is started again when nothing is heard
 * for that long (sd_watchdog_enabled(3)). systemd hears of it at a datagram socket of Unix, which Node cannot send to, so its
 * own command does that. A shell runs it, started once: with the memory of a router that serves, each fork takes long.
 *
 * `WATCHDOG_PID` is not looked at: it is that of the launcher, where that runs another Node than its own.
 */
export function keepWatchdog(environment: Readonly<Record<string, string | undefined>>): void {
  const { WATCHDOG_USEC: microseconds, NOTIFY_SOCKET: socket } = environment;
  if (!microseconds || !socket) return;
  let shell: ChildProcess | undefined;
  const start = (): ChildProcess => {
    // What it cannot do is in the journal of the unit.
    const child = spawn('/bin/sh', ['-c', notifyEachLine], { stdio: ['pipe', 'ignore', 'inherit'] });
    const forget = (): void => {
      if (shell === child) shell = undefined;
    };
    child.on('error', forget).on('close', forget).unref();
    child.stdin.on('error', forget);
    return child;
  };
  const tell = (): void => {
    shell ??= start();
    shell.stdin?.write('WATCHDOG=1\n');
  };
  tell();
  // systemd asks for half of its time; a third allows for one that comes late.
  setInterval(tell, Number(microseconds) / 1_000 / 3).unref();
}
