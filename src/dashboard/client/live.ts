import { morph } from './morph.ts';
import { elementOf } from './page-elements.ts';
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
      say('lost', `Not live: ${error instanceof NotLive ? error.message : 'the router does not respond'}`);
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
  const response = await fetch(`live?${query}`, { cache: 'no-store', redirect: 'error', signal });
  if (!response.ok) {
    // kubectl proxy has a 500 of its own for a server that is gone.
    throw new NotLive(
      `the response is ${response.status}. The router may be down, or not let you in any more`,
    );
  }
  const part = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const id of ['sections', 'overview', 'explanation']) {
    const next = part.getElementById(id);
    // A log-in page, or a router of another release.
    if (next === null) throw new NotLive('what responds is not this page. Load it again');
    morph(elementOf(id, HTMLElement), next);
  }
  updateTimes();
}

class NotLive extends Error {}

/**
 * Tells the reader the state of the page. A page that is not live may show what is not so any more: colours that say
 * that all is well go (the stylesheet's `data-outdated`), times stand still, and a line says as of when the page is.
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
