import type { HistoryView } from '../own-paths/history/history-view.ts';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';

/** Everything that the status page shows, at one moment. */
export interface PageState {
  readonly status: RouterStatus;
  /** The last hour; `undefined` where none is kept. */
  readonly history: HistoryView | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}
