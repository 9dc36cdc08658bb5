const signals = ['SIGINT', 'SIGTERM'] as const;

/** A signal that asks the process to end. */
export type ShutdownSignal = (typeof signals)[number];

/**
 * Waits for the first signal that asks the process to end. From then on a second one ends it at once with code 1,
 * as with every Kubernetes component (k8s.io/apiserver pkg/server/signal.go).
 */
export function shutdownSignal(): Promise<ShutdownSignal> {
  return new Promise((resolve) => {
    let received = false;
    for (const signal of signals) {
      process.on(signal, () => {
        if (received) process.exit(1);
        received = true;
        resolve(signal);
      });
    }
  });
}
