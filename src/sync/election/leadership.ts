/** Whether this sync job is the one that delivers. */
export interface Leadership {
  isLeader(): boolean;
  /** Calls `listener` when a term begins or ends. @returns a function that ends it */
  onChange(listener: (isLeader: boolean) => void): () => void;
}

/** The leadership of a sync job that runs alone. */
export const soleLeader: Leadership = { isLeader: () => true, onChange: () => () => {} };
