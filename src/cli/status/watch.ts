import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { countOf } from '../terminal/count-of.ts';

export const watchInterval = 2_000;
/** Cursor to the first line, and everything below it erased (ECMA-48 sections 8.3.21 and 8.3.39): what has scrolled stays. */
const eraseScreen = '\u001b[H\u001b[J';

/** Shows a text anew until the process is asked to end; on a terminal in the place of the last one. */
export async function watch(read: () => Promise<string>, context: CommandContext): Promise<void> {
  const stop = new AbortController();
  void context.shutdownSignal().then(() => stop.abort());
  while (!stop.signal.aborted) {
    // A router that restarts is missing for a moment: that is what one watches for.
    const text = await read().catch((error: unknown) => {
      if (!(error instanceof CommandFailure)) throw error;
      return `${error.lines.join('\n')}\n`;
    });
    const shown = `${new Date(context.clock()).toISOString()}\n${text}`;
    await context.writeOutput(
      context.outputIsTerminal ? `${eraseScreen}${screenOf(shown, context.outputHeight())}` : `${shown}\n`,
    );
    await sleep(watchInterval, undefined, { signal: stop.signal }).catch(() => undefined);
  }
}

/**
 * The beginning of a text, which has what matters most, as far as a terminal shows it: written whole it would scroll away,
 * again at every turn. Pure.
 */
export function screenOf(text: string, height: number): string {
  const lines = text.trimEnd().split('\n');
  // The cursor stands in the last one.
  const room = Math.max(height - 1, 2);
  if (lines.length <= room) return `${lines.join('\n')}\n`;
  const shown = lines.slice(0, room - 1);
  return `${shown.join('\n')}\n… ${countOf(lines.length - shown.length, 'more line')}: make the window higher\n`;
}
