import { showsColors } from '../../src/cli/terminal/command-context.ts';

/** Where an upgrade is shown. */
export interface UpgradeTerminal {
  /** Somebody can press keys and sees a screen; otherwise lines are written, one after the other. */
  readonly isInteractive: boolean;
  readonly isColored: boolean;
  /** How many lines the screen has now. */
  readonly height: () => number;
  readonly write: (text: string) => void;
  /**
   * Takes the whole screen and the keys; `onKeys` is told what is typed.
   * @returns what gives both back
   */
  readonly open: (onKeys: (typed: string) => void) => () => void;
}

/** XTerm's control sequences: alternate screen, cursor, and lines that are cut instead of wrapped. */
const openScreen = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const closeScreen = '\u001b[?7h\u001b[?25h\u001b[?1049l';

/** A screen that is drawn over the one before: each line up to its end, then what is below. Pure. */
export function repainted(screen: string): string {
  return `\u001b[H${screen.replaceAll('\n', '\u001b[K\n')}\u001b[J`;
}

/** The terminal of this process. */
export function processTerminal(): UpgradeTerminal {
  const { stdin, stdout } = process;
  const write = (text: string): void => void stdout.write(text);
  return {
    isInteractive: stdin.isTTY === true && stdout.isTTY === true,
    isColored: showsColors(),
    // A terminal that does not know its size says 0.
    height: () => (stdout.rows > 0 ? stdout.rows : 24),
    write,
    open: (onKeys) => {
      const listener = (data: Buffer): void => onKeys(data.toString('utf8'));
      stdin.setRawMode(true);
      stdin.on('data', listener);
      write(openScreen);
      return () => {
        write(closeScreen);
        stdin.off('data', listener);
        stdin.setRawMode(false);
        stdin.pause();
      };
    },
  };
}
