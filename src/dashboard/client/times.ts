import { durationText } from '../../runtime/duration-text.ts';
import { elementOf } from './page-elements.ts';

/** Lets ages count on between two updates, and shows times of day in the reader's time zone. */
export function tellTimes(): void {
  updateTimes();
  setInterval(updateTimes, 1000);
}

/** As logs write it, with the zone: half of an incident's times are in UTC. */
const timeOfDay = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
});
/** Milliseconds that the router's clock is ahead of this one. */
let clockDifference = 0;
let lastHeard: string | undefined;
let areStopped = false;

/** While the router is not heard of, nobody knows whether anything has grown older, or has been made anew. */
export function stopTimes(stop: boolean): void {
  areStopped = stop;
  updateTimes();
}

/** A moment of the router's clock in the reader's time zone. @param at milliseconds since the epoch */
export function timeOfDayText(at: number): string {
  return timeOfDay.format(at);
}

export function updateTimes(): void {
  const heard = elementOf('overview', HTMLElement).dataset['now'];
  if (heard !== lastHeard) {
    lastHeard = heard;
    clockDifference = Number(heard) - Date.now();
  }
  const now = areStopped ? Number(heard) : Date.now() + clockDifference;
  for (const element of document.querySelectorAll('time')) {
    const text = textOf(element, now);
    // Written only when it changes: a selection in it would be lost.
    if (text !== undefined && element.textContent !== text) element.textContent = text;
  }
}

function textOf({ dateTime, dataset }: HTMLTimeElement, now: number): string | undefined {
  const at = Date.parse(dateTime);
  if ('timeOfDay' in dataset) return timeOfDay.format(at);
  return 'age' in dataset ? durationText(now - at) : undefined;
}
