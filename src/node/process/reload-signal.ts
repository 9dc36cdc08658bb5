/**
 * Calls `listener` for each SIGHUP, which asks a daemon to read its files again. From then on the signal does not
 * end the process any more, as it does without a listener.
 */
export function onReloadSignal(listener: () => void): void {
  process.on('SIGHUP', listener);
}
