import { morph } from './morph.ts';
import { elementOf, fetchPart, ResponseError } from './page-elements.ts';
import { stopTimes, timeOfDayText, updateTimes } from './times.ts';

/** Milliseconds between two updates, and at most between two attempts while there is no response. */
const interval = 2_000;
const longestPause = 30_000;
/** Milliseconds that one update may take. */
const timeout = 10_000;

/**
 * Keeps the page up to date: an update every two seconds while somebody can see it, ever longer pauses while the
 * router does not respond, none while the reader has paused it (WCAG 2.2, 2.2.2 Pause, Stop, Hide).
 */
export function keepUpToDate(): void {
  const toggle = elementOf('live-toggle', HTMLButtonElement);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let isPaused = false;
  let running: AbortController | undefined;

  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
    running?.abort();
    running = undefined;
  };
  const start = (): void => {
    stop();
    if (!isPaused && !document.hidden) void update();
  };

  async function update(): Promise<void> {
    const attempt = new AbortController();
    running = attempt;
    try {
      await updatePage(AbortSignal.any([attempt.signal, AbortSignal.timeout(timeout)]));
      failures = 0;
      say('live', 'Live');
    } catch (error) {
      // Stopped, not failed.
      if (attempt.signal.aborted) return;
      failures += 1;
      say('lost', describeFailure(error));
    }
    if (attempt.signal.aborted) return;
    timer = setTimeout(update, Math.min(longestPause, interval * 2 ** Math.min(failures, 10)));
  }

  toggle.hidden = false;
  toggle.addEventListener('click', () => {
    isPaused = !isPaused;
    toggle.textContent = isPaused ? 'Resume updates' : 'Pause updates';
    if (isPaused) say('paused', 'Paused');
    start();
  });
  document.addEventListener('visibilitychange', start);
  addEventListener('online', start);
  say('live', 'Live');
  timer = setTimeout(start, interval);
}

async function updatePage(signal: AbortSignal): Promise<void> {
  // With the request that the page explains.
  const query = new URLSearchParams(location.search);
  query.set('generation', elementOf('overview', HTMLElement).dataset['generation'] ?? '');
  const part = await fetchPart(`live?${query}`, signal);
  for (const id of ['sections', 'overview', 'explanation']) {
    const next = part.getElementById(id);
    if (next === null) throw new NotThisPage();
    morph(elementOf(id, HTMLElement), next);
  }
  updateTimes();
}

/** A response with 200 that is something else: a log-in page, or a router of another release. */
class NotThisPage extends Error {}

/**
 * What the page shows is not so any more, or nobody knows: colours that say that all is well go (the stylesheet's
 * `data-outdated`), times stand still, and a line says as of when it is.
 */
function say(state: 'live' | 'lost' | 'paused', text: string): void {
  const element = elementOf('live-state', HTMLElement);
  if (element.dataset['state'] !== state) element.dataset['state'] = state;
  if (element.textContent !== text) element.textContent = text;
  const isLive = state === 'live';
  document.body.toggleAttribute('data-outdated', !isLive);
  stopTimes(!isLive);
  const outdated = elementOf('outdated', HTMLElement);
  outdated.hidden = isLive;
  if (isLive) return;
  const at = timeOfDayText(Number(elementOf('overview', HTMLElement).dataset['now']));
  const line = `Everything below is as of ${at}. It may have changed since.`;
  if (outdated.textContent !== line) outdated.textContent = line;
}

function describeFailure(error: unknown): string {
  if (error instanceof NotThisPage) return 'Not live: what responds is not this page. Load it again';
  if (!(error instanceof ResponseError)) return 'Not live: the router does not respond';
  const { status, isRouters } = error;
  if (!isRouters) {
    return `Not live: something before the router, such as kubectl proxy, responds with ${status}. The router may be down`;
  }
  return status === 401 || status === 403
    ? 'Not live: the router does not let you in any more'
    : `Not live: the router responds with ${status}`;
}
