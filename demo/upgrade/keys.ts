/** Request that a key asks for. */
export type Action =
  | { readonly kind: 'leave' }
  | { readonly kind: 'upgrade' }
  /** Shows what the rows mean in place of what has happened, or the other way round. */
  | { readonly kind: 'explain' }
  /** Stops the server, or starts it. */
  | { readonly kind: 'toggle'; readonly server: number };

/**
 * The actions of what was typed: a terminal in raw mode may hand over several keys at once. Pure.
 * @param servers how many there are
 */
export function actionsOf(typed: string, servers: number): Action[] {
  return [...typed].flatMap((key): Action[] => {
    // Raw mode makes no signals: these are Ctrl-C and Ctrl-D.
    if (key === 'q' || key === '\u0003' || key === '\u0004') return [{ kind: 'leave' }];
    if (key === 'u') return [{ kind: 'upgrade' }];
    if (key === '?') return [{ kind: 'explain' }];
    const server = Number(key) - 1;
    return /[1-9]/.test(key) && server < servers ? [{ kind: 'toggle', server }] : [];
  });
}
