import type { ChildProcess } from 'node:child_process';

const signals = ['SIGINT', 'SIGTERM'] as const;

export type ShutdownSignal = (typeof signals)[number];

/**
 * Milliseconds within which a second signal counts as the first one heard twice: a terminal sends Ctrl-C to every
 * process of the group, and a launcher that passes it on as well cannot always know.
 */
const echo = 500;

/**
 * Exit codes that a shell reports for a process that the signal itself has ended: 128 and the signal's number (POSIX).
 */
const exitCodes: Readonly<Record<ShutdownSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/**
 * Waits for the first signal that asks the process to end. From then on a second one ends it at once, as with every
 * Kubernetes component (k8s.io/apiserver pkg/server/signal.go, which exits with 1 whichever it was).
 */
export function shutdownSignal(): Promise<ShutdownSignal> {
  return new Promise((resolve) => {
    let receivedAt: number | undefined;
    for (const signal of signals) {
      process.on(signal, () => {
        if (receivedAt === undefined) {
          receivedAt = performance.now();
          resolve(signal);
        } else if (performance.now() - receivedAt > echo) {
          endNow(exitCodes[signal]);
        }
      });
    }
  });
}

/** Milliseconds for what a command has left behind. */
const spare = 1_000;

/** Has the process end with this code, though a file system hangs that one of its files is on. */
export function endWith(code: number): void {
  process.exitCode = code;
  // Of no effect where nothing is left that the process waits for.
  setTimeout(() => endNow(code), spare).unref();
}

/**
 * `process.exit` waits for libuv's threads, of which a hung file system keeps one for as long as it hangs. Another program in
 * the place of this one ends them; a signal would not, for the first process of a container gets none that it does not hear.
 */
function endNow(code: number): void {
  process.execve?.(process.execPath, [process.execPath, '--eval', `process.exit(${code})`], {});
  // Where there is no execve (Windows): better late than never.
  process.exit(code);
}

/** SIGHUP asks a daemon to read its files again. From then on it does not end the process any more. */
export function onReloadSignal(listener: () => void): void {
  process.on('SIGHUP', listener);
}

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
    // Loaded where it is needed: each command loads this file.
    const { spawn } = process.getBuiltinModule('node:child_process');
    // The shell's errors are in the journal of the unit.
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
