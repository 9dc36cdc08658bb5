const signals = ['SIGINT', 'SIGTERM'] as const;

export type ShutdownSignal = (typeof signals)[number];

/**
 * Milliseconds within which a second signal counts as the first one heard twice: a terminal sends Ctrl-C to every
 * process of the group, and a launcher that passes it on as well cannot always know.
 */
const echo = 500;

/** What a shell reports for a process that the signal itself has ended: 128 and the signal's number (POSIX). */
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
          process.exit(exitCodes[signal]);
        }
      });
    }
  });
}

/** SIGHUP asks a daemon to read its files again. From then on it does not end the process any more. */
export function onReloadSignal(listener: () => void): void {
  process.on('SIGHUP', listener);
}
