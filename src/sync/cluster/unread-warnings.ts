/** Whether the objects of a kind can be read. */
interface WatchedKind {
  /** In the plural. Several watches may be of one kind. */
  readonly kind: string;
  /** Why they cannot be read; `undefined` if they can. */
  readonly failure: string | undefined;
  /** Whether they have ever been read. */
  readonly isKnown: boolean;
}

/** A warning for each reason why something cannot be read: what has one cause is told once. Pure. */
export function unreadWarnings(watched: readonly WatchedKind[]): readonly string[] {
  const failed = watched.filter(({ failure }) => failure !== undefined);
  // Before the first list there is no last known state to use.
  const groups = Map.groupBy(failed, ({ failure, isKnown }) => `${isKnown} ${failure}`);
  return [...groups.values()].map((alike) => {
    const isAll = alike.length === watched.length;
    const subject = isAll ? 'the cluster' : listed(new Set(alike.map(({ kind }) => kind)));
    const [{ failure, isKnown } = { failure: '', isKnown: false }] = alike;
    const use = isKnown ? `, so ${isAll ? 'its' : 'their'} last known state is used` : '';
    return `${subject} cannot be read${use}: ${failure}`;
  });
}

function listed(kinds: ReadonlySet<string>): string {
  const names = [...kinds];
  const last = names.pop() ?? '';
  return names.length === 0 ? last : `${names.join(', ')} and ${last}`;
}
