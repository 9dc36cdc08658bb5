import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where Debian's package `chromium` puts it. */
const chromiumPath = '/usr/bin/chromium';

/** Why no page can be looked at; `undefined` when it can. */
export function chromiumMissing(): string | undefined {
  return existsSync(chromiumPath) ? undefined : `${chromiumPath} is missing: apt-get install chromium`;
}

/** Starts a browser of its own that opens no page and asks no host but those it is told to. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
